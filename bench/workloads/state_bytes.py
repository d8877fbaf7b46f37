"""Bytes of state over raw bytes: a horizon of ten pushes of 8k rows a side, four int64 columns each."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from bench.data import DELAY, SECOND, Stream, scaled, sides
from bench.model import Figure, Setting, Trial, Workload

if TYPE_CHECKING:
    import pyarrow as pa

PUSH = 8192
HORIZON = SECOND + DELAY  # how long a row is held: the bound and the lateness
WARM_PUSHES = 15
# A push lasts a tenth of the horizon: 8192 rows in 110 ms; 40,000 keys give 3.7 pairs a row.
KEYS = 40_000
STREAM = Stream(
    rows=PUSH * 45, keys=KEYS, matches=2 * SECOND * PUSH / (HORIZON / 10) / KEYS, width=2 * SECOND, wide=True
)


def row_bytes(schema: pa.Schema) -> int:
    """Return the raw bytes of one row: the widths of its columns."""
    return int(sum(field.type.bit_width for field in schema) // 8)


def ratios(left: pa.Table, right: pa.Table) -> list[float]:
    """Return bytes of state over raw bytes of the rows held, after every push once the state is full."""
    from weft.stream import IntervalJoin

    join = IntervalJoin(
        on="key",
        time="ts",
        lower="-1 s",
        upper="1 s",
        lateness=f"{DELAY} us",
        left_schema=left.schema,
        right_schema=right.schema,
    )
    found = []
    for one, other in zip(left.to_batches(PUSH), right.to_batches(PUSH), strict=True):
        join.push(left=one, right=other)
        metrics = join.metrics
        found.append(metrics.state_bytes / (metrics.state_rows * row_bytes(left.schema)))
    return found[min(WARM_PUSHES, len(found) // 2) :]


def job(setting: Setting) -> Trial:
    """Load the stream; one repetition is one pass over it."""
    left, right = (table.combine_chunks() for table in sides(scaled(STREAM, setting.rows), setting.seed))

    def measure() -> dict[str, float]:
        found = ratios(left, right)
        return {"bytes over raw bytes": median(found), "bytes over raw bytes, worst push": max(found)}

    def warm() -> None:
        measure()

    return Trial(2 * setting.rows, warm, measure)


STATE_BYTES = Workload(
    name="state-bytes",
    summary="bytes of state over raw column bytes of the rows held, horizon of ten pushes of 8k rows",
    jobs={"weft-stream": job},
    figures=(
        Figure("bytes over raw bytes", "ratio", "lower", 1.5, 1.2),
        Figure("bytes over raw bytes, worst push", "ratio", "lower"),
    ),
    rows=STREAM.rows,
)

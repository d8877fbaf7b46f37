"""Bytes of state over raw bytes: a horizon of ten pushes of 8k rows a side, four int64 columns each."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa

from bench.data import DELAY, SECOND, Stream, scaled, sides
from bench.model import Figure, Setting, Trial, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

PUSH = 8192
HORIZON = SECOND + DELAY  # how long a row is held: the bound and the lateness
WARM_PUSHES = 15
# A push lasts a tenth of the horizon: 8192 rows in 110 ms; 40,000 keys give 3.7 pairs a row.
KEYS = 40_000
STREAM = Stream(
    rows=PUSH * 45, keys=KEYS, matches=2 * SECOND * PUSH / (HORIZON / 10) / KEYS, width=2 * SECOND, wide=True
)
NAMES = (
    "of rows held",
    "of rows held, worst push",
    "of rows in reach",  # stricter: rows that are still held but can meet nothing any more are waste
    "of rows in reach, worst push",
)


def row_bytes(schema: pa.Schema) -> int:
    """Return the raw bytes of one row: the widths of its columns."""
    return int(sum(field.type.bit_width for field in schema) // 8)


def in_reach(pushed: Sequence[Ints]) -> int:
    """Return how many of the rows pushed can still meet a row that is in time; `pushed` holds a side each."""
    watermark = min(int(times.max()) for times in pushed) - DELAY
    return sum(int((times + SECOND >= watermark).sum()) for times in pushed)


def measured(left: pa.Table, right: pa.Table) -> list[tuple[float, float]]:
    """Return state over raw bytes of the rows held, and of those in reach, once the state is full."""
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
    times = [side["ts"].cast(pa.int64()).to_numpy() for side in (left, right)]
    found = []
    for number, (one, other) in enumerate(zip(left.to_batches(PUSH), right.to_batches(PUSH), strict=True)):
        join.push(left=one, right=other)
        metrics = join.metrics
        state = sum(metrics.bytes.values()) / row_bytes(left.schema)
        pushed = [side[: (number + 1) * PUSH] for side in times]
        found.append((state / sum(metrics.rows.values()), state / in_reach(pushed)))
    return found[min(WARM_PUSHES, len(found) // 2) :]


def job(setting: Setting) -> Trial:
    """Load the stream; one repetition is one pass over it."""
    left, right = (table.combine_chunks() for table in sides(scaled(STREAM, setting.rows), setting.seed))

    def measure() -> dict[str, float]:
        held, reach = zip(*measured(left, right), strict=True)
        return dict(zip(NAMES, (median(held), max(held), median(reach), max(reach)), strict=True))

    def warm() -> None:
        measure()

    return Trial(2 * setting.rows, warm, measure)


STATE_BYTES = Workload(
    name="state-bytes",
    summary="bytes of state over raw column bytes, horizon of ten pushes of 8k rows",
    jobs={"weft-stream": job},
    figures=(
        Figure(NAMES[0], "ratio", "lower", 1.5, 1.2),
        *(Figure(name, "ratio", "lower") for name in NAMES[1:]),
    ),
    rows=STREAM.rows,
)

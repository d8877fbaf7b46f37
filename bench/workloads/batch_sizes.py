"""The curve of batch sizes: pushes of 1 to 64k rows into a stream that holds 100k rows of state.

A push is one side's; the sides take turns. Every size starts from a fresh stream filled in large pushes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from bench.data import DELAY, Stream, scaled, sides
from bench.model import Figure, Setting, Trial, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from weft.stream import IntervalJoin
    from weft.types import Side

SIZES = (1, 8, 32, 128, 1024, 8192, 65_536)
# 45,000 rows a second and side, held for 1.1 s: 100k rows of state.
STREAM = Stream(rows=1_400_000, keys=20_000, matches=4.5, wide=True)
FILL = 50_000  # rows a side before the first timed push
FILL_PUSH = 8192
MOST_PUSHES, FEWEST_PUSHES, TIMED_ROWS = 20_000, 40, 1_000_000


def names(size: int) -> tuple[str, str, str]:
    """Return the names of the three figures of a size."""
    text = f"{size // 1024}k rows" if size >= 1024 else f"{size} rows" if size > 1 else "1 row"
    return f"{text} a push", f"{text}, p50", f"{text}, p99"


def figures() -> Iterator[Figure]:
    """Return three figures a size; the two that have goals are those of one row."""
    for size in SIZES:
        throughput, median, worst = names(size)
        yield Figure(throughput, "rows/s", "higher")
        yield Figure(median, "us", "lower", *((60, 10) if size == 1 else ()))
        yield Figure(worst, "us", "lower", *((500, 50) if size == 1 else ()))


def opened(left: pa.Table, right: pa.Table, fill: int) -> IntervalJoin:
    """Return a stream that holds the first `fill` rows of both sides."""
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
    batches = zip(left[:fill].to_batches(FILL_PUSH), right[:fill].to_batches(FILL_PUSH), strict=True)
    for one, other in batches:
        join.push(left=one, right=other)
    return join


def pushes(left: pa.Table, right: pa.Table, fill: int, size: int) -> list[tuple[Side, pa.RecordBatch]]:
    """Return the timed pushes: sides in turn, `size` rows each."""
    wanted = min(MOST_PUSHES, max(FEWEST_PUSHES, TIMED_ROWS // size))
    each = min(wanted // 2, (left.num_rows - fill) // size)
    turns = zip(
        left.slice(fill, each * size).to_batches(size),
        right.slice(fill, each * size).to_batches(size),
        strict=True,
    )
    taken: list[tuple[Side, pa.RecordBatch]] = []
    for one, other in turns:
        taken += [("left", one), ("right", other)]
    return taken


def one_size(left: pa.Table, right: pa.Table, size: int) -> dict[str, float]:
    """Return rows per second, p50 and p99 of a push in microseconds; nothing where the rows are too few."""
    fill = min(FILL, left.num_rows // 4)
    timed = pushes(left, right, fill, size)
    if not timed:
        return {}
    join = opened(left, right, fill)
    took = np.empty(len(timed), np.int64)
    for number, (side, batch) in enumerate(timed):
        start = time.perf_counter_ns()
        result = join.push(side, batch)
        took[number] = time.perf_counter_ns() - start
        del result
    p50, p99 = np.percentile(took, (50, 99)) / 1000
    rows = sum(batch.num_rows for _, batch in timed)
    return dict(zip(names(size), (rows / took.sum() * 1e9, float(p50), float(p99)), strict=True))


def job(setting: Setting) -> Trial:
    """Load the stream; one repetition is the whole curve."""
    left, right = (table.combine_chunks() for table in sides(scaled(STREAM, setting.rows), setting.seed))

    def measure() -> dict[str, float]:
        return {name: value for size in SIZES for name, value in one_size(left, right, size).items()}

    def warm() -> None:
        measure()

    return Trial(2 * setting.rows, warm, measure)


BATCH_SIZES = Workload(
    name="batch-sizes",
    summary="one push, 100k rows of state, 4.5 pairs a row",
    jobs={"weft-stream": job},
    figures=tuple(figures()),
    rows=STREAM.rows,
)

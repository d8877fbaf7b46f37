"""100 M rows through one stream: memory must not grow.

One lap of pushes is drawn and repeated with later times and other keys (100 of 1000 keys are new in every
push), so that a key, once gone, never comes back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pyarrow as pa

from bench.data import DELAY, Stream, scaled, sides, span
from bench.model import Figure, Setting, Trial, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

PUSH = 65_536
LAP = 16  # pushes
NEW_KEYS = 100  # a push
STREAM = Stream(rows=PUSH * LAP, keys=1000, matches=4.5)
MIB = 1 << 20
MARKS = (10, 50, 100)


def moved(batch: pa.RecordBatch, later: int, key: int) -> pa.RecordBatch:
    """Return the batch with later times and other keys; the payload is shared."""
    times = batch["ts"].cast(pa.int64()).to_numpy() + later
    columns = [batch["key"].to_numpy() + key, pa.array(times, pa.timestamp("us")), batch[2], batch[3]]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=batch.schema)


def laps(left: pa.Table, right: pa.Table, pushes: int) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Return this many pushes of both sides."""
    batches = list(zip(left.to_batches(PUSH), right.to_batches(PUSH), strict=True))
    length = span(scaled(STREAM, left.num_rows))
    for number in range(pushes):
        lap, place = divmod(number, len(batches))
        one, other = batches[place]
        later, keys = lap * length, number * NEW_KEYS
        yield moved(one, later, keys), moved(other, later, keys)


def run(left: pa.Table, right: pa.Table, pushes: int) -> dict[str, float]:
    """Return rows per second and resident memory on the way."""
    from weft.stream import IntervalJoin

    process = psutil.Process()
    resident = np.empty(pushes)
    seconds = 0.0
    join = IntervalJoin(on="key", time="ts", lower="-1 s", upper="1 s", lateness=f"{DELAY} us")
    for number, (one, other) in enumerate(laps(left, right, pushes)):
        start = time.perf_counter()
        join.push(left=one, right=other)
        seconds += time.perf_counter() - start
        resident[number] = process.memory_info().rss / MIB
    marks = {f"RSS at {mark} %": float(resident[max(0, pushes * mark // 100 - 1)]) for mark in MARKS}
    after = resident[max(0, pushes // 10 - 1) :]
    growth = float(after.max() / after[0])
    return {"rows/s": 2 * pushes * len(left) / LAP / seconds, **marks, "largest RSS over RSS at 10 %": growth}


def job(setting: Setting) -> Trial:
    """Draw one lap; one repetition is the whole stream."""
    pushes = max(LAP, setting.rows // PUSH)
    left, right = (table.combine_chunks() for table in sides(STREAM, setting.seed))

    def warm() -> None:
        run(left, right, LAP)

    return Trial(2 * pushes * PUSH, warm, lambda: run(left, right, pushes))


ENDLESS = Workload(
    name="endless",
    summary="100 M rows through one stream, 64k rows a push and side, keys that never come back",
    jobs={"weft-stream": job},
    figures=(
        Figure("rows/s", "rows/s", "higher"),
        *(Figure(f"RSS at {mark} %", "MiB", "lower") for mark in MARKS),
        Figure("largest RSS over RSS at 10 %", "ratio", "lower", 1.05, 1.02),
    ),
    rows=50_000_000,
    repeat=1,
)

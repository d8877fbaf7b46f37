"""A hundred micro-batches on Spark, as many rows in each: time, memory and state must stay what they were.

A tenth of the keys is new in every batch, and a key, once gone, never comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from bench.data import Stream
from bench.model import Figure
from bench.spark.model import Found, Run, SparkCase, SparkWorkload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.spark.feed import Data
    from bench.spark.lanes import Batch, Lane
    from bench.spark.processes import Sample

KEYS = 40_000
NEW_KEYS = KEYS // 10  # a batch
STREAM = Stream(rows=20_000, keys=KEYS, matches=4.5)  # a batch lasts a fifth of the horizon
WARM, BATCHES, EDGE = 25, 100, 25
STEP = 5  # batches between two looks at memory

TIME, MEMORY, STATE = "time", "memory", "state bytes"
PYTHON, JVM, HEAP = "Python workers' memory", "JVM's memory", "JVM's heap in use"
FIGURES = (TIME, MEMORY, STATE, PYTHON, JVM, HEAP)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some batches, and the session's processes after them."""

    batches: Sequence[Batch]
    sample: Sample


def with_new_keys(data: Data, size: int) -> Data:
    """Return the data with other keys from batch to batch."""
    import pyarrow as pa

    from bench.spark.feed import Data

    moved = (np.arange(data.left.num_rows) // size) * NEW_KEYS
    sides = (data.left, data.right)
    return Data(*(side.set_column(0, "key", pa.array(side["key"].to_numpy() + moved)) for side in sides))


def stretches(run: Run, lane: Lane, batches: int) -> list[Stretch]:
    """Take this many batches, looking at the processes now and then."""
    from bench.spark.processes import sampled

    found = []
    for number in range(0, batches, STEP):
        taken = lane.take([run.rows] * min(STEP, batches - number))
        found.append(Stretch(taken, sampled(run.spark, collected=True)))
        sample, millis = found[-1].sample, 1000 * median(one.seconds for one in taken)
        run.tell(
            f"{number + len(taken)} of {batches}: {millis:.0f} ms a batch, Python {sample.python:.0f} MiB, "
            f"JVM {sample.jvm:.0f} MiB (heap {sample.heap:.0f})"
        )
    return found


def growth(found: Sequence[Stretch], edge: int) -> dict[str, list[float]]:
    """Return each figure's median over the last stretches over its median over the first."""
    count = max(1, edge // STEP)
    first, last = found[:count], found[-count:]

    def ratio(value: Callable[[Stretch], float]) -> float:
        return median(map(value, last)) / max(median(map(value, first)), 1e-9)

    looks: dict[str, Callable[[Stretch], float]] = {
        TIME: lambda one: median(batch.seconds for batch in one.batches),
        MEMORY: lambda one: one.sample.python + one.sample.jvm,
        STATE: lambda one: median(float(batch.told["state_bytes"]) for batch in one.batches),
        PYTHON: lambda one: one.sample.python,
        JVM: lambda one: one.sample.jvm,
        HEAP: lambda one: one.sample.heap,
    }
    return {name: [ratio(value)] for name, value in looks.items()}


def measure(run: Run) -> Found:
    """Run weft alone: it is compared with itself."""
    from bench.peers import spark_weft
    from bench.spark.compare import check_pairs
    from bench.spark.feed import draw
    from bench.spark.lanes import open_lane

    case, warm = SparkCase(STREAM), run.warm(WARM)
    batches, edge = (20, 5) if run.quick else (BATCHES, EDGE)
    data = with_new_keys(draw(case, (warm + batches) * run.rows, run.seed), run.rows)
    lane = open_lane("weft", run, data, case, spark_weft.pairs)
    lane.take([run.rows] * warm)
    found = stretches(run, lane, batches)
    lane.query.stop()
    check_pairs(case, data, lane)
    pairs = sum(batch.out for batch in lane.batches[warm:])
    return Found(2 * run.rows, pairs, {"weft": [growth(found, edge)]})


SPARK_FLAT = SparkWorkload(
    name="spark-flat",
    summary="100 micro-batches of 40k rows on Spark, the last 25 over the first 25",
    measure=measure,
    figures=tuple(Figure(name, "ratio", "lower", 1.2, 1.05) for name in FIGURES),
    rows=STREAM.rows,
    turns=1,
)

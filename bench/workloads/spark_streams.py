"""Streams on Spark in large micro-batches: weft beside Spark's own join and beside the pipeline's floor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.data import Stream
from bench.model import Figure
from bench.spark.model import Found, Run, SparkCase, SparkWorkload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.spark.compare import Contender
    from bench.spark.lanes import Lane
    from bench.spark.model import Query

OVER_FLOOR = "time over the floor's"
# The JVM is warm after about 15 batches; it compiles code by the row, so most of them may be small.
SMALL, FULL = 15, 6


def lanes(stream: Stream, run: Run) -> tuple[SparkCase, dict[str, Contender]]:
    """Return the case and what each contender is given.

    Spark's own join takes 20 seconds and more for a batch: one a turn, after three to warm up.
    """
    from bench.peers import spark_join, spark_weft
    from bench.spark.compare import Contender

    size, small = run.rows, max(1, run.rows // 5)
    warm = [small] * run.warm(SMALL) + [size] * run.warm(FULL)
    short = [small] * 2 + [size] * run.warm(2)
    return SparkCase(stream), {
        "weft": Contender(lambda _: spark_weft.pairs, warm, [size] * 4, settling=1),
        "spark-join": Contender(lambda _: spark_join.pairs, [small, small, size], [size]),
        "floor": Contender(floor_of_weft, short, [size] * 4, settling=1, checked="nothing"),
    }


def floor_of_weft(lanes: Mapping[str, Lane]) -> Query:
    """Return the floor that gives as many rows and writes as many bytes as weft has just done."""
    from bench.peers import spark_floor

    last = lanes["weft"].batches[-1]
    held = int(last.told.get("state_bytes") or 0)  # all of it new: a batch is many times the horizon
    return partial(spark_floor.pairs, load=spark_floor.Load(last.out / last.rows, held))


def measure(stream: Stream, run: Run) -> Found:
    """Run all contenders; weft's time over the floor's is taken turn by turn."""
    from bench.spark.compare import as_found, compare, over, throughput_turns

    batches = compare(run, *lanes(stream, run))
    turns = throughput_turns(batches)
    for turn, ratio in zip(turns["weft"], over(turns["weft"], turns["floor"], "batch"), strict=True):
        turn[OVER_FLOOR] = [ratio]
    return as_found(2 * run.rows, batches, turns)


def workload(
    name: str, summary: str, stream: Stream, goals: tuple[float, float], stands_for: str
) -> SparkWorkload:
    """Return a workload of this stream; `goals` are the least and the wanted ratio to Spark's own join."""
    return SparkWorkload(
        name=name,
        summary=summary,
        measure=partial(measure, stream),
        figures=(
            Figure("rows/s", "rows/s", "higher", *goals, ("spark-join",)),
            Figure(OVER_FLOOR, "ratio", "lower", None, 1.25),
        ),
        rows=stream.rows,
        stands_for=stands_for,
        lanes=partial(lanes, stream),
    )


SPARK_STREAMS = (
    workload(
        "spark-w1-250k",
        "W1 on Spark, micro-batches of 250k rows a side",
        Stream(rows=250_000, keys=1000, matches=5),
        (8, 20),
        "W1",
    ),
    workload(
        "spark-w1-500k",
        "W1 on Spark, micro-batches of 500k rows a side",
        Stream(rows=500_000, keys=1000, matches=5),
        (10, 20),
        "W1",
    ),
    workload(
        "spark-w2s-100k",
        "50 skewed keys, 20 matches a row, on Spark, micro-batches of 100k rows a side",
        Stream(rows=100_000, keys=50, matches=20, skew=0.35),
        (10, 50),
        "W2",
    ),
)

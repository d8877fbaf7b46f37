"""Small micro-batches on Spark: 1k rows a side, beside Spark's own join and an empty transformWithState."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.data import Stream
from bench.model import Figure
from bench.spark.model import Found, Run, SparkCase, SparkWorkload

if TYPE_CHECKING:
    from bench.spark.compare import Contender

STREAM = Stream(rows=1000, keys=1000, matches=5)
P50, OVER_EMPTY = "p50", "p50 over the empty one's"
WARM, TURN, SETTLING = 25, 15, 1


def lanes(run: Run) -> tuple[SparkCase, dict[str, Contender]]:
    """Return the case and what each contender is given: all of them as many batches."""
    from bench.peers import spark_empty, spark_join, spark_weft
    from bench.spark.compare import Contender

    warm, turn = [run.rows] * run.warm(WARM), [run.rows] * TURN
    return SparkCase(STREAM), {
        "weft": Contender(lambda _: spark_weft.pairs, warm, turn, SETTLING),
        "spark-join": Contender(lambda _: spark_join.pairs, warm, turn, SETTLING),
        "empty": Contender(lambda _: spark_empty.pairs, warm, turn, SETTLING, "nothing"),
    }


def measure(run: Run) -> Found:
    """Run all contenders; weft's p50 over the empty one's is taken turn by turn."""
    from bench.spark.compare import as_found, compare, over

    batches = compare(run, *lanes(run))
    turns = {
        name: [{P50: [1000 * one.seconds for one in turn]} for turn in each] for name, each in batches.items()
    }
    for turn, ratio in zip(turns["weft"], over(turns["weft"], turns["empty"], P50), strict=True):
        turn[OVER_EMPTY] = [ratio]
    return as_found(2 * run.rows, batches, turns)


SPARK_SMALL = SparkWorkload(
    name="spark-small-2k",
    summary="micro-batches of 2k rows on Spark",
    measure=measure,
    figures=(
        Figure(P50, "ms", "lower", 1, None, ("spark-join",)),
        Figure(OVER_EMPTY, "ratio", "lower", None, 1.2),
    ),
    rows=STREAM.rows,
    lanes=lanes,
)

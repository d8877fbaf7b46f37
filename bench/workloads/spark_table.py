"""Tables on Spark: W1 from Parquet, every pair written to nowhere, beside Spark's own batch join.

Beside it also the rewrite by hand into buckets of time, which weft is not judged by.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.data import Stream
from bench.model import Figure
from bench.spark.model import Found, Run, SparkCase, SparkWorkload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from bench.spark.feed import Data

STREAM = Stream(rows=1_000_000, keys=1000, matches=5)
FILES = 4  # a side
WARM = {"weft": 10, "spark-join": 3, "spark-bucket": 5}  # whole runs; the JVM is warm for both after these


def written(data: Data, folder: Path) -> tuple[Path, Path]:
    """Write both sides, some files each."""
    import pyarrow.parquet as pq

    for side in ("left", "right"):
        table = data.left if side == "left" else data.right
        (folder / side).mkdir()
        step = -(-table.num_rows // FILES)
        for number in range(FILES):
            pq.write_table(table.slice(number * step, step), folder / side / f"{number}.parquet")
    return folder / "left", folder / "right"


def seconds(frame: DataFrame) -> float:
    """Return how long it takes to compute every row and column."""
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def measure(run: Run) -> Found:
    """Run both in turns, from files each time; their counts are compared with DuckDB's before."""
    from bench.peers import spark_bucket, spark_join, spark_weft
    from bench.spark.feed import COLUMNS, draw
    from bench.spark.oracle import pairs_by_batch

    case = SparkCase(STREAM)
    data = draw(case, run.rows, run.seed)
    folders = written(data, run.folder)
    left, right = (
        run.spark.read.schema(columns).parquet(str(folder))
        for columns, folder in zip(COLUMNS.values(), folders, strict=True)
    )
    frames = {
        "weft": spark_weft.pairs(left, right, case),
        "spark-join": spark_join.pairs(left, right, case),
        "spark-bucket": spark_bucket.pairs(left, right, case),
    }
    pairs = pairs_by_batch(case, data, [run.rows])[0]
    for name, frame in frames.items():
        if (counted := frame.count()) != pairs:
            message = f"{name} gives {counted} pairs; DuckDB counts {pairs}"
            raise ValueError(message)
        took = [seconds(frame) for _ in range(run.warm(WARM[name]))]
        run.tell(f"{name} warms up: seconds {', '.join(f'{one:.1f}' for one in took)}")
    found = Found(2 * run.rows, pairs, {name: [] for name in frames})
    for number in range(run.turns):
        for name, frame in frames.items():
            took_now = seconds(frame)
            found.turns[name].append({"rows/s": [2 * run.rows / took_now], "batch": [took_now]})
            run.tell(f"turn {number + 1} of {run.turns}: {name} {took_now:.2f} s")
    return found


SPARK_TABLE = SparkWorkload(
    name="spark-table-w1",
    summary="W1 on Spark as tables of 1M rows a side",
    measure=measure,
    figures=(Figure("rows/s", "rows/s", "higher", 1.5, 3, ("spark-join",)),),
    rows=STREAM.rows,
    stands_for="W1",
    turns=5,
)

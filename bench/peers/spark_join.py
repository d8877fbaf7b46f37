"""Spark's own join on equality and time range, in its best form.

On streams the watermarks are as late as weft's, so none of the rows is late, and the range is written as
Spark's pages write it: then it drops what has expired and, on its newest format of state, looks up a range.
On tables it tries every pair of a key: the difference of two integers takes half the time of adding intervals
to timestamps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bench.spark.model import SparkCase


def pairs(left: DataFrame, right: DataFrame, case: SparkCase) -> DataFrame:
    """Return the pairs, in the columns that weft gives."""
    from pyspark.sql import functions

    right = right.withColumnsRenamed({"key": "key_right", "ts": "ts_right"})
    near = f"unix_micros(ts_right) - unix_micros(ts) BETWEEN {case.lower} AND {case.upper}"
    if left.isStreaming:
        delay = f"{case.lateness} microseconds"
        left, right = left.withWatermark("ts", delay), right.withWatermark("ts_right", delay)
        near = (
            f"ts_right >= ts + INTERVAL {case.lower} MICROSECONDS"
            f" AND ts_right <= ts + INTERVAL {case.upper} MICROSECONDS"
        )
    return left.join(right, functions.expr(f"key = key_right AND {near}")).drop("key_right")

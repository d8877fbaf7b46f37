"""Spark's own join on equality and time range; on streams with watermarks as late as weft's, so none is late.

The session has its newest format of state, in RocksDB with a changelog.
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
    if left.isStreaming:
        delay = f"{case.lateness} microseconds"
        left, right = left.withWatermark("ts", delay), right.withWatermark("ts_right", delay)
    near = (
        f"key = key_right AND ts_right >= ts + INTERVAL {case.lower} MICROSECONDS"
        f" AND ts_right <= ts + INTERVAL {case.upper} MICROSECONDS"
    )
    return left.join(right, functions.expr(near)).drop("key_right")

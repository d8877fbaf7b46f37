"""The join that one would write by hand for Spark's tables: equality on (key, bucket of time), then a filter.

Left rows are copied into the next bucket, as Polars' and DuckDB's peers do it. weft is not judged by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bench.spark.model import SparkCase


def pairs(left: DataFrame, right: DataFrame, case: SparkCase) -> DataFrame:
    """Return the pairs, in the columns that weft gives."""
    from pyspark.sql import functions

    width = case.upper - case.lower or 1
    first = f"(unix_micros(ts) + {case.lower}) div {width}"
    copied = left.withColumn("_cut", functions.expr(f"explode(array({first}, {first} + 1))"))
    right = right.withColumnsRenamed({"ts": "ts_right"})
    cut = right.withColumn("_cut", functions.expr(f"unix_micros(ts_right) div {width}"))
    near = f"unix_micros(ts_right) - unix_micros(ts) BETWEEN {case.lower} AND {case.upper}"
    return copied.join(cut, ["key", "_cut"]).where(near).drop("_cut")

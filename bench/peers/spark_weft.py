"""weft on Spark: the call, for streams and for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import weft

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bench.spark.model import SparkCase


def pairs(left: DataFrame, right: DataFrame, case: SparkCase) -> DataFrame:
    """Return the pairs."""
    joined: DataFrame = weft.interval_join(
        left,
        right,
        on="key",
        time="ts",
        lower=f"{case.lower} us",
        upper=f"{case.upper} us",
        lateness=f"{case.lateness} us",
    )
    return joined

"""An empty transformWithState: weft's pipeline with a processor that takes the packs and does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bench.peers import spark_weft
from bench.peers.spark_floor import processor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from bench.spark.model import SparkCase


class EmptyProcessor(StatefulProcessor):
    """Neither state nor results."""

    def __init__(self, *_: Any) -> None: ...

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare nothing."""

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Let the packs pass by."""
        for _ in rows:
            yield from ()

    def close(self) -> None:
        """Do nothing."""


def pairs(left: DataFrame, right: DataFrame, case: SparkCase) -> DataFrame:
    """Return no rows, in weft's schema."""
    with processor(EmptyProcessor):
        return spark_weft.pairs(left, right, case)

"""What a workload on Spark is: the streams, what is measured in a run, and the figures it is judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from bench.data import DELAY, SECOND

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from bench.data import Stream
    from bench.model import Figure
    from bench.spark.compare import Contender

# One turn of one contender: the values of every figure, one a micro-batch.
Turn: TypeAlias = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class SparkCase:
    """Join both sides on `key`, with lower <= right.ts - left.ts <= upper, in microseconds."""

    stream: Stream
    lower: int = -SECOND
    upper: int = SECOND
    lateness: int = DELAY


# What a contender makes of both sides: the frame that goes to the sink.
Query: TypeAlias = Callable[["DataFrame", "DataFrame", SparkCase], "DataFrame"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its session, a folder that goes with it, how much of what, and whom to tell."""

    spark: SparkSession
    folder: Path
    rows: int  # a side and micro-batch
    turns: int
    seed: int
    tell: Callable[[str], None]
    quick: bool = False

    def warm(self, batches: int) -> int:
        """Return how many batches to warm up with: hardly any where the figures do not matter."""
        return min(batches, 2) if self.quick else batches


@dataclass(slots=True)
class Found:
    """What a run has measured: its turns by contender, weft first; `pairs` are those of weft that count."""

    rows: int  # of both sides in a micro-batch or table
    pairs: int | None
    turns: dict[str, list[Turn]]
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SparkWorkload:
    """A named question to weft on Spark.

    `rows` are those of a side, in each micro-batch or in the table; `stands_for` is the workload of one
    process that asks the same; `lanes` gives the contenders where queries are compared batch by batch.
    """

    name: str
    summary: str
    measure: Callable[[Run], Found]
    figures: tuple[Figure, ...]
    rows: int
    stands_for: str = ""
    lanes: Callable[[Run], tuple[SparkCase, dict[str, Contender]]] | None = None
    turns: int = 3
    seed: int = 20261119

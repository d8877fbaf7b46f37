"""A lane is one contender's query: it waits while others have their turn, and takes batches when fed.

Queries stay up for the whole run, so that each has its state, and workers and the JVM stay warm for all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.spark.feed import COLUMNS, Feed
from weft.types import SIDES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql.streaming.query import StreamingQuery

    from bench.spark.feed import Data
    from bench.spark.model import Query, Run, SparkCase


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch as Spark reports it: rows in and out, seconds by part, observed and state metrics."""

    number: int
    rows: int
    out: int
    parts: Mapping[str, float]
    told: Mapping[str, Any]
    state: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """Return how long the whole of it took."""
        return self.parts["triggerExecution"]


def batch_of(progress: Mapping[str, Any]) -> Batch:
    """Read what Spark reports of a micro-batch."""
    observed = progress.get("observedMetrics", {}).values()
    operators = progress.get("stateOperators", [])
    return Batch(
        number=progress["batchId"],
        rows=progress["numInputRows"],
        out=progress["sink"]["numOutputRows"],
        parts={name: millis / 1000 for name, millis in progress["durationMs"].items()},
        told={name: value for one in observed for name, value in one.items()},
        state=operators[0] if operators else {},
    )


@dataclass(slots=True)
class Lane:
    """A query with its feed, the batches it has been given (rows a side) and those it has taken."""

    name: str
    query: StreamingQuery
    feed: Feed
    sizes: list[int] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)

    def take(self, sizes: Sequence[int]) -> list[Batch]:
        """Feed the next batches, so many rows a side each; return what Spark reports of them."""
        self.feed.lay(sizes)
        # It returns right after the query has looked for files: now both sides are published in peace.
        self.query.processAllAvailable()
        self.feed.publish()
        self.query.processAllAvailable()
        self.sizes += sizes
        taken = self._reported()[len(self.batches) :]
        self._check(sizes, taken)
        self.batches += taken
        return taken

    def _reported(self) -> list[Batch]:
        reports = [batch_of(json.loads(progress.json)) for progress in self.query.recentProgress]
        return sorted((one for one in reports if one.rows), key=lambda one: one.number)

    def _check(self, sizes: Sequence[int], taken: Sequence[Batch]) -> None:
        got, wanted = [one.rows for one in taken], [2 * size for size in sizes]
        if got != wanted:
            message = f"{self.name}: the batches held {got} rows; {wanted} were given"
            raise RuntimeError(message)


def open_lane(name: str, run: Run, data: Data, case: SparkCase, query: Query) -> Lane:
    """Start the query of a contender over files that are still to come."""
    feed = Feed(data, run.folder / name)
    left, right = (
        run.spark.readStream.schema(COLUMNS[side])
        .option("maxFilesPerTrigger", 1)
        .parquet(str(feed.source(side)))
        for side in SIDES
    )
    writer = query(left, right, case).writeStream.format("noop").queryName(name)
    started = writer.option("checkpointLocation", str(checkpoint(run.folder, name))).start()
    return Lane(name, started, feed)


def checkpoint(folder: Path, name: str) -> Path:
    """Return where a lane has its checkpoint."""
    return folder / name / "checkpoint"

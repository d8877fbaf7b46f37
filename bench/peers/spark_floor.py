"""The floor: weft's pipeline with a processor that joins nothing.

Sources, emitter, shuffle, sink and the schema of the result are weft's own. The processor takes the same
packs, writes as many bytes of chunks and a manifest, and gives as many rows and columns, which lie ready.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bench.peers import spark_weft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from bench.spark.model import SparkCase
    from weft.spark.plan import ShardPlan
    from weft.spark.results import Results

READY = 1 << 17  # rows of one frame, as many as weft gives at once
BLOB = "data binary"
MANIFEST = secrets.token_bytes(600)


@dataclass(frozen=True, slots=True)
class Load:
    """What all shards do in a batch: rows out for each row in, bytes written to chunks."""

    pairs_per_row: float = 0.0
    chunk_bytes: int = 0


class FloorProcessor(StatefulProcessor):
    """Reads and writes state and gives rows as weft's processor does, and does nothing else."""

    def __init__(self, plan: ShardPlan, results: Results, *, load: Load) -> None:
        self._schema = plan.binding.schema
        self._results = results
        self._load = load
        self._chunk_bytes = load.chunk_bytes // plan.shards // 2

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._manifest = handle.getValueState("manifest", BLOB)
        self._chunks = handle.getMapState("chunks", "number long", BLOB)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Take the packs of one shard in one batch."""
        self._manifest.get()
        seen = sum(int(frame["rows"].sum()) for frame in rows)
        left = round(seen * self._load.pairs_per_row)
        while left > 0:
            yield from self._results.frames(ready(self._schema).slice(0, min(left, READY)))
            left -= READY
        self._write()

    def _write(self) -> None:
        """Write a chunk for each side over the last one's."""
        for side in range(2 if self._chunk_bytes else 0):
            self._chunks.removeKey((side,))
            self._chunks.updateValue((side,), (secrets.token_bytes(self._chunk_bytes),))
        self._manifest.update((MANIFEST,))

    def close(self) -> None:
        """Do nothing."""


@lru_cache(maxsize=4)
def ready(schema: pa.Schema) -> pa.Table:
    """Return rows of a schema of eight-byte columns; each worker makes them once."""
    words = pa.array(range(READY), pa.int64())
    return pa.table([words.cast(kind) for kind in schema.types], schema=schema)


@contextmanager
def processor(made: Callable[..., StatefulProcessor]) -> Iterator[None]:
    """Have calls to weft build their pipeline around another processor."""
    with patch("weft.spark.joins.JoinProcessor", made):
        yield


def pairs(left: DataFrame, right: DataFrame, case: SparkCase, load: Load) -> DataFrame:
    """Return rows that are no pairs, but as many as there are pairs."""
    with processor(partial(FloorProcessor, load=load)):
        return spark_weft.pairs(left, right, case)

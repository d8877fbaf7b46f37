"""The stateful processor: Spark calls it for every shard and batch; packs in, DataFrames of pairs out.

State of a shard: `manifest` (small, written with every commit), `identity` (what may never change, written
once) and `chunks` (a map from number to bytes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from weft.runtimes.replica import Pack, Replica, caught_up
from weft.spark import residents
from weft.spark.identity import check_identity, digest_of, write_identity
from weft.spark.residents import Resident
from weft.state.manifest import Manifest, first_manifest, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import (
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

    from weft.runtimes.joins import Join
    from weft.spark.plan import ShardPlan
    from weft.spark.results import Results
    from weft.state.images import Images

BLOB = "data binary"
QUERY = "sql.streaming.queryId"  # of a task's local properties


class ChunkStore:
    """The chunks of the shard whose turn it is, in Spark's state."""

    def __init__(self, chunks: MapState) -> None:
        self._chunks = chunks

    def get(self, number: int) -> bytes | None:
        """Return a chunk, None where there is none."""
        value = self._chunks.getValue((number,))
        return None if value is None else bytes(value[0])

    def put(self, number: int, data: bytes) -> None:
        """Keep a chunk."""
        self._chunks.updateValue((number,), (data,))

    def drop(self, number: int) -> None:
        """Forget a chunk."""
        self._chunks.removeKey((number,))


class JoinProcessor(StatefulProcessor):
    """The join of one shard at a time."""

    def __init__(self, plan: ShardPlan, results: Results) -> None:
        self._plan = plan
        self._results = results
        self._digest = digest_of(plan)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._manifest: ValueState = handle.getValueState("manifest", BLOB)
        self._identity: ValueState = handle.getValueState("identity", BLOB)
        self._chunks: MapState = handle.getMapState("chunks", "number long", BLOB)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Take the packs of one shard in one batch."""
        plan, store = self._plan, ChunkStore(self._chunks)
        place = (query_id(), self._digest, int(key[0]))
        manifest = self._last_manifest()
        join, images = self._last_join(place, manifest, store)
        replica = Replica(plan.spec, plan.binding, join, manifest, store)
        for table in replica.take(self._packs(rows)):
            yield self._results.frame(table)
        if not manifest.nonce:
            self._identity.update((write_identity(plan),))
        self._manifest.update((write_manifest(replica.manifest),))
        residents.keep(place, Resident(replica.manifest.nonce, join, images))
        yield self._results.told(manifest, replica)

    def close(self) -> None:
        """Do nothing: what is held stays for the next batch."""

    def _last_manifest(self) -> Manifest:
        data = _blob(self._manifest)
        return first_manifest(self._plan.spec.sources) if data is None else read_manifest(data)

    def _last_join(
        self, place: residents.Place, manifest: Manifest, store: ChunkStore
    ) -> tuple[Join, Images | None]:
        """Return the join as the last commit left it: as held here, from its files, or from the log."""
        spec, binding = self._plan.spec, self._plan.binding
        held = residents.taken(place)
        if held is not None and held.nonce == manifest.nonce:
            return held.join, held.images
        if manifest.nonce:
            check_identity(_blob(self._identity), self._plan)
        images = residents.images_of(place) if held is None else held.images
        join = residents.mapped(spec, binding, images, manifest.nonce)
        return join or caught_up(spec, binding, manifest, store), images

    def _packs(self, rows: Iterator[pd.DataFrame]) -> Iterator[Pack]:
        for frame in rows:
            columns = (frame[name] for name in ("input", "told", "newest", "rows", "pack"))
            for input_, told, newest, count, data in zip(*columns, strict=True):
                side, source = self._plan.input_of(int(input_))
                pack = data if isinstance(data, bytes) else None  # pandas may say a missing value otherwise
                yield Pack(side, source, int(newest) if told else None, int(count), pack)


def query_id() -> str:
    """Return the id of the streaming query that the running task belongs to."""
    context = TaskContext.get()
    return (context.getLocalProperty(QUERY) if context is not None else None) or ""


def _blob(value: ValueState) -> bytes | None:
    held = value.get()
    return None if held is None else bytes(held[0])

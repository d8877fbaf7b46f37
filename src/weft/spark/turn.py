"""One shard's turn in a batch: its join found again, packs in, DataFrames of pairs out, then a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext

from weft.runtimes.replica import Pack, Replica, caught_up
from weft.spark import residents
from weft.spark.identity import check_identity, digest_of, write_identity
from weft.spark.residents import Resident
from weft.spark.workers import settle_in
from weft.state.manifest import Manifest, first_manifest, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import MapState, ValueState

    from weft.runtimes.joins import Join
    from weft.spark.plan import ShardPlan
    from weft.spark.processor import ShardState
    from weft.spark.residents import Place
    from weft.spark.results import Results
    from weft.state.images import Images

QUERY = "sql.streaming.queryId"  # of a task's local properties


class ChunkStore:
    """The chunks of a shard in Spark's state."""

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


@dataclass(frozen=True, slots=True)
class Turn:
    """What one shard needs for one batch."""

    plan: ShardPlan
    results: Results
    shard: int
    state: ShardState

    def take(self, rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Take the packs of a batch; return the pairs that they complete, then what was counted."""
        settle_in()
        plan, store = self.plan, ChunkStore(self.state.chunks)
        place = (query_id(), digest_of(plan), self.shard)
        data = blob(self.state.manifest)
        manifest = first_manifest(plan.spec.sources) if data is None else read_manifest(data)
        join, images = self._last_join(place, manifest, store)
        replica = Replica(plan.spec, plan.binding, join, manifest, store)
        for table in replica.take(self._packs(rows)):
            yield from self.results.frames(table)
        if not manifest.nonce:
            self.state.identity.update((write_identity(plan),))
        self.state.manifest.update((write_manifest(replica.manifest),))
        residents.keep(place, Resident(replica.manifest.nonce, join, images))
        yield self.results.told(manifest, replica)

    def _last_join(self, place: Place, manifest: Manifest, store: ChunkStore) -> tuple[Join, Images | None]:
        """Return the join as the last commit left it: as held here, from its files, or from the log."""
        spec, binding = self.plan.spec, self.plan.binding
        held = residents.taken(place)
        if held is not None and held.nonce == manifest.nonce:
            return held.join, held.images
        if manifest.nonce:
            check_identity(blob(self.state.identity), self.plan)
        images = residents.images_of(place) if held is None else held.images
        join = residents.mapped(spec, binding, images, manifest.nonce)
        return join or caught_up(spec, binding, manifest, store), images

    def _packs(self, rows: Iterator[pd.DataFrame]) -> Iterator[Pack]:
        for frame in rows:
            columns = (frame[name] for name in ("input", "told", "newest", "rows", "pack"))
            for input_, told, newest, count, data in zip(*columns, strict=True):
                side, source = self.plan.input_of(int(input_))
                pack = data if isinstance(data, bytes) else None  # pandas may say a missing value otherwise
                yield Pack(side, source, int(newest) if told else None, int(count), pack)


def query_id() -> str:
    """Return the id of the streaming query that the running task belongs to."""
    context = TaskContext.get()
    return (context.getLocalProperty(QUERY) if context is not None else None) or ""


def blob(value: ValueState) -> bytes | None:
    """Return the bytes of a state variable, None where it was never written."""
    held = value.get()
    return None if held is None else bytes(held[0])

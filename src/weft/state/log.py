"""The log of a shard: immutable chunks of rows in a store, and what is known of each without reading it.

A chunk goes whole when its newest row has expired, and is written anew without its expired rows when they are
half of it. FAN chunks of one size become one, up to MERGED rows, so a row is written O(log rows) times.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from weft.columns import concat
from weft.errors import StateError
from weft.indexes.run import ALL, Batch, above, build, rows_of, settled
from weft.state.chunks import decode, encode
from weft.state.container import checksum, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from weft.edge.interner import Interner
    from weft.types import Side

FAN = 4  # chunks of one size that are merged into one
DAMAGED = "the checkpoint is damaged: go back to a copy of it, or begin a new one"
MERGED = 1 << 18  # rows of the largest chunk that merging makes: what one reads back at a time


class Store(Protocol):
    """Where chunks lie: a map from a number to bytes."""

    def get(self, number: int) -> bytes | None:
        """Return a chunk, None where there is none."""

    def put(self, number: int, data: bytes) -> None:
        """Keep a chunk."""

    def drop(self, number: int) -> None:
        """Forget a chunk."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a manifest says of a chunk: rows, bytes, the least, a middle and the largest time, a checksum."""

    number: int
    side: Side
    rows: int
    size: int
    oldest: int
    middle: int
    newest: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Codec:
    """How rows become chunks: the keys of a join (None: on time alone) and the payload of each side."""

    interner: Interner | None
    payload: Mapping[Side, Sequence[pa.Field]]

    @property
    def keys(self) -> int:
        """Return how many keys are in use."""
        return 1 if self.interner is None else max(self.interner.size, 1)


class Log:
    """The chunks of one shard; what it is told is in the store at once."""

    def __init__(self, store: Store, chunks: Sequence[Chunk] = (), begun: int = 0) -> None:
        self.chunks = list(chunks)
        self.begun = begun  # chunks ever begun: the next one's number
        self._store = store

    def append(self, side: Side, batch: Batch, codec: Codec) -> None:
        """Keep the rows of a batch that have a key, sorted, as a chunk."""
        run = settled(build(batch, codec.keys), None)
        if not len(run):
            return
        rows = rows_of([run], ALL)
        named = {"number": self.begun, "side": side}
        data = pack(named, [encode(rows, codec.interner, codec.payload[side])])
        self._store.put(self.begun, data)
        self.chunks.append(
            Chunk(self.begun, side, len(run), len(data), run.oldest, run.middle, run.newest, checksum(data))
        )
        self.begun += 1

    def read(self, codec: Codec) -> Iterator[tuple[Side, Batch]]:
        """Return the rows of every chunk; keys are interned as they come."""
        for chunk in self.chunks:
            yield chunk.side, self._rows(chunk, codec)

    def tidy(self, horizons: Mapping[Side, int], codec: Codec) -> None:
        """Drop and merge what has expired or is crowded; a row below its side's horizon may go."""
        self._drop([chunk for chunk in self.chunks if chunk.newest < horizons[chunk.side]])
        for group in due(self.chunks, horizons):
            side = group[0].side
            rows = [self._rows(chunk, codec) for chunk in group]
            self._drop(group)
            self.append(side, above(joined(rows), horizons[side]), codec)

    def _drop(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            self._store.drop(chunk.number)
            self.chunks.remove(chunk)

    def _rows(self, chunk: Chunk, codec: Codec) -> Batch:
        data = self._store.get(chunk.number)
        told = f"chunk {chunk.number} ({chunk.rows} rows of the {chunk.side})"
        if data is None:
            message = f"{told} is not in the state."
            raise StateError(message, DAMAGED)
        header, blobs = unpack(data, "chunk", DAMAGED)
        if checksum(data) != chunk.checksum or header["side"] != chunk.side:
            message = f"{told} is another than the one that the manifest names."
            raise StateError(message, DAMAGED)
        return decode(blobs[0], codec.interner)


def due(chunks: Sequence[Chunk], horizons: Mapping[Side, int]) -> list[list[Chunk]]:
    """Return which chunks are to be written anew: each group becomes one chunk, or none."""
    groups = [[chunk] for chunk in chunks if chunk.middle < horizons[chunk.side]]
    tiers: dict[tuple[Side, int], list[Chunk]] = {}
    for chunk in chunks:
        if chunk.middle >= horizons[chunk.side]:
            tiers.setdefault((chunk.side, _tier(chunk.rows)), []).append(chunk)
    crowded = [tier for tier in tiers.values() if len(tier) >= FAN]
    return groups + [group for tier in crowded for group in _grouped(tier)]


def _grouped(tier: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return chunks of one size in groups of FAN or more, none of more than MERGED rows."""
    groups: list[list[Chunk]] = [[]]
    for chunk in tier:
        if sum(one.rows for one in groups[-1]) + chunk.rows > MERGED:
            groups.append([])
        groups[-1].append(chunk)
    return [group for group in groups if len(group) >= FAN]


def _tier(rows: int) -> int:
    """Return the size class of a chunk: those of one class differ by less than FAN times."""
    return (rows.bit_length() - 1) // (FAN.bit_length() - 1)


def joined(batches: Sequence[Batch]) -> Batch:
    """Put the rows of batches behind each other."""
    columns = tuple(concat(parts) for parts in zip(*(batch.columns for batch in batches), strict=True))
    ids = np.concatenate([batch.ids for batch in batches])
    return Batch(ids, np.concatenate([batch.lead for batch in batches]), columns)


def as_json(chunk: Chunk) -> list[Any]:
    """Return a chunk as a manifest has it."""
    return list(asdict(chunk).values())

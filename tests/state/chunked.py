"""Rows, codecs and a store for logs of chunks, and what a log holds as plain rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast

import pyarrow as pa

from weft.columns import Cells, Text
from weft.edge.interner import Interner
from weft.edge.keys import Codes
from weft.edge.payload import read
from weft.indexes.run import Batch
from weft.state.log import Codec, Log
from weft.types import SIDES, Side

Keys = Literal["words", "bytes", "none"]
PAYLOAD = [
    pa.field("serial", pa.int64()),
    pa.field("word", pa.string()),
    pa.field("more", pa.list_(pa.int8())),
]


class Row(NamedTuple):
    """One row; the key None is one that matches nothing."""

    side: Side
    key: int | None
    time: int
    serial: int


@dataclass(slots=True)
class Shelf:
    """A store that knows how much was ever written to it."""

    chunks: dict[int, bytes] = field(default_factory=dict)
    written: int = 0

    def get(self, number: int) -> bytes | None:
        return self.chunks.get(number)

    def put(self, number: int, data: bytes) -> None:
        assert number not in self.chunks, "a chunk is never written twice"
        self.chunks[number] = data
        self.written += len(data)

    def drop(self, number: int) -> None:
        del self.chunks[number]


def codec_of(keys: Keys) -> Codec:
    """Return a codec that knows no key yet."""
    interner = None if keys == "none" else Interner(words=keys == "words")
    return Codec(interner, dict.fromkeys(SIDES, PAYLOAD))


def batch_of(rows: Sequence[Row], codec: Codec) -> Batch:
    """Return rows as a batch whose keys are interned."""
    serials = [row.serial for row in rows]
    columns = (
        pa.array(serials, pa.int64()),
        pa.array([None if serial % 5 == 0 else "w" * (serial % 7) for serial in serials], pa.string()),
        pa.array([None if serial % 3 == 0 else [serial % 100] for serial in serials], PAYLOAD[2].type),
    )
    times = cast("Cells", read(pa.array([row.time for row in rows], pa.int64()))).values.view("int64")
    return Batch(_ids(rows, codec), times, tuple(read(column) for column in columns))


def _ids(rows: Sequence[Row], codec: Codec) -> Any:
    valid = pa.array([row.key is not None for row in rows], pa.bool_()).to_numpy(zero_copy_only=False)
    if codec.interner is None:
        return valid.astype("int32") - 1
    numbers = [row.key or 0 for row in rows]
    if codec.interner.words:
        keys = cast("Cells", read(pa.array(numbers, pa.int64())))
        return codec.interner.intern(Codes(keys.values.view("int64"), None, valid))
    text = cast("Text", read(pa.array([name_of(number) for number in numbers], pa.binary())))
    return codec.interner.intern(Codes(text.offsets, text.data, valid))


def name_of(number: int) -> bytes:
    """Return a key of bytes; those of numbers next to each other begin alike."""
    return b"key" * (number % 4) + str(number).encode()


def rows_of(side: Side, batch: Batch, codec: Codec, keys: Sequence[int]) -> list[Row]:
    """Return the rows of a batch; `keys` are those that there may be. Its payload must be of its serials."""
    serials = cast("Cells", batch.columns[0]).values.view("int64").tolist()
    known = _known(codec, keys)
    made = [
        Row(side, known[id_], time, serial)
        for id_, time, serial in zip(batch.ids.tolist(), batch.lead.tolist(), serials, strict=True)
    ]
    again = batch_of(made, codec)
    for one, two in zip(batch.columns, again.columns, strict=True):
        assert plain(one) == plain(two)
    return made


def _known(codec: Codec, keys: Sequence[int]) -> dict[int, int]:
    if codec.interner is None:
        return {0: 0}
    ids = _ids([Row("left", key, 0, 0) for key in keys], codec)
    return dict(zip(ids.tolist(), keys, strict=True))


def plain(column: Any) -> Any:
    """Return the values of a column of these rows."""
    if isinstance(column, Cells):
        return column.values.tolist()
    if isinstance(column, Text):
        ends, data = column.offsets, column.data.tobytes()
        texts = [data[start:end] for start, end in pairwise(ends)]
        valid = [True] * len(texts) if column.valid is None else column.valid.tolist()
        return [text if there else None for text, there in zip(texts, valid, strict=True)]
    return column.array.to_pylist()


def contents(log: Log, keys: Keys, known: Sequence[int]) -> Counter[Row]:
    """Return the rows that a log gives one who has never seen it."""
    codec, rows = codec_of(keys), Counter[Row]()
    for side, batch in log.read(codec):
        rows.update(rows_of(side, batch, codec, known))
    return rows

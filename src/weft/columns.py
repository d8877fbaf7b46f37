"""Payload columns as the engine holds them: fixed cells, text, or held Arrow values.

Cells   numbers, times, decimals, booleans: one array of values, one byte of validity a row (None: no nulls)
Text    strings and bytes of every encoding: offsets and data
Held    everything else (nested, dictionary, null, ...): an Arrow array that only Arrow's own `take` touches
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.fill import SPARE, gather, gather_wide
from weft.kernels.text import measure, move

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

WORD = 8  # bytes of a word


@dataclass(frozen=True, slots=True)
class Cells:
    """Values of one fixed width: as unsigned words, several to a row where `width` is above 8."""

    values: npt.NDArray[Any]
    valid: Bytes | None
    width: int

    def __len__(self) -> int:
        return self.values.nbytes // self.width


@dataclass(frozen=True, slots=True)
class Text:
    """Values of variable length; `offsets` has one more entry than there are rows."""

    offsets: Rows
    data: Bytes
    valid: Bytes | None

    def __len__(self) -> int:
        return self.offsets.size - 1


@dataclass(frozen=True, slots=True)
class Held:
    """Values that only Arrow can move."""

    array: pa.Array | pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.array)


Column: TypeAlias = Cells | Text | Held


def roomy(count: int, word: Any = np.uint8) -> npt.NDArray[Any]:
    """Return an array of `count` words with SPARE bytes of room behind it."""
    return np.empty(count + SPARE // np.dtype(word).itemsize, word)[:count]


def take(column: Column, rows: Rows) -> Column:
    """Copy the given rows, in that order; the copy keeps nothing of its source alive."""
    if isinstance(column, Held):
        return Held(compacted(joined([column.array.take(pa.array(rows))])))
    valid = None if column.valid is None else _taken(column.valid, rows)
    if isinstance(column, Text):
        offsets = np.empty(rows.size + 1, np.int64)
        data = roomy(measure(column.offsets, rows, offsets))
        move(column.offsets, column.data, rows, data)
        return Text(offsets, data, valid)
    if column.width <= WORD:
        return Cells(_taken(column.values, rows), valid, column.width)
    size = column.width // WORD
    values = roomy(rows.size * size, np.uint64)
    gather_wide(column.values, size, rows, values)
    return Cells(values, valid, column.width)


def _taken(values: npt.NDArray[Any], rows: Rows) -> npt.NDArray[Any]:
    out = roomy(rows.size, values.dtype)
    gather(values, rows, out)
    return out


def compacted(array: pa.Array | pa.ChunkedArray, spare: int = 64) -> pa.Array | pa.ChunkedArray:
    """Drop the words of a dictionary that no row uses, once they are most of it (`spare` 0: in any case)."""
    if not isinstance(array, pa.DictionaryArray) or (
        spare and len(array.dictionary) <= 2 * len(array) + spare
    ):
        return array
    used = pc.unique(array.indices).drop_null().sort()
    fewer = pc.index_in(array.indices, used).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(fewer, array.dictionary.take(used), ordered=array.type.ordered)


def concat(columns: Sequence[Any]) -> Column:
    """Put columns of one kind behind each other."""
    first: Column = columns[0]
    if len(columns) == 1:
        return first
    if isinstance(first, Held):
        return Held(joined([column.array for column in columns]))
    if isinstance(first, Text):
        return _joined_text(columns)
    values = roomy(sum(column.values.size for column in columns), first.values.dtype)
    np.concatenate([column.values for column in columns], out=values)
    return Cells(values, _joined_validity(columns), first.width)


def chunks_of(array: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """Return the pieces that an array is in."""
    return list(array.chunks) if isinstance(array, pa.ChunkedArray) else [array]


def joined(arrays: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array | pa.ChunkedArray:
    """Put Arrow arrays behind each other, in one piece where their offsets reach."""
    chunks = [chunk for array in arrays for chunk in chunks_of(array)]
    try:
        return pa.concat_arrays(chunks) if chunks else arrays[0]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # offsets beyond 2 GiB
        return pa.chunked_array(chunks)


def _joined_validity(columns: Sequence[Cells | Text]) -> Bytes | None:
    if all(column.valid is None for column in columns):
        return None
    out = roomy(sum(len(column) for column in columns))
    parts = [np.ones(len(column), np.uint8) if column.valid is None else column.valid for column in columns]
    return np.concatenate(parts, out=out)


def _joined_text(columns: Sequence[Text]) -> Text:
    starts = np.cumsum([0, *(column.data.size for column in columns)])
    data = roomy(int(starts[-1]))
    np.concatenate([column.data for column in columns], out=data)
    ends = [column.offsets[1:] + start for column, start in zip(columns, starts, strict=False)]
    return Text(np.concatenate([np.zeros(1, np.int64), *ends]), data, _joined_validity(columns))


def arrow_size(data: pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch) -> int:
    """Return the bytes of Arrow data; of its buffers, where an old Arrow cannot count those of views."""
    try:
        return int(data.nbytes)
    except pa.ArrowTypeError:
        return int(data.get_total_buffer_size())


def size_of(column: Column) -> int:
    """Return the bytes that a column's rows take."""
    if isinstance(column, Held):
        return arrow_size(column.array)
    valid = 0 if column.valid is None else column.valid.nbytes
    if isinstance(column, Text):
        return column.offsets.nbytes + column.data.nbytes + valid
    return column.values.nbytes + valid

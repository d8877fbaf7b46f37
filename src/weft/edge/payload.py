"""Read Arrow columns as the engine's own: as cells, text, or held arrays of plain types."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from weft.columns import Bytes, Cells, Column, Held, Text, concat
from weft.edge.stored import plain, stored

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
LARGE = (pa.large_string(), pa.large_binary())


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values of a stored type are offsets and bytes."""
    return bool(pt.is_string(kind) or pt.is_binary(kind) or kind in LARGE)


def width_of(kind: pa.DataType) -> int:
    """Return the bytes of one value of a stored type, 0 where it has no fixed width that kernels move."""
    if pt.is_boolean(kind):
        return 1
    if pt.is_nested(kind) or pt.is_dictionary(kind) or pt.is_null(kind) or is_text(kind):
        return 0
    try:
        width = int(kind.bit_width) // 8
    except ValueError:
        return 0
    return width if width in WORDS or width % 8 == 0 else 0


def layout(kind: pa.DataType) -> tuple[pa.DataType, bool, int]:
    """Return how a column of a type is stored: the plain type, whether that is text, and its width."""
    while isinstance(kind, pa.BaseExtensionType):  # a user's own may have no hash
        kind = kind.storage_type
    return _layout(kind)


@lru_cache(maxsize=1024)
def _layout(kind: pa.DataType) -> tuple[pa.DataType, bool, int]:
    stored_kind = plain(kind)
    return stored_kind, is_text(stored_kind), width_of(stored_kind)


def read(array: pa.Array | pa.ChunkedArray) -> Column:
    """Read an Arrow column; what is of fixed width and in one piece is not copied."""
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks != 1:
            return concat([read(chunk) for chunk in array.chunks] or [read(pa.nulls(0, plain(array.type)))])
        array = array.chunk(0)
    kind, text, width = layout(array.type)
    array = array if array.type == kind else stored(array)
    if text:
        return _read_text(array, kind)
    return _read_cells(array, kind, width) if width else Held(array)


class _Borrowed:
    """What numpy needs to see a buffer as a plain array: kernels would compile again for read-only ones."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, buffer: pa.Buffer, word: Any, first: int, count: int) -> None:
        self.owner = buffer
        size = np.dtype(word).itemsize
        place = (buffer.address + first * size, False)
        self.__array_interface__ = {
            "data": place,
            "shape": (count,),
            "typestr": np.dtype(word).str,
            "version": 3,
        }


def words(buffer: pa.Buffer, word: Any, first: int, count: int) -> npt.NDArray[Any]:
    """See `count` words of an Arrow buffer from `first` on as an array; only its maker writes to it."""
    if not count:
        return np.empty(0, word)
    seen = np.asarray(_Borrowed(buffer, word, first, count))
    return seen if seen.flags.aligned else seen.copy()


def _validity(array: pa.Array, bitmap: pa.Buffer | None) -> Bytes | None:
    if bitmap is None or array.null_count == 0:
        return None
    return _bits(bitmap, array.offset, len(array))


def _bits(bitmap: pa.Buffer, offset: int, count: int) -> Bytes:
    """Unpack `count` bits from bit `offset` on to a byte each."""
    packed = words(bitmap, np.uint8, offset // 8, (offset % 8 + count + 7) // 8)
    return np.unpackbits(packed, bitorder="little")[offset % 8 : offset % 8 + count]


def _read_cells(array: pa.Array, kind: pa.DataType, width: int) -> Cells:
    bitmap, data = array.buffers()
    word = WORDS.get(width, np.uint64)
    if data is None or len(array) == 0:
        return Cells(np.empty(0, word), None, width)
    valid = _validity(array, bitmap)
    if pt.is_boolean(kind):
        return Cells(_bits(data, array.offset, len(array)), valid, 1)
    scale = width // np.dtype(word).itemsize
    return Cells(words(data, word, array.offset * scale, len(array) * scale), valid, width)


def _read_text(array: pa.Array, kind: pa.DataType) -> Text:
    bitmap, ends, data = array.buffers()
    if ends is None or len(array) == 0:
        return Text(np.zeros(1, np.int64), np.empty(0, np.uint8), None)
    word = np.int64 if kind in LARGE else np.int32
    offsets = words(ends, word, array.offset, len(array) + 1).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    values = np.empty(0, np.uint8) if data is None else words(data, np.uint8, first, last - first)
    return Text(offsets - first if first else offsets, values, _validity(array, bitmap))

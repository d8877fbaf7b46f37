"""Columns that grow: the payload of the mutable part."""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa

from weft.columns import (
    Bytes,
    Cells,
    Column,
    Held,
    Text,
    arrow_size,
    chunks_of,
    compacted,
    joined,
    roomy,
    take,
)

CAPACITY = 8192  # rows of the mutable part; one more, and they become a run
PIECES = 16  # held arrays that may wait to be joined


class Tail(Protocol):
    """A payload column that can grow; `column` and `size_of` look at its first rows."""

    def size_of(self, rows: int, /) -> int:
        """Return the bytes of the first rows."""

    def add(self, first: int, column: Any, /) -> None:
        """Write the rows of a column of its kind from row `first` on."""

    def truncate(self, rows: int, /) -> None:
        """Keep the first rows."""

    def column(self, rows: int, /) -> Column:
        """Return the first rows."""


def tail_for(column: Column) -> Tail:
    """Return an empty column of the same kind that can grow."""
    if isinstance(column, Held):
        return HeldTail(column.array.type)
    return TextTail() if isinstance(column, Text) else CellTail(column)


class CellTail:
    """Cells that grow in place."""

    def __init__(self, column: Cells) -> None:
        self._words = column.width // column.values.itemsize
        self._width = column.width
        self.values = roomy(CAPACITY * self._words, column.values.dtype)
        self.valid: Bytes | None = None

    def size_of(self, rows: int) -> int:
        """Return the bytes of the first rows."""
        return rows * (self._width + (self.valid is not None))

    def add(self, first: int, column: Cells) -> None:
        """Write the column's rows from row `first` on."""
        last = first + len(column)
        self.values[first * self._words : last * self._words] = column.values
        self.valid = grown_validity(self.valid, column.valid, first, last)

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        if not rows:
            self.valid = None

    def column(self, rows: int) -> Cells:
        """Return the first rows."""
        valid = None if self.valid is None else self.valid[:rows]
        return Cells(self.values[: rows * self._words], valid, self._width)


def grown_validity(valid: Bytes | None, more: Bytes | None, first: int, last: int) -> Bytes | None:
    """Return the validity of a column once rows `first` to `last` are in; None while there are no nulls."""
    if valid is None and more is None:
        return None
    if valid is None:
        valid = roomy(CAPACITY)
        valid[:first] = 1
    valid[first:last] = 1 if more is None else more
    return valid


class TextTail:
    """Text that grows; its bytes double their room when they need more."""

    def __init__(self) -> None:
        self._offsets = np.zeros(CAPACITY + 1, np.int64)
        self._data = roomy(1024)
        self._valid: Bytes | None = None

    def size_of(self, rows: int) -> int:
        """Return the bytes of the first rows."""
        return rows * (8 + (self._valid is not None)) + int(self._offsets[rows])

    def add(self, first: int, column: Text) -> None:
        """Write the column's rows from row `first` on."""
        last = first + len(column)
        start = int(self._offsets[first])
        end = start + column.data.size
        if end > self._data.size:
            data = roomy(2 * end)
            data[:start] = self._data[:start]
            self._data = data
        self._data[start:end] = column.data
        self._offsets[first + 1 : last + 1] = column.offsets[1:] + start
        self._valid = grown_validity(self._valid, column.valid, first, last)

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        if not rows:
            self._valid = None

    def column(self, rows: int) -> Text:
        """Return the first rows."""
        valid = None if self._valid is None else self._valid[:rows]
        return Text(self._offsets[: rows + 1], self._data[: self._offsets[rows]], valid)


class HeldTail:
    """Arrow arrays, copied as they come and joined when there are many."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._pieces: list[pa.Array] = []

    def size_of(self, rows: int) -> int:
        """Return the bytes of all rows, of which there are `rows`."""
        return arrow_size(self.column(rows).array)

    def add(self, first: int, column: Held) -> None:
        """Keep the column's rows; they come after row `first`."""
        pieces = self.column(first).array.chunks
        pieces += chunks_of(cast("Held", take(column, np.arange(len(column)))).array)
        while len(pieces) > PIECES and len(pieces[-2]) <= 2 * len(pieces[-1]):  # each row O(log rows) times
            merged = chunks_of(compacted(joined(pieces[-2:])))
            pieces[-2:] = merged
            if len(merged) > 1:  # too long for one piece
                break
        self._pieces = pieces

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        self._pieces = [piece for piece in self.column(rows).array.chunks if len(piece)]

    def column(self, rows: int) -> Held:
        """Return the first rows."""
        return Held(pa.chunked_array(self._pieces, type=self._kind)[:rows])

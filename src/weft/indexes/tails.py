"""Columns that grow: the payload of the mutable part."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from weft.columns import Bytes, Cells, Column, Held, Text, concat, roomy, take

CAPACITY = 8192  # rows of the mutable part; one more, and they become a run
PIECES = 16  # held arrays that may wait to be joined


def tail_for(column: Column) -> Any:
    """Return an empty column of the same kind that can grow."""
    if isinstance(column, Held):
        return HeldTail()
    return TextTail() if isinstance(column, Text) else CellTail(column)


class CellTail:
    """Cells that grow in place."""

    def __init__(self, column: Cells) -> None:
        self._words = column.width // column.values.itemsize
        self._width = column.width
        self._values = roomy(CAPACITY * self._words, column.values.dtype)
        self._valid: Bytes | None = None
        self._rows = 0

    @property
    def nbytes(self) -> int:
        """Return the bytes in use."""
        return self._rows * (self._width + (self._valid is not None))

    def add(self, first: int, column: Cells) -> None:
        """Write the column's rows from row `first` on."""
        self._rows = last = first + len(column)
        self._values[first * self._words : last * self._words] = column.values
        if column.valid is not None and self._valid is None:
            self._valid = roomy(CAPACITY)
            self._valid[:first] = 1
        if self._valid is not None:
            self._valid[first:last] = 1 if column.valid is None else column.valid

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        self._rows = rows

    def column(self, rows: int) -> Cells:
        """Return the first rows."""
        valid = None if self._valid is None else self._valid[:rows]
        return Cells(self._values[: rows * self._words], valid, self._width)


class TextTail:
    """Text that grows; its bytes double their room when they need more."""

    def __init__(self) -> None:
        self._offsets = np.zeros(CAPACITY + 1, np.int64)
        self._data = roomy(1024)
        self._valid: Bytes | None = None
        self._rows = 0

    @property
    def nbytes(self) -> int:
        """Return the bytes in use."""
        return self._rows * (8 + (self._valid is not None)) + int(self._offsets[self._rows])

    def add(self, first: int, column: Text) -> None:
        """Write the column's rows from row `first` on."""
        self._rows = last = first + len(column)
        start = int(self._offsets[first])
        end = start + column.data.size
        if end > self._data.size:
            data = roomy(2 * end)
            data[:start] = self._data[:start]
            self._data = data
        self._data[start:end] = column.data
        self._offsets[first + 1 : last + 1] = column.offsets[1:] + start
        if column.valid is not None and self._valid is None:
            self._valid = roomy(CAPACITY)
            self._valid[:first] = 1
        if self._valid is not None:
            self._valid[first:last] = 1 if column.valid is None else column.valid

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        self._rows = rows

    def column(self, rows: int) -> Text:
        """Return the first rows."""
        valid = None if self._valid is None else self._valid[:rows]
        return Text(self._offsets[: rows + 1], self._data[: self._offsets[rows]], valid)


class HeldTail:
    """Arrow arrays, copied as they come and joined when there are many."""

    def __init__(self) -> None:
        self._pieces: list[Held] = []

    @property
    def nbytes(self) -> int:
        """Return the bytes held."""
        return sum(piece.array.nbytes for piece in self._pieces)

    def add(self, first: int, column: Held) -> None:
        """Keep the column's rows; they come after row `first`."""
        copied = take(column, np.arange(len(column)))
        pieces = self._pieces
        pieces.append(cast("Held", copied))
        while len(pieces) > PIECES and len(pieces[-2]) <= 2 * len(pieces[-1]):  # O(log rows) copies of each row
            younger = pieces.pop()
            pieces[-1] = cast("Held", concat([pieces[-1], younger]))

    def truncate(self, rows: int) -> None:
        """Keep the first rows."""
        kept = Held(self.column(rows).array[:rows])
        self._pieces = [cast("Held", concat([kept]))]

    def column(self, rows: int) -> Held:
        """Return all rows."""
        return Held(pa.chunked_array([piece.array for piece in self._pieces]))

"""Key codes to dense integers, and the keys that no row uses any more forgotten."""

from __future__ import annotations

import secrets
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from weft.columns import Bytes, Rows, Text, roomy, take
from weft.edge.keys import Codes
from weft.kernels.hashing import find_bytes, find_words, intern_bytes, intern_words

Ids = npt.NDArray[np.int32]

SLOTS = 1024  # of the smallest table
WORTH = 4096  # keys below which forgetting is not worth a pass


class Interner:
    """A table from key codes to 0, 1, 2, ... in order of arrival: O(1) a row, memory for the keys in use."""

    def __init__(self, *, words: bool, slots: int = SLOTS, room: int = 16 * SLOTS) -> None:
        self.words = words
        self.size = 0
        self.settled = 0  # keys in use when the others were last forgotten
        self._odd = secrets.randbits(63) - 2**62 | 1
        self._table = np.zeros(2 * slots, np.int64)  # slots of two words: see kernels/hashing.py
        # Words: the key of each id; bytes: where each ends.
        self._known = np.zeros(min(slots, SLOTS), np.int64)
        self._store: Bytes = roomy(0 if words else room)

    @property
    def nbytes(self) -> int:
        """Return the bytes it holds."""
        return self._table.nbytes + self._known.nbytes + self._store.nbytes

    def crowded(self, rows: int) -> bool:
        """Tell whether it is worth a pass to forget the keys that none of the held rows has.

        It is when keys are three times those of the last pass, or three times the rows.
        """
        return self.size > 3 * min(self.settled, rows) + WORTH

    @property
    def slots(self) -> int:
        """Return how many slots its table has."""
        return self._table.size // 2

    @property
    def most(self) -> int:
        """Return how many keys there is room for."""
        return min(-(-2 * self.slots // 3), self._known.size)

    def addresses(self) -> tuple[int, int, int]:
        """Return where its table and its keys lie, and the multiplier, for kernels/small.py."""
        return self._table.ctypes.data, self._known.ctypes.data, self._odd

    def intern(self, codes: Codes) -> Ids:
        """Return each row's id, new keys taking the next; -1 where a row has no key."""
        ids = _unnamed(codes)
        done = 0
        while done < ids.size:
            state = (done, self.size, self._odd)
            if codes.data is None:
                done, self.size = intern_words(codes.values, ids, self._table, self._known, state)
            else:
                text, known = (codes.values, codes.data), (self._known, self._store)
                done, self.size = intern_bytes(text, ids, self._table, known, state)
            if done < ids.size:
                self._grow(codes, done)
        return ids

    def find(self, codes: Codes) -> Ids:
        """Return each row's id, -1 where it has no key or one never seen."""
        ids = _unnamed(codes)
        if codes.data is None:
            find_words(codes.values, ids, self._table, self._odd)
        else:
            find_bytes((codes.values, codes.data), ids, self._table, (self._known, self._store), self._odd)
        return ids

    def reserve(self, keys: int, size: int) -> None:
        """Make room for so many more keys, of so many bytes in all (words: 0)."""
        total = self.size + keys
        if 3 * total >= 2 * self.slots:
            self._spread(1 << (2 * total).bit_length())
        if total >= self._known.size:
            self._known = enlarged(self._known, 5 * total // 4 + 1)
        needed = size and int(self._known[self.size]) + size
        if needed > self._store.size:
            self._store = enlarged(self._store, 3 * needed // 2)

    def keys(self) -> Codes:
        """Return the codes of all ids."""
        if self.words:
            return Codes(self._known[: self.size], None, None)
        ends = self._known[: self.size + 1]
        return Codes(ends, self._store[: ends[-1]], None)

    def without(self, used: npt.NDArray[np.bool_]) -> tuple[Interner, Ids]:
        """Return an interner of the keys in use, and each old id's new name: -1 if forgotten, order kept."""
        rows = np.flatnonzero(used)
        names = np.full(used.size, -1, np.int32)
        names[rows] = np.arange(rows.size, dtype=np.int32)
        slots = max(SLOTS, 1 << (4 * rows.size).bit_length())  # more will come before the next pass
        fewer = self._moved(chosen(self.keys(), rows), slots)
        fewer.settled = fewer.size
        return fewer, names

    def _grow(self, codes: Codes, row: int) -> None:
        """Make room for the key of a row that found none: in the table, among the keys, in the store."""
        if 3 * self.size >= 2 * self.slots:
            self._spread(2 * self.slots)
            return
        if self.size + 1 >= self._known.size:
            self._known = enlarged(self._known, 3 * self._known.size // 2)
        if codes.data is not None:
            needed = int(self._known[self.size] + codes.values[row + 1] - codes.values[row])
            if needed > self._store.size:
                self._store = enlarged(self._store, 2 * needed)

    def _spread(self, slots: int) -> None:
        """Take a table of so many slots."""
        larger = self._moved(self.keys(), slots)
        self._odd, self._table = larger._odd, larger._table

    def _moved(self, keys: Codes, slots: int) -> Interner:
        """Return an interner with so many slots and these keys, whose ids are 0, 1, 2, ..."""
        fresh = Interner(words=self.words, slots=slots)
        fresh._known = np.zeros(max(SLOTS, 5 * len(keys) // 4), np.int64)
        fresh._store = roomy(0 if keys.data is None else keys.data.size * 3 // 2 + 16 * SLOTS)
        fresh.intern(keys)
        return fresh


def enlarged(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return a longer copy of an array, with room behind it."""
    longer = roomy(size, array.dtype)
    longer[: array.size] = array
    return longer


def _unnamed(codes: Codes) -> Ids:
    """Return 0 for each row with a key and -1 for the others, as the kernels take it."""
    return np.zeros(len(codes), np.int32) if codes.valid is None else codes.valid.astype(np.int32) - 1


def chosen(codes: Codes, rows: Rows) -> Codes:
    """Return the codes of some rows, copied."""
    if codes.data is None:
        return Codes(codes.values[rows], None, None)
    text = cast("Text", take(Text(codes.values, codes.data, None), rows))
    return Codes(text.offsets, text.data, None)

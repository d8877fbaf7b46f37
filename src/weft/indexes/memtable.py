"""The mutable part of a window: rows in order of arrival, chained by key, until they are enough for a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.indexes.run import ALL, Batch, Ids, Times, above
from weft.indexes.tails import CAPACITY, CellTail, Tail, tail_for
from weft.kernels.chains import follow, link, retract, unlink
from weft.kernels.order import living

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from weft.columns import Cells, Column, Rows

FEWEST = 512  # rows below which no living ones are counted
ROW = 24  # bytes of a row's id, lead and chain


class Memtable:
    """Up to CAPACITY rows of one side: O(1) to add a row, a probe O(rows of its key that are new enough)."""

    def __init__(self) -> None:
        self.size = 0
        self.newest = ALL
        self._look = FEWEST  # rows from which it is worth to count the living ones
        self._ids = np.empty(CAPACITY, np.int32)
        self._lead = np.empty(CAPACITY, np.int64)
        self._behind = np.empty(CAPACITY, np.int32)
        self._rest = np.empty(CAPACITY, np.int64)
        self._heads = np.full(64, -1, np.int32)
        self._tails: list[Tail] = []

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Return the bytes of the rows it holds, chains included."""
        return self.size * ROW + sum(tail.size_of(self.size) for tail in self._tails)

    def reserve(self, keys: int) -> None:
        """Make room for the chains of `keys` keys. O(1) amortised."""
        if keys > self._heads.size:
            heads = np.full(max(keys, 2 * self._heads.size), -1, np.int32)
            heads[: self._heads.size] = self._heads
            self._heads = heads

    def add(self, batch: Batch, keys: int) -> None:
        """Append rows, for which there must be room."""
        self.reserve(keys)
        first, last = self.size, self.size + len(batch)
        if not self._tails:
            self._tails = [tail_for(column) for column in batch.columns]
        for tail, column in zip(self._tails, batch.columns, strict=True):
            tail.add(first, column)
        self._ids[first:last] = batch.ids
        self._lead[first:last] = batch.lead
        link(self._ids[:last], self._lead, first, self._heads, (self._behind, self._rest))
        self.size = last
        self.newest = max(self.newest, int(batch.lead.max()))

    def probe(self, ids: Ids, reach: Times) -> tuple[Rows, int, Rows]:
        """Return the hits of probe rows, their pairs, and the rows met, in which the hits' starts count."""
        hits = np.empty(3 * ids.size, np.int64)
        rows = np.empty(max(64, 8 * ids.size), np.int64)
        chains = (self._heads, self._lead, self._behind, self._rest)
        found, pairs = follow(ids, reach, chains, hits, rows)
        if pairs > rows.size:
            rows = np.empty(pairs, np.int64)
            follow(ids, reach, chains, hits, rows)
        return hits[: 3 * found], pairs, rows

    @property
    def ids(self) -> Ids:
        """Return the keys of its rows."""
        return self._ids[: self.size]

    def rows(self) -> Batch:
        """Return its rows as they lie."""
        size = self.size
        return Batch(self._ids[:size], self._lead[:size], self.columns())

    def columns(self) -> tuple[Column, ...]:
        """Return its payload as it lies."""
        return tuple(tail.column(self.size) for tail in self._tails)

    def clear(self) -> None:
        """Forget all rows. O(rows)."""
        unlink(self._ids[: self.size], self._heads)
        self.size = 0
        self.newest = ALL
        self._look = FEWEST
        for tail in self._tails:
            tail.truncate(0)

    def truncate(self, size: int, newest: int) -> None:
        """Take back the rows added last. O(those rows)."""
        retract(self._ids[: self.size], size, self._heads, self._behind)
        self.size, self.newest = size, newest
        for tail in self._tails:
            tail.truncate(size)

    def purged(self, keys: int, horizon: int) -> Memtable:
        """Return itself, or a smaller one when half of its rows have expired. O(1) amortised a row."""
        if not self.due(horizon):
            return self
        rows = above(self.rows(), horizon)
        fewer = Memtable()
        if len(rows):
            fewer.add(rows, keys)
        fewer._look = max(FEWEST, 2 * len(rows))
        return fewer

    def card(self, prototypes: Sequence[Cells]) -> list[int] | None:
        """Return where everything lies, as kernels/small.py has it; None if a column is not plain cells."""
        if not self._tails:
            self._tails = [tail_for(column) for column in prototypes]
        plain = [tail.values for tail in self._tails if isinstance(tail, CellTail) and tail.valid is None]
        if len(plain) < len(self._tails):
            return None
        arrays: list[npt.NDArray[Any]] = [self._ids, self._lead, self._behind, self._rest, *plain]
        ids, lead, behind, rest, *tails = (array.ctypes.data for array in arrays)
        return [
            self.size,
            self._heads.ctypes.data,
            self._heads.size,
            ids,
            lead,
            behind,
            rest,
            0,
            len(tails),
            *tails,
        ]

    def appended(self, rows: int, newest: int) -> None:
        """Count rows that a kernel has written."""
        self.size += rows
        self.newest = max(self.newest, newest)

    def due(self, horizon: int) -> bool:
        """Tell whether half of its rows have expired; they are counted whenever they have doubled."""
        if self.size < self._look:
            return False
        if 2 * living(self._ids[: self.size], self._lead, horizon) <= self.size:
            return True
        self._look = 2 * self.size
        return False

    def renamed(self, names: Ids, keys: int) -> Memtable:
        """Return a part with the same rows, key k called names[k]."""
        rows = self.rows()
        fresh = Memtable()
        if len(rows):
            fresh.add(Batch(np.where(rows.ids >= 0, names[rows.ids], -1), rows.lead, rows.columns), keys)
        return fresh

    def check(self) -> None:
        """Raise AssertionError where the chains do not hold each row with a key once; for tests."""
        ids = self._ids[: self.size]
        seen = sum(self._check_chain(id_) for id_ in np.unique(ids[ids >= 0]))
        if seen != np.count_nonzero(ids >= 0):
            message = "the chains do not hold every row"
            raise AssertionError(message)

    def _check_chain(self, id_: int) -> int:
        """Return how many rows a key's chain holds."""
        seen, row = 0, self._heads[id_]
        while row >= 0:
            behind, newest = self._behind[row], self._lead[row]
            if behind >= 0:
                newest = max(newest, self._rest[behind])
            if self._ids[row] != id_ or self._rest[row] != newest:
                message = f"chain of key {id_} is broken at row {row}"
                raise AssertionError(message)
            seen, row = seen + 1, behind
        return seen

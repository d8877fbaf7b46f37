"""The mutable part against a list: rows in order of arrival, found by key, taken back, thinned, renamed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.indexes.rows import (
    IDS,
    LEADS,
    NEAR_WANTED,
    WANTED,
    Row,
    Wanted,
    batch_of,
    met_by,
    met_in,
    probe_of,
    rows_in,
)
from weft.indexes.memtable import Memtable
from weft.indexes.pairs import Pairs
from weft.indexes.run import ALL

DRAWN = st.lists(st.tuples(IDS, LEADS), min_size=1, max_size=30)


class MemtableMachine(RuleBasedStateMachine):
    """A memtable beside the list of its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("weft.indexes.memtable.FEWEST", 4)
        self.table = Memtable()
        self.rows: list[Row] = []
        self.keys = 1
        self.serial = 0
        self.mark: tuple[int, int] | None = None

    def teardown(self) -> None:
        self.patch.undo()

    @rule(drawn=DRAWN)
    def add(self, drawn: Sequence[tuple[int, int]]) -> None:
        """Append rows, some without a key."""
        rows = [Row(id_, lead, self.serial + at) for at, (id_, lead) in enumerate(drawn)]
        self.serial += len(rows)
        self.keys = max([self.keys, *(row.id + 1 for row in rows)])
        self.table.add(batch_of(rows), self.keys)
        self.rows += rows

    @rule(wanted=st.one_of(WANTED, NEAR_WANTED))
    def probe(self, wanted: list[Wanted]) -> None:
        """Meet what two loops meet."""
        asked, reach = probe_of(wanted)
        hits, count, order = self.table.probe(asked.ids, reach)
        expected = met_by(wanted, self.rows)
        assert count == expected.total()
        if count:
            pairs = Pairs(hits, count, "left", asked.columns, self.table.columns(), order)
            assert met_in([pairs], self.rows) == expected

    @rule()
    def remember(self) -> None:
        """Note where to go back to."""
        self.mark = len(self.rows), self.table.newest

    @precondition(lambda self: self.mark is not None)
    @rule()
    def take_back(self) -> None:
        """Take back the rows since then."""
        size, newest = self.mark  # type: ignore[misc]
        self.table.truncate(size, newest)
        self.rows = self.rows[:size]
        assert self.table.newest == newest

    @rule(horizon=LEADS)
    def purge(self, horizon: int) -> None:
        """Drop what expired once it is half of all; with it goes what has no key."""
        fewer = self.table.purged(self.keys, horizon)
        living = [row for row in self.rows if row.id >= 0 and row.lead >= horizon]
        if fewer is not self.table:
            assert 2 * len(living) <= len(self.rows)
            self.table, self.rows, self.mark = fewer, living, None
        assert not self.table.due(horizon) or not self.rows

    @rule()
    def clear(self) -> None:
        """Forget all."""
        self.table.clear()
        self.rows, self.mark = [], None

    @rule(more=st.lists(IDS))
    def rename(self, more: list[int]) -> None:
        """Forget the keys that nobody uses."""
        used = np.zeros(self.keys, bool)
        used[[id_ for id_ in (*more, *(row.id for row in self.rows)) if 0 <= id_ < self.keys]] = True
        names = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        self.keys = max(1, int(used.sum()))
        self.table = self.table.renamed(names, self.keys)
        self.rows = [
            Row(int(names[row.id]) if row.id >= 0 else -1, row.lead, row.serial) for row in self.rows
        ]
        self.mark = None

    @invariant()
    def holds_the_rows_in_order(self) -> None:
        """Hold what the list holds, and say so."""
        self.table.check()
        assert len(self.table) == len(self.rows)
        if self.rows:
            assert rows_in(self.table.rows(), self.rows) == self.rows
            assert self.table.newest >= max(row.lead for row in self.rows)
            assert self.table.nbytes > 24 * len(self.rows)
        else:
            assert self.table.newest == ALL or self.mark is not None


TestMemtable: Any = MemtableMachine.TestCase


@pytest.mark.parametrize(("size", "probes"), [(64, 1), (65, 1), (120, 1), (3000, 1), (14, 20), (3000, 20)])
def test_more_pairs_than_it_made_room_for_are_all_found(size: int, probes: int) -> None:
    rows = [Row(0, at % 7, at) for at in range(size)]
    table = Memtable()
    table.add(batch_of(rows), 1)
    wanted = [(0, 0, 6)] * probes
    asked, reach = probe_of(wanted)
    hits, count, order = table.probe(asked.ids, reach)
    assert count == size * probes
    pairs = Pairs(hits, count, "left", asked.columns, table.columns(), order)
    assert met_in([pairs], rows) == met_by(wanted, rows)


def test_clearing_leaves_no_null_behind() -> None:
    table = Memtable()
    table.add(batch_of([Row(0, 1, 0), Row(0, 2, 35)]), 1)  # both null in two columns
    table.clear()
    rows = [Row(0, 3, 1), Row(0, 4, 2)]
    table.add(batch_of(rows), 1)
    assert rows_in(table.rows(), rows) == rows
    assert [getattr(column, "valid", None) for column in table.columns()] == [None] * 6


def test_check_sees_a_broken_chain() -> None:
    for array, value in (("_heads", -1), ("_behind", -1), ("_rest", -5), ("_ids", 1)):
        table = Memtable()
        table.add(batch_of([Row(0, 3, 1), Row(0, 4, 2), Row(1, 3, 3)]), 2)
        table.check()
        getattr(table, array)[1 if array != "_heads" else 0] = value
        with pytest.raises(AssertionError, match="chain"):
            table.check()

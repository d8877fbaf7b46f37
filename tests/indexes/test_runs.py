"""The window of a side against a list of its rows, whatever is pushed, purged, renamed and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.indexes.rows import (
    IDS,
    LEAD_PLACE,
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
from tests.kernels.memory import tries
from weft.indexes.run import ALL, NEVER
from weft.indexes.runs import FAN, Runs, crowd, level

DRAWN = st.one_of(
    st.lists(st.tuples(IDS, LEADS), max_size=11),
    st.lists(st.tuples(IDS, LEADS), max_size=11),
    st.lists(st.tuples(IDS, LEADS), min_size=12, max_size=90),
)
TINY = {"runs.LARGE": 12, "runs.CAPACITY": 20, "memtable.FEWEST": 4}
Rows = list[Row]


class RunsMachine(RuleBasedStateMachine):
    """A window of tiny tiers beside two lists: rows that it must hold, and expired ones, which it may."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for name, value in TINY.items():
            self.patch.setattr(f"weft.indexes.{name}", value)
        self.window = Runs(LEAD_PLACE)
        self.living: Rows = []
        self.expired: Rows = []
        self.keys, self.horizon, self.now, self.serial = 1, ALL, 0, 0

    def teardown(self) -> None:
        self.patch.undo()

    def moved(self, lead: int) -> int:
        """Move a time that is not at an end of int64 to the present."""
        return lead + self.now if abs(lead) < 100 else lead

    def new_rows(self, drawn: Sequence[tuple[int, int]]) -> Rows:
        """Number rows, and make room for their keys."""
        self.serial += len(drawn)
        rows = [Row(id_, self.moved(lead), self.serial + at) for at, (id_, lead) in enumerate(drawn)]
        self.serial += len(rows)
        self.keys = max([self.keys, *(row.id + 1 for row in rows)])
        return rows

    def insert(self, drawn: Sequence[tuple[int, int]], probing: int, horizon: int) -> None:
        """Add rows as the operator does; those below the horizon may be left out."""
        rows = self.new_rows(drawn)
        self.window.prepare(len(rows), probing, self.keys, self.horizon)
        self.window.insert(batch_of(rows), self.keys, horizon)
        for row in rows:
            if row.id >= 0:
                (self.living if row.lead >= self.horizon else self.expired).append(row)

    def meet(self, wanted: Sequence[Wanted]) -> None:
        """Meet every living row that two loops meet, once, and no row that never was."""
        asked = [(id_, *sorted((self.moved(one), self.moved(two)))) for id_, one, two in wanted]
        batch, reach = probe_of(asked)  # type: ignore[arg-type]
        met = met_in(self.window.probe(batch, reach, "left"), [*self.living, *self.expired])
        must, may = (met_by(asked, rows) for rows in (self.living, self.expired))  # type: ignore[arg-type]
        assert must <= met <= must + may

    def purge(self, passed: int, aim: int) -> None:
        """Move on, at times to a row's own time; what has expired may go, and whole and half runs must."""
        self.now += passed
        ahead = sorted({row.lead for row in self.living if abs(row.lead) < self.now + 100})
        reached = ahead[-aim] if 0 < aim <= len(ahead) else self.now - 20
        self.horizon = max(self.horizon, reached)
        self.window.settle(self.window.purged(self.keys, self.horizon))
        self.expired += [row for row in self.living if row.lead < self.horizon]
        self.living = [row for row in self.living if row.lead >= self.horizon]
        assert not self.window.due(self.horizon)
        assert crowd(self.window.runs) is None
        assert all(run.order is None and run.middle >= self.horizon for run in self.window.runs)

    def forget(self) -> None:
        """Forget the keys that no row has."""
        used = self.window.used(self.keys)
        assert all(used[row.id] for row in self.living)
        names = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        self.keys = max(1, int(used.sum()))
        self.window.settle(self.window.renamed(names, self.keys))
        self.living, self.expired = (
            [Row(int(names[row.id]), row.lead, row.serial) for row in rows if used[row.id]]
            for rows in (self.living, self.expired)
        )

    @rule(
        drawn=DRAWN,
        probing=st.sampled_from([0, 0, 0, 12]),
        keep=st.booleans(),
        wanted=st.one_of(WANTED, NEAR_WANTED),
        passed=st.sampled_from([0, 0, 1, 7, 30]),
        aim=st.sampled_from([0, 0, 0, 1, 2, 5]),
        then=st.sampled_from(["go on", "go on", "forget", "fail", "forget and fail"]),
    )
    def step(
        self,
        *,
        drawn: Sequence[tuple[int, int]],
        probing: int,
        keep: bool,
        wanted: Sequence[Wanted],
        passed: int,
        aim: int,
        then: str,
    ) -> None:
        """Do as the operator: make room, insert, match, purge, forget keys; a failed step leaves nothing."""
        before = self.living.copy(), self.expired.copy(), self.keys, self.horizon
        state = self.window.state()
        self.insert(drawn, probing, ALL if keep else self.horizon)
        self.meet(wanted)
        self.purge(passed, aim)
        if "forget" in then:
            self.window.check()
            self.forget()
        if "fail" in then:
            self.window.restore(state)
            self.living, self.expired, self.keys, self.horizon = before

    @rule(wanted=st.one_of(WANTED, NEAR_WANTED))
    def probe(self, wanted: Sequence[Wanted]) -> None:
        """Only look."""
        self.meet(wanted)

    @rule(drawn=DRAWN)
    def load(self, drawn: Sequence[tuple[int, int]]) -> None:
        """Take rows of a snapshot."""
        rows = [row for row in self.new_rows(drawn) if row.lead >= self.horizon and row.id >= 0]
        self.window.load(batch_of(rows), self.keys)
        self.living += rows

    @rule()
    def reload(self) -> None:
        """Go on from what a snapshot would hold."""
        batches = self.window.contents()
        self.window = Runs(LEAD_PLACE)
        for batch in batches:
            self.window.load(batch, self.keys)

    @invariant()
    def is_what_it_promises(self) -> None:
        """Check itself, and hold every living row once."""
        self.window.check()
        rows = [*self.living, *self.expired]
        held = [row for batch in self.window.contents() for row in rows_in(batch, rows)]
        assert len(held) == len(self.window) == len(set(held))
        assert set(self.living) <= set(held)
        assert self.window.parts <= len(self.window)
        assert (self.window.nbytes > 0) == (len(held) > 0)


TestRuns: Any = RunsMachine.TestCase
TestRuns.settings = tries(45)


def filled(batches: Sequence[int], disorder: int = 0) -> tuple[Runs, Rows]:
    """Return a window that took batches of these sizes, a row a tick, three keys; and its rows."""
    window, rows = Runs(LEAD_PLACE), []
    for size in batches:
        more = [Row(at % 3, at - at * 7 % (disorder + 1), at) for at in range(len(rows), len(rows) + size)]
        window.prepare(size, 0, 3, ALL)
        window.insert(batch_of(more), 3, ALL)
        window.settle(window.purged(3, ALL))
        rows += more
    return window, rows


def met(window: Runs, rows: Rows, wanted: Sequence[Wanted]) -> None:
    batch, reach = probe_of(wanted)
    assert met_in(window.probe(batch, reach, "left"), rows) == met_by(wanted, rows)


@pytest.mark.parametrize("sizes", [[1900] * 6, [2048] * 5, [100, 5000, 1, 2047, 3000], [8192, 8193, 1]])
def test_batches_of_real_sizes_are_found_through_every_tier(sizes: list[int]) -> None:
    window, rows = filled(sizes, disorder=50)
    window.check()
    last = len(rows)
    met(window, rows, [(at % 4, at - 3, at + 3) for at in range(0, last, last // 60)])
    window.prepare(0, 5000, 3, ALL)  # many will look: chains become a run
    assert sum(map(len, window.runs)) == last
    met(window, rows, [(at % 4, at - 3, at + 3) for at in range(0, last, last // 60)])


def test_a_window_has_a_few_runs_for_each_tier() -> None:
    window, _ = filled([2048] * 70)
    tiers = [level(run) for run in window.runs]
    assert max(tiers.count(tier) for tier in tiers) < FAN
    assert len(window.runs) <= 8


def test_everything_goes_once_nothing_can_be_met() -> None:
    window, _ = filled([2048, 300])
    window.settle(window.purged(3, NEVER))
    assert (len(window), window.parts, window.runs) == (0, 0, [])
    for size in (5, 2500):
        window.insert(batch_of([Row(0, at, at) for at in range(size)]), 3, NEVER)
    assert len(window) == 0


def test_expired_rows_go_with_their_run_with_half_of_it_or_at_a_merge() -> None:
    window, rows = filled([2048] * 3)
    window.settle(window.purged(3, 1000))  # less than half of the first
    assert len(window) == len(rows)
    window.settle(window.purged(3, 1100))
    assert len(window) == len(rows) - 1100
    window.settle(window.purged(3, 2048))
    assert len(window) == len(rows) - 2048
    window.settle(window.purged(3, 3000))
    window.insert(batch_of([Row(0, at, at) for at in range(6144, 8192)]), 3, 3000)
    window.insert(batch_of([Row(0, at, at) for at in range(8192, 10240)]), 3, 3000)
    window.settle(window.purged(3, 3000))  # four of a size now: merged
    assert len(window) == 10240 - 3000


@pytest.mark.parametrize("size", [5, 2500])
def test_rows_at_the_horizon_stay(size: int) -> None:
    for horizon, left in ((7, True), (8, False)):
        window, rows = Runs(LEAD_PLACE), [Row(0, 7, at) for at in range(size)]
        window.insert(batch_of(rows), 1, 7)
        assert len(window) == size
        window.settle(window.purged(1, horizon))
        assert len(window) == size * left


def test_rows_without_a_key_are_held_nowhere() -> None:
    for size in (5, 2500):
        window = Runs(LEAD_PLACE)
        window.insert(batch_of([Row(-1, at, at) for at in range(size)]), 1, ALL)
        window.settle(window.purged(1, ALL))
        assert (len(window), window.parts) == (0, 0)


def test_check_sees_runs_that_are_not_tiered() -> None:
    window, _ = filled([2048, 9000])
    window.runs = window.runs[::-1]
    with pytest.raises(AssertionError, match="tiered"):
        window.check()

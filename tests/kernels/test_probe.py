"""Probe: the slice of a run that each row matches, whatever the order of the rows and the cursors' places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import BEHIND, ENDS, INT64, NEAR, SEEDS, followed, tries, triples, words
from weft.kernels.probe import gallop, gallop_past, search, slot_of, sweep

Row = tuple[int, int]
Wanted = tuple[int, int, int]  # id, low, high
Hits = list[tuple[int, int, int]]

IDS = st.one_of(st.integers(0, 2), st.integers(0, 200))
ROWS = st.lists(st.tuples(IDS, st.one_of(NEAR, NEAR, INT64)), max_size=60)
WANTED = st.lists(st.tuples(st.one_of(IDS, st.integers(-2, 500)), INT64, INT64), max_size=40)


@dataclass(frozen=True, slots=True)
class Sorted:
    """A run as a list of rows, and as the kernels have it; behind its leads lie values of no meaning."""

    rows: list[Row]
    keys: list[int]
    directory: tuple[Any, Any, Any]
    lead: tuple[Any, int, int]

    def bounds(self, id_: int) -> tuple[int, int]:
        """Return where a key's rows begin and end."""
        at = [place for place, (own, _) in enumerate(self.rows) if own == id_]
        return (at[0], at[-1] + 1) if at else (0, 0)


def run_of(rows: Sequence[Row], behind: Sequence[int] = ENDS) -> Sorted:
    """Sort rows into a run."""
    ordered = sorted(rows)
    keys = sorted({id_ for id_, _ in ordered})
    bits = [sum(1 << id_ % 64 for id_ in keys if id_ // 64 == at) for at in range(max([0, *keys]) // 64 + 1)]
    ranks = [sum(id_ < 64 * at for id_ in keys) for at in range(len(bits))]
    offsets = [0, *np.cumsum([sum(own == id_ for own, _ in ordered) for id_ in keys], dtype=int)]
    leads = [lead for _, lead in ordered]
    spare = [behind[at % len(behind)] for at in range(BEHIND)]
    return Sorted(
        ordered,
        keys,
        (words(bits, np.uint64), words(ranks, np.int32), words(offsets)),
        (followed(words(leads), spare), min(leads, default=0), max(leads, default=0)),
    )


def brute(run: Sorted, wanted: Sequence[Wanted]) -> Hits:
    """Find each row's slice by looking at every row of the run."""
    hits = []
    for at, (id_, low, high) in enumerate(wanted):
        met = [place for place, (own, lead) in enumerate(run.rows) if own == id_ and low <= lead <= high]
        if met:
            hits.append((at, met[0], len(met)))
    return hits


def probe_arrays(wanted: Sequence[Wanted]) -> tuple[Any, Any, Any]:
    """Return ids, reaches and room for hits."""
    ids = words([id_ for id_, _, _ in wanted], np.int32)
    reach = words([bound for _, low, high in wanted for bound in (low, high)])
    return ids, reach, np.full(3 * ids.size, -7, np.int64)


def swept(run: Sorted, wanted: Sequence[Wanted], cursors: Any) -> tuple[Hits, int]:
    ids, reach, hits = probe_arrays(wanted)
    found, pairs = sweep(ids, reach, run.directory, run.lead, cursors, hits)
    return triples(hits, found), pairs


def searched(run: Sorted, wanted: Sequence[Wanted]) -> tuple[Hits, int]:
    ids, reach, hits = probe_arrays(wanted)
    found, pairs = search(ids, reach, run.directory, run.lead, hits)
    return triples(hits, found), pairs


def cursors_of(run: Sorted, place: Callable[[int, int], int]) -> Any:
    """Return two cursors a key, each placed within its key."""
    bounds = [run.bounds(id_) for id_ in run.keys]
    return words([place(first, last) for first, last in bounds for _ in range(2)])


def total(hits: Hits) -> int:
    return sum(count for _, _, count in hits)


@given(ROWS, WANTED, st.lists(INT64, min_size=1, max_size=8))
def test_search_finds_what_two_loops_find(rows: list[Row], wanted: list[Wanted], behind: list[int]) -> None:
    run = run_of(rows, behind)
    expected = brute(run, wanted)
    assert searched(run, wanted) == (expected, total(expected))


@given(ROWS, WANTED, st.lists(INT64, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_sweep_finds_what_two_loops_find_from_any_cursors(
    rows: list[Row], wanted: list[Wanted], behind: list[int], random: Any
) -> None:
    run = run_of(rows, behind)
    expected = brute(run, wanted)
    cursors = cursors_of(run, random.randint)
    assert swept(run, wanted, cursors) == (expected, total(expected))
    for slot, id_ in enumerate(run.keys):
        first, last = run.bounds(id_)
        assert first <= cursors[2 * slot] <= last
        assert first <= cursors[2 * slot + 1] <= last
    again = swept(run, wanted[::-1], cursors)[0]
    assert [(len(wanted) - 1 - at, start, count) for at, start, count in again[::-1]] == expected


@given(ROWS, st.lists(st.tuples(IDS, NEAR, st.integers(0, 9)), max_size=40), st.booleans())
def test_rows_in_order_of_time_find_the_same(rows: list[Row], spans: list[Wanted], rising: bool) -> None:
    run = run_of(rows)
    spans = sorted(spans, key=lambda one: one[1], reverse=not rising)
    wanted = [(id_, low, low + width) for id_, low, width in spans]
    expected = brute(run, wanted)
    assert swept(run, wanted, cursors_of(run, lambda first, _: first))[0] == expected
    assert searched(run, wanted)[0] == expected


@given(ROWS, st.integers(-3, 1000))
def test_slot_of_is_the_keys_place_among_the_runs_keys(rows: list[Row], id_: int) -> None:
    run = run_of(rows)
    bits, ranks, _ = run.directory
    assert slot_of(bits, ranks, id_) == (run.keys.index(id_) if id_ in run.keys else -1)


@given(st.lists(INT64, min_size=1, max_size=60), INT64, st.randoms(use_true_random=False))
def test_gallop_finds_the_first_not_below_and_the_first_above_from_anywhere(
    leads: list[int], bound: int, random: Any
) -> None:
    first = random.randint(0, len(leads))
    last = random.randint(first, len(leads))
    near = random.randint(first, last)
    ordered = [*leads[:first], *sorted(leads[first:last]), *leads[last:]]
    lead = followed(words(ordered), [0] * BEHIND)
    below = sum(value < bound for value in ordered[first:last])
    upto = sum(value <= bound for value in ordered[first:last])
    assert gallop(lead, bound, first, last, near) == first + below
    assert gallop_past(lead, bound, first, last, near) == first + upto


def test_a_reach_that_holds_nothing_finds_nothing_even_in_a_run_from_end_to_end_of_int64() -> None:
    low, high = ENDS[0], ENDS[-1]
    run = run_of([(0, low), (0, 0), (0, high), (1, high), (2, low)])
    wanted = [(id_, high, low) for id_ in (0, 1, 2)]
    for place in (min, max):
        assert swept(run, wanted, cursors_of(run, place)) == ([], 0)
    assert searched(run, wanted) == ([], 0)


ORDERS: dict[str, Callable[[Any], Any]] = {
    "rising": np.sort,
    "falling": lambda at: np.sort(at)[::-1].copy(),
    "nearly rising": lambda at: np.sort(at) + np.random.default_rng(1).integers(0, 50, at.size),
    "anyhow": lambda at: at,
}


@pytest.mark.parametrize("order", ORDERS)
@tries(25)
@given(seed=SEEDS, keys=st.sampled_from([1, 7, 64, 500]), width=st.sampled_from([0, 3, 100, 10**6]))
def test_long_runs_are_probed_as_numpy_searches_them(order: str, seed: int, keys: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 4000))
    lead = random.integers(0, rows, rows)
    run = run_of([])
    ids = np.sort(random.integers(0, keys, rows))
    lead = lead[np.lexsort((lead, ids))]
    there, starts = np.unique(ids, return_index=True)
    bits = np.zeros((keys + 63) // 64, np.uint64)
    np.bitwise_or.at(bits, there // 64, np.uint64(1) << (there % 64).astype(np.uint64))
    ranks = np.array([np.count_nonzero(there < 64 * at) for at in range(bits.size)], np.int32)
    offsets = np.append(starts, rows).astype(np.int64)
    run = Sorted(
        [], [], (bits, ranks, offsets), (followed(lead, [0] * BEHIND), int(lead.min()), int(lead.max()))
    )
    at = ORDERS[order](random.integers(-5, rows + 5, 3000))
    asked = random.integers(-1, keys + 70, at.size)
    wanted = list(zip(asked.tolist(), (at - width).tolist(), (at + width).tolist(), strict=True))
    expected = []
    for row, (id_, low, high) in enumerate(wanted):
        slot = int(np.searchsorted(there, id_))
        if slot < there.size and there[slot] == id_:
            first, own = int(offsets[slot]), lead[offsets[slot] : offsets[slot + 1]]
            start, end = (int(np.searchsorted(own, low)), int(np.searchsorted(own, high, "right")))
            expected += [(row, first + start, end - start)] if end > start else []
    assert swept(run, wanted, np.repeat(offsets[:-1], 2)) == (expected, total(expected))
    assert searched(run, wanted) == (expected, total(expected))

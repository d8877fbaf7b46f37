"""Order: the rows with a key, by key, then by lead, ties by position."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import INT64, SEEDS, words
from weft.kernels.order import group, living, mark, members, rank, settle

IDS = st.one_of(st.integers(-3, 4), st.integers(-1, 300))
ROWS = st.lists(st.tuples(IDS, INT64), max_size=90)
Rows = list[tuple[int, int]]


def arrays(rows: Rows) -> tuple[Any, Any, int]:
    """Return the ids and the leads of rows, and how many keys are in use."""
    ids = [id_ for id_, _ in rows]
    return words(ids, np.int32), words([lead for _, lead in rows]), max([0, *ids]) + 1


def directory(ids: Any, keys: int) -> tuple[Any, Any, Any, int]:
    """Return bits, ranks and offsets (all zero) of a batch, and how many rows have a key."""
    bits = np.zeros((keys + 63) // 64, np.uint64)
    ranks = np.full(bits.size, -7, np.int32)
    kept = mark(ids, bits)
    return bits, ranks, np.zeros(rank(bits, ranks) + 1, np.int64), kept


def grouped(rows: Rows) -> tuple[Any, Any, Any]:
    """Return leads, offsets and order of the rows, grouped by key."""
    ids, lead, keys = arrays(rows)
    bits, ranks, offsets, kept = directory(ids, keys)
    order = np.full(kept, -7, np.int64)
    group(ids, bits, ranks, offsets, order)
    return lead, offsets, order


def inversions(leads: list[int]) -> int:
    """Count the moves of an insertion sort by two loops."""
    return sum(one > two for at, two in enumerate(leads) for one in leads[:at])


@given(ROWS, INT64)
def test_living_counts_the_rows_with_a_key_that_are_not_below_the_horizon(rows: Rows, horizon: int) -> None:
    ids, lead, _ = arrays(rows)
    assert living(ids, lead, horizon) == sum(id_ >= 0 and at >= horizon for id_, at in rows)


@given(ROWS)
def test_the_directory_has_a_bit_a_key_the_keys_before_each_word_and_the_keys(rows: Rows) -> None:
    ids, _, keys = arrays(rows)
    bits, ranks, offsets, kept = directory(ids, keys)
    there = sorted({id_ for id_, _ in rows if id_ >= 0})
    assert kept == sum(id_ >= 0 for id_, _ in rows)
    assert [
        64 * at + bit for at, word in enumerate(bits.tolist()) for bit in range(64) if word >> bit & 1
    ] == (there)
    assert ranks.tolist() == [sum(id_ < 64 * at for id_ in there) for at in range(bits.size)]
    found = np.full(offsets.size - 1, -7, np.int32)
    members(bits, found)
    assert found.tolist() == there


@given(ROWS)
def test_group_is_a_stable_sort_by_key_of_the_rows_that_have_one(rows: Rows) -> None:
    _, offsets, order = grouped(rows)
    there = sorted({id_ for id_, _ in rows if id_ >= 0})
    slots = [[at for at, (id_, _) in enumerate(rows) if id_ == key] for key in there]
    assert order.tolist() == [at for slot in slots for at in slot]
    assert offsets.tolist() == [0, *np.cumsum([len(slot) for slot in slots], dtype=int)]


@given(ROWS)
def test_settle_sorts_each_key_by_lead_ties_by_position(rows: Rows) -> None:
    lead, offsets, order = grouped(rows)
    sorted_lead = np.empty(order.size, np.int64)
    assert settle(lead, offsets, order, sorted_lead, 10**9)
    expected = sorted((id_, at, row) for row, (id_, at) in enumerate(rows) if id_ >= 0)
    assert order.tolist() == [row for _, _, row in expected]
    assert sorted_lead.tolist() == [at for _, at, _ in expected]


@given(ROWS, st.integers(-3, 3))
def test_settle_gives_up_exactly_when_it_takes_more_moves_than_the_budget(rows: Rows, spare: int) -> None:
    lead, offsets, order = grouped(rows)
    cuts = itertools.pairwise(offsets)
    moves = sum(inversions(lead[order[first:last]].tolist()) for first, last in cuts)
    done = settle(lead, offsets, order, np.empty(order.size, np.int64), moves + spare)
    assert done == (spare >= 0 or not order.size)


def test_settle_gives_up_before_it_moves_anything_where_there_is_no_budget() -> None:
    lead, offsets, order = grouped([(0, 1), (0, 2)])
    assert not settle(lead, offsets, order, np.empty(2, np.int64), -1)


@given(SEEDS, st.sampled_from([1, 63, 64, 65, 1000, 20_000]), st.sampled_from([0, 3, 10**6]))
def test_many_rows_and_keys_are_ordered_as_numpy_orders_them(seed: int, keys: int, disorder: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 6000))
    ids = random.integers(-1, keys, size).astype(np.int32)
    lead = np.arange(size) + random.integers(0, disorder + 1, size)
    bits, ranks, offsets, kept = directory(ids, keys)
    order, sorted_lead = np.empty(kept, np.int64), np.empty(kept, np.int64)
    group(ids, bits, ranks, offsets, order)
    assert settle(lead, offsets, order, sorted_lead, 10**9)
    expected = np.lexsort((lead, ids))[np.count_nonzero(ids < 0) :]
    assert (order == expected).all()
    assert (sorted_lead == lead[expected]).all()


@pytest.mark.parametrize("keys", [1, 200])
def test_a_reversed_batch_blows_the_budget_at_once(keys: int) -> None:
    rows = 200_000
    ids = (np.arange(rows) % keys).astype(np.int32)
    lead = np.arange(rows)[::-1].copy()
    bits, ranks, offsets, kept = directory(ids, keys)
    order, sorted_lead = np.empty(kept, np.int64), np.empty(kept, np.int64)
    group(ids, bits, ranks, offsets, order)
    settle(lead[:1], np.array([0, 1]), np.zeros(1, np.int64), np.empty(1, np.int64), 1)  # compiled by now
    start = time.perf_counter()
    assert not settle(lead, offsets, order, sorted_lead, 8 * rows)
    assert time.perf_counter() - start < 1  # all moves: 10 s

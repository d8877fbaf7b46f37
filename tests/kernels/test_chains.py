"""Chains: each key's rows from the newest to the oldest, walked only as far as something is new enough."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import INT64, NEAR, triples, words
from weft.kernels.chains import follow, link, retract, unlink

KEYS = 6
ROWS = st.lists(st.tuples(st.integers(-2, KEYS - 1), st.one_of(NEAR, NEAR, INT64)), max_size=50)
WANTED = st.lists(st.tuples(st.integers(-2, KEYS + 3), INT64, INT64), max_size=20)
Rows = list[tuple[int, int]]
Chains = tuple[Any, Any, Any, Any]


def linked(rows: Rows, cuts: list[int]) -> tuple[Any, Chains]:
    """Return ids and chains (heads, lead, behind, rest) of rows that came in several batches."""
    ids, lead = words([id_ for id_, _ in rows], np.int32), words([at for _, at in rows])
    heads, behind = np.full(KEYS, -1, np.int32), np.full(len(rows), -9, np.int32)
    rest = np.full(len(rows), -9, np.int64)
    bounds = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    for first, last in itertools.pairwise(bounds):
        link(ids[:last], lead, first, heads, (behind, rest))
    return ids, (heads, lead, behind, rest)


def chain(chains: Chains, id_: int) -> list[int]:
    """Return the rows of a key's chain."""
    heads, _, behind, _ = chains
    row, seen = int(heads[id_]), []
    while row >= 0:
        seen.append(row)
        row = int(behind[row])
    return seen


def newest_first(rows: Rows, id_: int) -> list[int]:
    return [row for row, (own, _) in enumerate(rows) if own == id_][::-1]


def assert_chained(rows: Rows, chains: Chains) -> None:
    for id_ in range(KEYS):
        own = newest_first(rows, id_)
        assert chain(chains, id_) == own
        for at, row in enumerate(own):
            assert chains[3][row] == max(rows[older][1] for older in own[at:])


@given(ROWS, st.lists(st.integers(0, 100), max_size=4))
def test_link_chains_each_keys_rows_in_any_cuts(rows: Rows, cuts: list[int]) -> None:
    assert_chained(rows, linked(rows, cuts)[1])


@given(ROWS, st.integers(0, 100))
def test_retract_takes_the_last_rows_off(rows: Rows, cut: int) -> None:
    ids, chains = linked(rows, [])
    kept = cut % (len(rows) + 1)
    retract(ids, kept, chains[0], chains[2])
    assert_chained(rows[:kept], chains)
    link(ids, chains[1], kept, chains[0], (chains[2], chains[3]))
    assert_chained(rows, chains)


@given(ROWS)
def test_unlink_empties_every_chain(rows: Rows) -> None:
    ids, chains = linked(rows, [])
    unlink(ids, chains[0])
    assert (chains[0] == -1).all()


@given(ROWS, WANTED, st.integers(0, 60))
def test_follow_meets_what_two_loops_meet_and_counts_what_has_no_room(
    rows: Rows, wanted: list[tuple[int, int, int]], room: int
) -> None:
    _, chains = linked(rows, [])
    met = [
        [row for row in newest_first(rows, id_) if low <= rows[row][1] <= high] if id_ >= 0 else []
        for id_, low, high in wanted
    ]
    flat = [row for one in met for row in one]
    hits, out = np.full(3 * len(wanted), -7, np.int64), np.full(room + 4, -7, np.int64)
    reach = words([bound for _, low, high in wanted for bound in (low, high)])
    ids = words([id_ for id_, _, _ in wanted], np.int32)
    found, pairs = follow(ids, reach, chains, hits, out[:room])
    starts = np.cumsum([0, *map(len, met)]).tolist()
    assert triples(hits, found) == [(at, starts[at], len(one)) for at, one in enumerate(met) if one]
    assert pairs == len(flat)
    assert out[: min(room, pairs)].tolist() == flat[:room]
    assert (out[min(room, pairs) :] == -7).all()


def test_a_walk_ends_where_nothing_behind_is_new_enough() -> None:
    rows = 100_000
    lead = np.arange(rows)
    heads, behind = np.full(1, -1, np.int32), np.empty(rows, np.int32)
    rest = np.empty(rows, np.int64)
    link(np.zeros(rows, np.int32), lead, 0, heads, (behind, rest))
    behind[: rows - 20] = rows - 1  # a walk that goes on meets the newest row again, for ever
    hits, out = np.empty(3, np.int64), np.empty(100, np.int64)
    chains = (heads, lead, behind, rest)
    assert follow(words([0], np.int32), words([rows - 10, rows]), chains, hits, out) == (1, 10)

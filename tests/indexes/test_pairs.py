"""Pairs: cut in two halves that hold the same pairs, in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.indexes.pairs import Pairs, halved, row_numbers

HITS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20), st.integers(1, 12)), min_size=1, max_size=12)


def pairs_of(hits: list[tuple[int, int, int]], order: Any = None) -> Pairs:
    count = sum(count for _, _, count in hits)
    return Pairs(np.array(hits, np.int64).ravel(), count, "left", (), (), order)


def numbers(pairs: list[Pairs]) -> list[tuple[int, int]]:
    return [(int(row), int(place)) for one in pairs for row, place in zip(*row_numbers(one), strict=True)]


@given(HITS, st.booleans())
def test_row_numbers_are_those_of_every_pair(hits: list[tuple[int, int, int]], ordered: bool) -> None:
    order = np.random.default_rng(0).permutation(40) if ordered else None
    expected = [(row, start + k) for row, start, count in hits for k in range(count)]
    if order is not None:
        expected = [(row, int(order[place])) for row, place in expected]
    pairs = pairs_of(hits, order)
    assert numbers([pairs]) == expected
    assert row_numbers(pairs)[0] is row_numbers(pairs)[0]


@given(st.lists(HITS, min_size=1, max_size=4))
def test_halves_hold_the_same_pairs_in_the_same_order(parts: list[list[tuple[int, int, int]]]) -> None:
    pairs = [pairs_of(hits) for hits in parts]
    before = numbers(pairs)
    first, second = halved(pairs)
    assert numbers(first) + numbers(second) == before
    assert sum(one.count for one in [*first, *second]) == len(before)
    assert len(parts) > 1 or len(before) < 2 or abs(first[0].count - second[0].count) <= 1


@given(HITS)
def test_halving_again_and_again_ends_with_single_pairs(hits: list[tuple[int, int, int]]) -> None:
    waiting, single = [[pairs_of(hits)]], []
    while waiting:
        one = waiting.pop()
        if sum(part.count for part in one) == 1:
            single += numbers(one)
        else:
            waiting += [half for half in halved(one) if sum(part.count for part in half)]
    assert sorted(single) == sorted(numbers([pairs_of(hits)]))

"""Reach: the times of the other side that a row may meet, exact at the ends of int64, between any units."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kernels.memory import ENDS, HIGH, INT64, LOW, words
from weft.edge.clocks import Axis
from weft.kernels.reach import fits, plus
from weft.operators.interval import reach

DAY = 86_400
UNITS = ((1, 1), (1000, 1), (1, 1000), (10**9, 1), (1, 10**9), (DAY, 1), (1, DAY * 10**9), (DAY * 10**9, 1))
BOUNDS = st.one_of(st.integers(-50, 50), INT64, st.integers(-(2**65), 2**65), st.integers(-(10**30), 10**30))
EMPTY = (1, 0)


def exact(time: int, lower: int, upper: int, units: tuple[int, int]) -> tuple[int, int]:
    """Return the int64 times t of the other side with lower <= t * theirs - time * own <= upper."""
    own, theirs = units
    first = max(LOW, math.ceil(Fraction(time * own + lower, theirs)))
    last = min(HIGH, math.floor(Fraction(time * own + upper, theirs)))
    return (first, last) if first <= last else EMPTY


def got(times: list[int], lower: int, upper: int, units: tuple[int, int]) -> list[tuple[int, int]]:
    """Return what the engine makes of it, seen from the left; from the right it must be the same."""
    own, theirs = units
    from_left = reach(Axis(own, theirs, lower, upper), "left", words(times))
    from_right = reach(Axis(theirs, own, -upper, -lower), "right", words(times))
    assert (from_left == from_right).all()
    return [(first, last) if first <= last else EMPTY for first, last in from_left.reshape(-1, 2).tolist()]


def ordered(one: int, two: int) -> tuple[int, int]:
    return min(one, two), max(one, two)


@given(st.lists(INT64, max_size=20), BOUNDS, BOUNDS, st.sampled_from(UNITS))
def test_reach_is_exact_for_any_times_bounds_and_units(
    times: list[int], one: int, two: int, units: tuple[int, int]
) -> None:
    bounds = ordered(one, two)
    assert got(times, *bounds, units) == [exact(time, *bounds, units) for time in times]


@given(
    st.lists(INT64, min_size=1, max_size=4),
    st.lists(st.sampled_from(ENDS), min_size=2, max_size=2),
    st.lists(st.integers(-3, 3), min_size=2, max_size=2),
    st.lists(st.sampled_from((0, 1, -1, 7, -7)), min_size=2, max_size=2),
    st.sampled_from(UNITS),
)
def test_reach_is_exact_where_a_bound_comes_to_lie_beside_an_end_of_int64(
    times: list[int], ends: list[int], off: list[int], rest: list[int], units: tuple[int, int]
) -> None:
    own, theirs = units
    aimed = [
        (end + ticks) * theirs - times[0] * own + fine
        for end, ticks, fine in zip(ends, off, rest, strict=True)
    ]
    bounds = ordered(*aimed)
    assert got(times, *bounds, units) == [exact(time, *bounds, units) for time in times]


def beside(end: int, time: int, units: tuple[int, int]) -> list[int]:
    """Return bounds that take a time to within two ticks of an end, and by how little they may miss it."""
    own, theirs = units
    fine = sorted({0, 1, own - 1, own, theirs - 1, theirs, theirs + 1})
    steps = {sign * (ticks * theirs + more) for ticks in (0, 1, 2) for more in fine for sign in (1, -1)}
    return [end * theirs - time * own + step for step in sorted(steps)]


@pytest.mark.parametrize("units", [(1, 1), (1, 10), (1, 1000), (1, 10**9), (10, 1), (1000, 1), (10**9, 1)])
@pytest.mark.parametrize("end", [LOW, HIGH])
def test_every_bound_within_two_ticks_of_an_end_is_exact(units: tuple[int, int], end: int) -> None:
    wrong = []
    for time in (*ENDS, 9, 999):
        for bound in beside(end, time, units):
            for bounds in ((bound, bound), (bound, 10**30), (-(10**30), bound)):
                found, told = got([time], *bounds, units)[0], exact(time, *bounds, units)
                if found != told:
                    wrong.append((time, *bounds, found, told))
    assert wrong == []


@given(st.lists(INT64, max_size=20), INT64, INT64)
@example([HIGH], 0, 0)
@example([LOW], 0, 0)
@example([], LOW, HIGH)
def test_fits_writes_exact_reaches_or_says_that_some_come_to_an_end(
    times: list[int], one: int, two: int
) -> None:
    low, high = ordered(one, two)
    out = np.full(2 * len(times), -7, np.int64)
    # It looks at 0 too, so that no time is needed to begin with.
    ends = [time + bound for time in (*times, 0) for bound in (low, high)]
    inside = all(LOW < end < HIGH for end in ends)
    assert fits(words(times), low, high, out) == inside
    if inside:
        assert out.tolist() == [time + bound for time in times for bound in (low, high)]


@given(INT64, INT64)
def test_plus_stops_at_the_ends(value: int, step: int) -> None:
    assert plus(value, step) == max(LOW, min(HIGH, value + step))


@given(st.lists(INT64, max_size=6), st.sampled_from(UNITS), st.integers(1, 10**30))
def test_bounds_the_wrong_way_round_reach_nothing(times: list[int], units: tuple[int, int], gap: int) -> None:
    for middle in (0, LOW * units[1], HIGH * units[1]):
        seen: Any = got(times, middle, middle - gap, units)
        assert seen == [EMPTY] * len(times)

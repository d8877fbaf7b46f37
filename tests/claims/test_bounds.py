"""Rows with equal keys match when `lower <= right.time - left.time <= upper`; `closed` says which ends do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import weft
from tests.support.cases import assert_joined
from tests.support.drawing import drawn, pairs
from tests.support.oracle import Closed
from tests.support.rows import pairs_of
from tests.support.runtimes import Runtime, joined

SECOND = 10**9

LADDER = drawn("""
    side  | id  | key | ts
    left  | l   | 1   | 100
    right | r95 | 1   | 95
    right | r96 | 1   | 96
    right | r97 | 1   | 97
    right | r03 | 1   | 103
    right | r04 | 1   | 104
    right | r05 | 1   | 105
""")


@pytest.mark.parametrize(
    ("closed", "expected"),
    [
        ("both", "l r96, l r97, l r03, l r04"),
        ("left", "l r96, l r97, l r03"),
        ("right", "l r97, l r03, l r04"),
        ("none", "l r97, l r03"),
    ],
)
def test_rows_exactly_at_the_bounds_match_as_closed_says(
    runtime: Runtime, closed: Closed, expected: str
) -> None:
    assert joined(runtime, LADDER.case(-4, 4, closed=closed)) == pairs(expected)


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (-5, -4, "l r95, l r96"),  # wholly in the past
        (4, 5, "l r04, l r05"),  # wholly ahead
        (-4, -4, "l r96"),
        (5, 5, "l r05"),
        (0, 0, ""),
        (6, 100, ""),
        (-(2**63), 2**63 - 1, "l r95, l r96, l r97, l r03, l r04, l r05"),
        (-(10**30), -4, "l r95, l r96"),
        (4, 10**30, "l r04, l r05"),
        (10**30, 10**31, ""),
        (-(10**31), -(10**30), ""),
    ],
)
def test_bounds_may_lie_anywhere(runtime: Runtime, lower: int, upper: int, expected: str) -> None:
    assert joined(runtime, LADDER.case(lower, upper)) == pairs(expected)


@pytest.mark.parametrize("closed", ["left", "right", "none"])
def test_equal_bounds_that_are_not_both_closed_hold_nothing(runtime: Runtime, closed: Closed) -> None:
    assert joined(runtime, LADDER.case(4, 4, closed=closed)) == pairs("")


def test_rows_of_the_same_time_match_at_zero(runtime: Runtime) -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 7
        left  | l2 | 1   | 7
        right | r1 | 1   | 7
        right | r2 | 1   | 7
    """)
    assert joined(runtime, told.case(0, 0)) == pairs("l1 r1, l1 r2, l2 r1, l2 r2")


@pytest.mark.parametrize("closed", ["both", "left", "right", "none"])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (SECOND // 2, SECOND * 3 // 2),
        (SECOND, 2 * SECOND),
        (SECOND - 1, 2 * SECOND + 1),
        (SECOND + 1, 2 * SECOND - 1),
        (-1, 1),
        (1, 2),
        (-2 * SECOND - 1, -SECOND),
        (-SECOND * 3 // 2, -1),
    ],
)
def test_bounds_finer_than_a_tick_are_exact(runtime: Runtime, lower: int, upper: int, closed: Closed) -> None:
    told = drawn(
        """
        side  | id | key | ts
        left  | l  | 1   | 10
        right | r1 | 1   | 8
        right | r2 | 1   | 9
        right | r3 | 1   | 10
        right | r4 | 1   | 11
        right | r5 | 1   | 12
        right | r6 | 1   | 13
        """,
        {"ts": pa.timestamp("s")},
    )
    case = told.case(lower, upper, closed=closed)
    expected = pairs(", ".join(f"l {row['id_right']}" for row in case.expected()))
    assert joined(runtime, case, tries=3) == expected


@pytest.mark.parametrize(
    "upper",
    [
        "2 seconds",
        "2s",
        "2000 ms",
        "2000000 us",
        timedelta(seconds=2),
        np.timedelta64(2, "s"),
        np.timedelta64(2000, "ms"),
    ],
)
def test_a_bound_means_the_same_however_it_is_spelled(runtime: Runtime, upper: Any) -> None:
    told = drawn(
        """
        side  | id | key | ts
        left  | l  | 1   | 10
        right | r1 | 1   | 12
        right | r2 | 1   | 13
        """,
        {"ts": pa.timestamp("s")},
    )
    assert joined(runtime, told.case(0, 2 * SECOND, spelled={"upper": upper}), tries=2) == pairs("l r1")


def test_swapping_the_sides_and_mirroring_the_bounds_gives_the_same_pairs(runtime: Runtime) -> None:
    case = LADDER.case(-5, 4, closed="left")
    turned = joined(runtime, case.mirrored())
    assert joined(runtime, case) == {(left, right): count for (right, left), count in turned.items()}


def test_batch_results_come_by_left_position_then_right_time() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 2   | 10
        left  | l2 | 1   | 11
        left  | l3 | 2   | 9
        right | r1 | 2   | 12
        right | r2 | 1   | 10
        right | r3 | 2   | 8
        right | r4 | 1   | 9
        right | r5 | 2   | 10
    """)
    case = told.case(-5, 5)
    result = weft.interval_join(told.left.table(), told.right.table(), **case.arguments())
    expected = [(row["id"], row["id_right"]) for row in case.expected()]
    assert list(pairs_of(result)) == expected
    assert result["ts_right"].to_pylist() == [8, 10, 12, 9, 10, 8, 10, 12]
    assert_joined(case, result)

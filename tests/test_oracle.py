"""The oracle against a second one that shares nothing with it: DuckDB, told the same join in SQL."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given

from tests.support.cases import Case
from tests.support.drawing import drawn, pairs
from tests.support.duck import duck_pairs
from tests.support.feeds import draw_feed, lateness_needed
from tests.support.oracle import Condition
from tests.support.players import Settings, foresee
from tests.support.streams import cases, draw_case
from tests.support.watermark import watermark_of


def naive_pairs(case: Case) -> Counter[tuple[int, int]]:
    left, right = case.left.rows(), case.right.rows()
    condition = case.condition()
    return Counter((one["id"], two["id"]) for one in left for two in right if condition.holds(one, two))


def plain(case: Case) -> bool:
    """Say whether DuckDB compares the keys of a case as exactly as Python does."""
    sides = (case.left, case.right)
    kinds = [side.columns[name].kind for pair in case.on for side, name in zip(sides, pair, strict=True)]
    types = pa.types
    return not any(
        types.is_decimal(one) or types.is_timestamp(one) or types.is_dictionary(one) for one in kinds
    )


@given(case=cases())
def test_two_loops_and_sql_agree(case: Case) -> None:
    if plain(case):
        assert naive_pairs(case) == duck_pairs(case)


def test_most_drawn_cases_have_pairs_and_many_are_told_to_both_oracles() -> None:
    drawn_cases = [draw_case(Random(seed), 12) for seed in range(300)]
    assert sum(1 for case in drawn_cases if naive_pairs(case)) > 100
    assert sum(1 for case in drawn_cases if plain(case) and naive_pairs(case)) > 40


@pytest.mark.parametrize(
    ("closed", "inside"), [("both", [1, 2, 3]), ("left", [1, 2]), ("right", [2, 3]), ("none", [2])]
)
def test_closed_says_which_bounds_belong_to_the_interval(closed: str, inside: list[int]) -> None:
    condition = Condition((), "ts", "ts", 1, 3, closed)  # type: ignore[arg-type]
    assert [distance for distance in range(6) if condition.within(distance)] == inside


def test_a_drawing_says_what_it_shows() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | a   | 10
        right | r1 | a   | .
        ---------------------
        right | r2 | a   | 12
    """)
    assert told.left.rows() == [{"id": "l1", "key": "a", "ts": 10}]
    assert told.right.rows() == [{"id": "r1", "key": "a", "ts": None}, {"id": "r2", "key": "a", "ts": 12}]
    assert [(push.left, push.right) for push in told.pushes] == [((0,), (0,)), (None, (1,))]
    assert pairs("l1 r2, l1 r2") == Counter({("l1", "r2"): 2})


def test_the_watermark_is_the_least_share_of_the_unfinished_inputs_and_never_falls() -> None:
    watermark = watermark_of((1, 2), (None, 5), (1, 1))
    watermark.see("left", 0, [10])
    watermark.settle()
    assert watermark.value == 5  # the silent right side holds back by its idle
    watermark.see("right", 0, [20])
    watermark.settle()
    assert watermark.value == 9
    watermark.finish("left", None)
    watermark.settle()
    assert watermark.value == 18
    assert watermark.is_late(Fraction(35, 2))
    assert not watermark.is_late(18)


@given(case=cases(rows=6))
def test_the_lateness_needed_is_enough_and_one_less_is_not(case: Case) -> None:
    random = Random(len(case.left) * 7 + case.lower)
    feed = draw_feed(random, case)
    needed = lateness_needed(case, feed)
    assert foresee(case, feed, Settings(needed)).late == {"left": [], "right": []}

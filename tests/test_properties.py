"""What everything rests on, for random streams: equal rows for every order, cut, layout and restart."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import weft
from tests.support import properties
from tests.support.cases import Case
from tests.support.duck import duck_pairs
from tests.support.feeds import Advance, Push
from tests.support.long_streams import long_case
from tests.support.players import Settings, player
from tests.support.rows import pairs_of
from tests.support.runtimes import Runtime
from tests.support.streams import cases, draw_case

chance = st.randoms(use_true_random=False)
EXAMPLES = settings().max_examples  # of the profile that conftest chose
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


def try_on(runtime: Runtime, claim: Callable[[Case, Random], None], examples: int) -> None:
    """Try a claim on drawn cases: a few, and what fails as it is, where each takes a second."""
    chosen = settings(max_examples=examples) if runtime.cheap else settings(max_examples=6, phases=UNSHRUNK)
    chosen(given(case=cases(), random=chance)(claim))()


def test_every_runtime_gives_the_oracles_rows(runtime: Runtime) -> None:
    def claim(case: Case, random: Random) -> None:
        properties.rows_equal_the_oracles(runtime, runtime.fitting(case), random)

    try_on(runtime, claim, 2 * EXAMPLES)


@pytest.mark.parametrize("seed", range(12))
def test_hundreds_of_rows_of_any_shape_give_the_oracles_rows(runtime: Runtime, seed: int) -> None:
    case = runtime.fitting(draw_case(Random(seed), 150))
    properties.rows_equal_the_oracles(runtime, case, Random(seed))


@given(case=cases(), random=chance)
def test_every_order_within_the_lateness_and_every_cut_gives_the_same(case: Case, random: Random) -> None:
    properties.order_and_cuts_do_not_matter(case, random)


@given(random=chance)
def test_rows_meet_the_last_partner_the_watermark_allows(random: Random) -> None:
    properties.partners_at_the_edge_of_reach_are_met(random)


def test_swapped_sides_with_mirrored_bounds_give_the_same(runtime: Runtime) -> None:
    def claim(case: Case, random: Random) -> None:
        properties.sides_can_be_swapped(runtime, runtime.fitting(case), random)

    try_on(runtime, claim, EXAMPLES)


@given(case=cases(), random=chance)
def test_batch_results_come_by_left_position_then_right_time(case: Case, random: Random) -> None:
    properties.batches_come_in_order(case, random)


@given(case=cases(), random=chance)
@settings(max_examples=3 * EXAMPLES)
def test_late_rows_are_those_the_model_says(case: Case, random: Random) -> None:
    properties.the_model_says_which_rows_are_late(case, random)


@given(case=cases(), random=chance)
def test_fail_refuses_exactly_the_pushes_with_a_late_row(case: Case, random: Random) -> None:
    properties.fail_refuses_whole_pushes(case, random)


@given(case=cases(rows=6), random=chance)
def test_the_watermark_is_the_models_after_every_event(case: Case, random: Random) -> None:
    properties.the_watermark_is_the_models(case, random)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(8192,), (1000, 3000), (1, 7, 60, 500, 4000)], ids=str)
def test_thousands_of_rows_give_the_pairs_duckdb_gives(seed: int, sizes: tuple[int, ...]) -> None:
    random = Random(f"{seed} {sizes}")
    properties.long_streams_give_duckdbs_pairs(long_case(random, 12_000), random, sizes)


@pytest.mark.parametrize("seed", range(4))
def test_whole_tables_of_thousands_of_rows_give_the_pairs_duckdb_gives(seed: int) -> None:
    case = long_case(Random(seed), 12_000)
    result = weft.interval_join(case.left.table(), case.right.table(), **case.arguments())
    assert pairs_of(result) == duck_pairs(case)


def test_a_promise_far_ahead_ends_everything_held() -> None:
    case, every = long_case(Random(0), 2000), tuple(range(2000))
    stage = player(case, Settings((10**15, 10**15)), Random(0))
    far = 4 * 10**18 if case.clocked else 2**62
    stage.play([Push(every, every), Advance(far), Push((), ())])
    assert stage.op.metrics.rows == {"left": 0, "right": 0}

"""Shards together are one join: whatever their number, the cuts, the failures, the workers, the restarts."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from tests.kernels.memory import SEEDS, tries
from tests.support import shard_claims
from tests.support.cases import Case
from tests.support.long_streams import long_case
from tests.support.sharded import travelling
from tests.support.streams import cases, draw_case

drawn = cases().map(travelling)
chance = SEEDS.map(Random)  # of everything but the case: too many choices for Hypothesis to shrink


@given(case=drawn, random=chance)
@tries(40)
def test_shards_give_the_oracles_rows(case: Case, random: Random) -> None:
    shard_claims.shards_give_the_oracles_rows(case, random)


@pytest.mark.parametrize("seed", range(2))
def test_hundreds_of_rows_of_any_shape_give_the_oracles_rows(seed: int) -> None:
    shard_claims.shards_give_the_oracles_rows(travelling(draw_case(Random(seed), 100)), Random(seed))


@given(case=cases(rows=1), random=chance)
@tries(25)
def test_rows_meet_the_last_partner_the_watermark_allows(case: Case, random: Random) -> None:
    shard_claims.partners_at_the_edge_of_reach_are_met(case, random)


@given(case=drawn, random=chance)
@tries(30)
def test_late_rows_are_those_the_model_says(case: Case, random: Random) -> None:
    shard_claims.the_model_says_which_rows_are_late(case, random)


@given(case=drawn, random=chance)
@tries(20)
def test_every_batch_gives_what_one_process_gives(case: Case, random: Random) -> None:
    shard_claims.one_process_tells_the_same(case, random)


@given(case=drawn, random=chance)
@tries(25)
def test_fail_stops_at_exactly_the_batches_with_a_late_row(case: Case, random: Random) -> None:
    shard_claims.fail_refuses_whole_batches(case, random)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sizes", [(8192,), (1, 60, 500, 4000)], ids=str)
def test_thousands_of_rows_give_the_pairs_duckdb_gives(seed: int, sizes: tuple[int, ...]) -> None:
    random = Random(f"{seed} {sizes}")
    shard_claims.long_streams_give_duckdbs_pairs(long_case(random, 6000), random, sizes)

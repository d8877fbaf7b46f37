"""What Spark calls for a shard and batch keeps the claims of a shard: with residents, images, failures."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given

from tests.kernels.memory import SEEDS, tries
from tests.support import shard_claims
from tests.support.cases import Case
from tests.support.spark_types import snapped
from tests.support.streams import cases
from tests.support.turns import Turns

chance = SEEDS.map(Random)


@pytest.fixture(scope="module", autouse=True)
def turns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the claims be of turns, in an executor with a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Turns, "folder", tmp_path_factory.mktemp("images"), raising=False)
        patch.setattr("tests.support.shard_claims.Cluster", Turns)
        yield


@given(case=cases(), random=chance)
@tries(20)
def test_turns_give_the_oracles_rows(case: Case, random: Random) -> None:
    shard_claims.shards_give_the_oracles_rows(snapped(case), random)


@given(case=cases(), random=chance)
@tries(20)
def test_late_rows_are_those_the_model_says(case: Case, random: Random) -> None:
    shard_claims.the_model_says_which_rows_are_late(snapped(case), random)


@given(case=cases(), random=chance)
@tries(15)
def test_fail_stops_at_exactly_the_batches_with_a_late_row(case: Case, random: Random) -> None:
    shard_claims.fail_refuses_whole_batches(snapped(case), random)

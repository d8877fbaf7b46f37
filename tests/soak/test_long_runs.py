"""The properties over seed after seed, for as long as WEFT_SOAK says: minutes by default, a night if asked.

A failure names its property, its seed and its size; `WEFT_SEED=<seed>` begins there again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from random import Random

import pytest

from tests.support.long_streams import long_case
from tests.support.properties import (
    PROPERTIES,
    Property,
    long_streams_give_duckdbs_pairs,
    sides_can_be_swapped,
)
from tests.support.runtimes import Runtime
from tests.support.streams import draw_case

pytestmark = [pytest.mark.soak, pytest.mark.timeout(0)]
SECONDS = float(os.environ.get("WEFT_SOAK_SECONDS", "60"))


def for_a_while(seed: int, one: Callable[[int], None]) -> None:
    """Call with seed after seed until the time is up; a failure carries its seed."""
    end, at = time.monotonic() + SECONDS, seed
    while time.monotonic() < end:
        try:
            one(at)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"repeat with WEFT_SEED={at}")
            raise
        at += 1
    print(f"{at - seed} seeds from {seed}")


@pytest.mark.parametrize("rows", [4, 12, 60])
@pytest.mark.parametrize("claim", PROPERTIES.values(), ids=list(PROPERTIES))
def test_a_property_holds_for_seed_after_seed(claim: Property, rows: int, seed: int) -> None:
    def one(at: int) -> None:
        random = Random(at)
        case = draw_case(random, rows)
        try:
            claim(case, random)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(repr(case) if rows <= 12 else f"{rows} rows a side")
            raise

    for_a_while(seed, one)


def test_sides_can_be_swapped_for_seed_after_seed(runtime: Runtime, seed: int) -> None:
    def one(at: int) -> None:
        sides_can_be_swapped(runtime, runtime.fitting(draw_case(Random(at), 20)), Random(at))

    for_a_while(seed, one)


@pytest.mark.parametrize("rows", [3_000, 40_000])
def test_long_streams_give_duckdbs_pairs_for_seed_after_seed(rows: int, seed: int) -> None:
    def one(at: int) -> None:
        random = Random(at)
        sizes = random.choice(((rows,), (8192, 1000), (1, 20, 300), (5000, 1), (rows // 3,)))
        long_streams_give_duckdbs_pairs(long_case(random, rows), random, sizes)

    for_a_while(seed, one)

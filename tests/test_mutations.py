"""An engine broken on purpose breaks the properties: what the suite would notice, tried.

Each mutation wraps one named function of the engine. Where a name moves, move it here too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from random import Random
from typing import Any

import pytest

from tests.support.properties import PROPERTIES, Property
from tests.support.streams import draw_case

Wrap = Callable[[Any], Any]
SEEDS = 200  # cases after which a mutation counts as unnoticed; most are noticed within ten


def one_tick_early(true: Any) -> Any:
    """Evict what the watermark is about to put out of reach."""

    def horizons(*args: Any) -> dict[str, int]:
        early: dict[str, int] = {side: at + (abs(at) < 2**62) for side, at in true(*args).items()}
        return early

    return horizons


def exclusive_upper_bound(true: Any) -> Any:
    """Leave out the rows exactly at the upper bound."""

    def axis_of(*args: Any) -> Any:
        axis = true(*args)
        return replace(axis, upper=axis.upper - 1)

    return axis_of


def mirror_without_strictness(true: Any) -> Any:
    """Close both ends, whatever `closed` says."""
    return lambda lower, upper, closed, tick: true(lower, upper, "both", tick)


def mirrored_strictness(true: Any) -> Any:
    """Open the wrong end."""
    turned = {"left": "right", "right": "left"}
    return lambda lower, upper, closed, tick: true(lower, upper, turned.get(closed, closed), tick)


def bounds_rounded_down(true: Any) -> Any:
    """Round a bound finer than a tick down on both ends."""
    return lambda lower, upper, closed, tick: true(lower // tick * tick, upper, closed, tick)


def store_everywhere(true: Any) -> Any:
    """Store a row twice, as two replicas would."""

    def insert(self: Any, *args: Any) -> None:
        true(self, *args)
        true(self, *args)

    return insert


def match_but_not_store(true: Any) -> Any:
    """Forget a row once it has been matched."""
    return lambda self, *args: None


def late_at_the_watermark(true: Any) -> Any:
    """Take a row exactly at the watermark for late."""
    return lambda watermark, tick: true(watermark, tick) + 1


def lateness_on_the_largest_of_all(true: Any) -> Any:
    """Forget that each input has a largest time of its own."""

    def stand(allowed: Any, each: Any, newest: int | None) -> Any:
        return true(allowed, each if each.largest is None else replace(each, largest=newest), newest)

    return stand


def idle_never_counts(true: Any) -> Any:
    """Let a silent input hold everything back."""
    return lambda allowed, each, newest: true(allowed, each, None)


MUTATIONS: tuple[tuple[str, Wrap], ...] = (
    ("weft.runtimes.inline:horizons", one_tick_early),
    ("weft.edge.binding:axis_of", exclusive_upper_bound),
    ("weft.edge.clocks:_ends", mirror_without_strictness),
    ("weft.edge.clocks:_ends", mirrored_strictness),
    ("weft.edge.clocks:_ends", bounds_rounded_down),
    ("weft.indexes.runs:Runs.insert", store_everywhere),
    ("weft.indexes.runs:Runs.insert", match_but_not_store),
    ("weft.runtimes.joins:threshold", late_at_the_watermark),
    ("weft.progress.watermark:_stand", lateness_on_the_largest_of_all),
    ("weft.progress.watermark:_stand", idle_never_counts),
)


@pytest.mark.parametrize(("place", "wrap"), MUTATIONS, ids=[wrap.__name__ for _, wrap in MUTATIONS])
def test_the_properties_notice(place: str, wrap: Wrap, monkeypatch: pytest.MonkeyPatch) -> None:
    module, path = place.split(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, importlib.import_module(module))
    monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    assert noticed_after() < SEEDS


def noticed_after() -> int:
    """Return the number of cases after which a property fails."""
    for seed in range(SEEDS):
        for claim in PROPERTIES.values():
            random = Random(seed)
            try:
                claim(draw_case(random, 12), random)
            except (Exception, pytest.fail.Exception):
                return seed
    return SEEDS


@pytest.mark.parametrize("claim", PROPERTIES.values(), ids=list(PROPERTIES))
def test_the_engine_as_it_is_passes(claim: Property) -> None:
    for seed in range(20):
        random = Random(seed)
        claim(draw_case(random, 12), random)

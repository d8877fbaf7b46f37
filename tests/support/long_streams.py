"""Long streams: thousands of rows with drifting times, disorder, few or many keys; DuckDB is their oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from tests.support.cases import Case, Side
from tests.support.families import Column
from tests.support.oracle import Closed
from tests.support.rows import tick_of
from tests.support.streams import CLOSED

PAIRS_A_ROW = (0.05, 0.5, 4, 30)
CLOCKS = (pa.int64(), pa.timestamp("us", "UTC"), pa.timestamp("s"), pa.int32())


@dataclass(frozen=True, slots=True)
class Recipe:
    """What both sides of a long stream have in common."""

    rows: int
    keys: int
    clock: pa.DataType
    stretch: int  # ticks that the rows lie in
    plain: bool  # whole numbers and floats only, nothing null
    text: bool  # keys are words
    skewed: bool  # few keys have most rows
    drifting: bool  # keys come and go with time, so that they are forgotten


def draw_recipe(random: Random, rows: int) -> Recipe:
    """Draw what a long stream is made of."""
    plain = random.random() < 0.5
    return Recipe(
        rows=rows,
        keys=random.choice((1, 7, 300, 20_000)),
        clock=random.choice(CLOCKS[:3] if plain else CLOCKS),
        stretch=random.choice((rows // 10, rows, rows * 50)),
        plain=plain,
        text=not plain and random.random() < 0.6,
        skewed=random.random() < 0.4,
        drifting=random.random() < 0.3,
    )


def long_case(random: Random, rows: int) -> Case:
    """Draw two streams over the same stretch of time, with a fraction of a pair to thirty pairs a row."""
    recipe = draw_recipe(random, rows)
    a_pair_a_row = recipe.keys * recipe.stretch / rows
    width = min(int(random.choice(PAIRS_A_ROW) * a_pair_a_row) + 1, recipe.stretch * 2)
    lower = -random.choice((0, width // 2, width, 2 * width, -width))
    tick = tick_of(recipe.clock)
    closed: Closed = random.choice(CLOSED)
    return Case(
        _side(random, recipe), _side(random, recipe), lower * tick, (lower + width) * tick, closed=closed
    )


def _side(random: Random, recipe: Recipe) -> Side:
    at = [random.randrange(recipe.stretch) for _ in range(recipe.rows)]
    nulls = 0.0 if recipe.plain else random.choice((0.0, 0.01))
    times = [None if random.random() < nulls else one * tick_of(recipe.clock) for one in at]
    columns = {
        "id": Column(pa.int64(), range(recipe.rows)),
        "key": Column(pa.string() if recipe.text else pa.int64(), _keys(random, recipe, at)),
        "ts": Column(recipe.clock, times),
        "v": Column(pa.float64(), [None if not recipe.plain and one % 11 == 0 else one / 7 for one in at]),
    }
    if not recipe.plain:
        columns["word"] = Column(pa.string(), ["w" * (one % 30) for one in at])
    return Side(columns)


def _keys(random: Random, recipe: Recipe, at: Sequence[int]) -> list[Any]:
    power = 3 if recipe.skewed else 1
    keys = [int(recipe.keys * random.random() ** power) * 7_919 for _ in at]
    if recipe.drifting:
        era = [one * 50 // recipe.stretch for one in at]
        keys = [key + one * 10**9 for key, one in zip(keys, era, strict=True)]
    if not recipe.text:
        return keys
    return [f"key number {key}" if key % 2 else str(key) for key in keys]

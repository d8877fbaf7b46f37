"""Random cases: sides with ties, nulls, skew, extreme times, unlike types; conditions around their edges.

One generator serves both ways of drawing: Hypothesis (which shrinks what fails) and a plain seed (fast, for
long runs and long streams): both are a `random.Random`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.support.cases import Case, Side
from tests.support.families import CLOCK_UNITS, FAMILIES, INTEGERS, PAYLOADS, Column, Family
from tests.support.oracle import Closed, On, shape_of
from tests.support.rows import DAY_NS, tick_of

ENDS = (-(2**63), 2**63 - 1)
PLAIN = tuple(
    (kind, pool) for kind, pool in PAYLOADS if pa.types.is_integer(kind) or pa.types.is_floating(kind)
)
CLOSED: tuple[Closed, ...] = ("both", "left", "right", "none")


@dataclass(frozen=True, slots=True)
class Clock:
    """The time columns of both sides, and where on the axis their rows lie."""

    left: pa.DataType
    right: pa.DataType
    origin: int

    @property
    def coarse(self) -> int:
        """Return the larger tick of both, in nanoseconds (1 for integers)."""
        return max(step_of(self.left), step_of(self.right))

    @property
    def fine(self) -> int:
        """Return the smaller tick of both, in nanoseconds (1 for integers)."""
        return min(step_of(self.left), step_of(self.right))


def step_of(kind: pa.DataType) -> int:
    """Return the nanoseconds from one time of a type to the next (a date64 counts in whole days)."""
    return DAY_NS if pa.types.is_date64(kind) else tick_of(kind)


def cases(rows: int = 10) -> st.SearchStrategy[Case]:
    """Draw cases of at most so many rows a side, so that what fails shrinks."""
    return _cases(rows)


@st.composite
def _cases(draw: st.DrawFn, rows: int) -> Case:
    return draw_case(draw(st.randoms(use_true_random=False)), rows)


def draw_case(random: Random, rows: int) -> Case:
    """Draw one case of any shape; a third are plain: whole numbers and floats, which may go a shorter way."""
    plain = random.random() < 0.35
    clock = draw_clock(random, plain=plain)
    on, keys = draw_keys(random, plain=plain)
    times = random.choice((("ts", "ts"), ("ts", "at")))
    sides: list[Side] = []
    for which in (0, 1):
        count = random.choice((rows,) * 16 + (rows // 3, 1, 0))
        columns = {"id": Column(pa.int64(), range(count))}
        for names, family in zip(on, keys, strict=True):
            columns[names[which]] = draw_key(random, family, count)
        columns[times[which]] = draw_times(random, clock, (clock.left, clock.right)[which], count)
        sides.append(Side(columns | draw_payload(random, count, plain=plain)))
    lower, upper = draw_bounds(random, clock)
    case = Case(sides[0], sides[1], lower, upper, on, times[0], times[1], random.choice(CLOSED))
    return _with_columns(random, case)


def draw_edge_case(random: Random, rows: int) -> Case:
    """Draw a case whose rows lie whole widths apart: most partners are exactly at a bound or beyond."""
    kind = random.choice((pa.int64(), pa.timestamp("us"), pa.date32(), pa.int32()))
    width, tick = random.choice((1, 3, 1000)), tick_of(kind)
    key = random.choice((pa.int64(), pa.string()))
    sides = [
        Side(
            {
                "id": Column(pa.int64(), range(rows)),
                "key": Column(
                    key, [random.choice((1, 2)) if key == pa.int64() else "k" for _ in range(rows)]
                ),
                "ts": Column(kind, [random.randrange(rows // 2 + 1) * width * tick for _ in range(rows)]),
            }
        )
        for _ in range(2)
    ]
    lower, upper = random.choice(((0, 1), (-1, 0), (0, 0), (1, 1), (-1, 1), (1, 2), (-2, -1), (-1, 2)))
    return Case(sides[0], sides[1], lower * width * tick, upper * width * tick, closed=random.choice(CLOSED))


def draw_clock(random: Random, *, plain: bool = False) -> Clock:
    """Draw the types of both time columns and an origin at which both can hold a few dozen ticks."""
    kind = random.choice(("integer", "naive", "zoned", "date"))
    if plain:
        left = right = random.choice((pa.int64(), pa.timestamp(random.choice(CLOCK_UNITS))))
    elif kind == "integer":
        left, right = random.choice(INTEGERS), random.choice(INTEGERS)
    elif kind == "date":
        left, right = (random.choice((pa.date32(), pa.date64())) for _ in range(2))
    else:
        zones: tuple[str | None, ...] = (None,) if kind == "naive" else ("UTC", "Europe/Rome", "-03:00")
        left, right = (pa.timestamp(random.choice(CLOCK_UNITS), random.choice(zones)) for _ in range(2))
    return Clock(left, right, random.choice(_origins(left, right)))


def _origins(left: pa.DataType, right: pa.DataType) -> Sequence[int]:
    low, high = (edge(reach(left)[at], reach(right)[at]) for at, edge in ((0, max), (1, min)))
    near = 20 * max(step_of(left), step_of(right))
    middle = 19_675 * DAY_NS if not pa.types.is_integer(left) else (low + high) // 2
    return (max(low, 0), middle, low, high - near)


def reach(kind: pa.DataType) -> tuple[int, int]:
    """Return the smallest and the largest time a type holds, in exact nanoseconds (or plain integers)."""
    if pa.types.is_date64(kind):
        return -(2**31) * DAY_NS, (2**31 - 1) * DAY_NS
    if pa.types.is_unsigned_integer(kind):
        return 0, min(2**kind.bit_width - 1, ENDS[1])
    bits = kind.bit_width - 1
    return -(2**bits) * tick_of(kind), (2**bits - 1) * tick_of(kind)


def draw_times(random: Random, clock: Clock, kind: pa.DataType, count: int) -> Column:
    """Draw times within twenty coarse ticks above the origin, many of them tied or next to a coarse tick."""
    low, high = reach(kind)
    tick, spread, nulls = step_of(kind), random.choice((1, 4, 4, 20)), random.choice((0.0, 0.0, 0.2))
    values: list[int | None] = []
    for _ in range(count):
        at = clock.origin + random.randrange(spread) * clock.coarse
        at += random.choice((0, 0, 0, 0, -1, 1, 2)) * tick
        at = min(max(at, low), high)
        values.append(None if random.random() < nulls else at - at % tick)
    return Column(kind, [value if value is None or value >= low else low for value in values])


def draw_bounds(random: Random, clock: Clock) -> tuple[int, int]:
    """Draw bounds around zero, wholly past, wholly ahead, beyond any int64, or finer than a tick."""
    step = random.choice((clock.coarse,) * 4 + (clock.fine, 1))
    width = random.choice((1, 2, 5, 20, 0))
    lower = -random.choice((0, width // 2, width)) * step + random.choice((0,) * 8 + (3, -3)) * step
    lower += random.choice((0, 0, 1, -1))
    upper = lower + width * step + random.choice((0, 0, 1))
    if random.random() < 0.1:
        lower = -random.choice((2**63, 2**64, 10**30))
    if random.random() < 0.1:
        upper = random.choice((2**63 - 1, 2**64, 10**30))
    return min(lower, upper), upper


def draw_keys(random: Random, *, plain: bool = False) -> tuple[On, list[Family]]:
    """Draw the names of the key columns on both sides, and their families."""
    on: On = random.choice(
        ((("key", "key"),), (("key", "key"),), (("key", "other"),), (("key", "key"), ("k2", "kk")), ())
    )
    return on, [FAMILIES[0] if plain else random.choice(FAMILIES) for _ in on]


def draw_key(random: Random, family: Family, count: int) -> Column:
    """Draw a key column of some encoding of the family: few or many values, even or skewed, some null."""
    kind = random.choice(family.kinds)
    pool = family.pool_of(kind)
    few = pool[: random.choice((1, 2, 3, len(pool)))]
    skewed, nulls = random.random() < 0.3, random.choice((0.0, 0.0, 0.2))
    weighted = few[:1] * len(few) + few if skewed else few
    return Column(kind, [None if random.random() < nulls else random.choice(weighted) for _ in range(count)])


def draw_payload(random: Random, count: int, *, plain: bool = False) -> dict[str, Column]:
    """Draw up to two payload columns of any type; both sides may use the same names."""
    columns: dict[str, Column] = {}
    for name in ("p", "q")[: random.choice((0, 1, 2))]:
        kind, pool = random.choice(PLAIN if plain else PAYLOADS)
        values: tuple[Any, ...] = pool if plain and random.random() < 0.8 else (None, *pool)
        columns[name] = Column(kind, [random.choice(values) for _ in range(count)])
    return columns


def _with_columns(random: Random, case: Case) -> Case:
    if random.random() < 0.7:
        return case
    names = [
        name
        for name, _, _ in shape_of(
            [*case.left.columns], [*case.right.columns], case.on, case.suffixes, None
        ).columns
    ]
    kept = tuple(name for name in names if random.random() < 0.5) or ("id",)
    return replace(case, columns=kept)


def relaid(random: Random, table: pa.Table) -> pa.Table:
    """Return the same rows in another layout: sliced out of something longer, cut into chunks, some empty."""
    padded = pa.concat_tables([table.slice(0, 1), table, table.slice(0, 1)])
    table = padded.slice(min(1, table.num_rows), table.num_rows)
    cuts = sorted(random.randint(0, table.num_rows) for _ in range(random.choice((0, 1, 3))))
    parts = [
        table.slice(start, end - start)
        for start, end in zip([0, *cuts], [*cuts, table.num_rows], strict=True)
    ]
    return pa.concat_tables(parts)

"""Time columns: what one stored integer means, and the interval in ticks that both sides share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import pyarrow as pa
from pyarrow import types as pt

from weft.edge.encodings import FROM_FLOAT, UNIT_NS, described, plain_type, strangers
from weft.edge.families import naive_beside_zoned
from weft.errors import InputError, SpecError

if TYPE_CHECKING:
    from weft.spec import JoinSpec
    from weft.types import Closed, Side

ClockKind: TypeAlias = Literal["timestamp", "date", "integer"]

DAY_NS = 86_400 * 10**9

FROM_TEXT = "parse it: pandas.to_datetime(df[name]), .str.to_datetime() in Polars, pyarrow.compute.strptime"
FROM_REST = 'cast it to a timestamp, a date or whole numbers ("int64")'


@dataclass(frozen=True, slots=True)
class Clock:
    """What the integers of a time column count."""

    kind: ClockKind
    tick: int  # nanoseconds; 1 for integers, which count in a unit of their own
    zoned: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """The interval in fine ticks (the finer of both sides' units): exact, both ends included, never clamped.

    A left row at l and a right row at r, in their own units, match if lower <= r * right - l * left <= upper.
    """

    left: int
    right: int
    lower: int
    upper: int


def read_clock(side: Side, column: pa.Field) -> Clock:
    """Return the clock of a time column, or refuse what is no time."""
    kind = plain_type(column.type)
    if pt.is_timestamp(kind):
        return Clock("timestamp", UNIT_NS[kind.unit], zoned=kind.tz is not None)
    if pt.is_date(kind):
        return Clock("date", DAY_NS if pt.is_date32(kind) else UNIT_NS["ms"])
    if pt.is_integer(kind):
        return Clock("integer", 1)
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    hint = FROM_FLOAT if pt.is_floating(kind) else FROM_TEXT if text else FROM_REST
    message = f"a time column must be a timestamp, a date or an integer; got {described(side, column)}."
    raise InputError(message, hint)


def check_spans(spec: JoinSpec, side: Side, column: pa.Field, clock: Clock) -> None:
    """Refuse numbers for timestamps and dates, and durations for integers; a spec's spans are of one kind."""
    ticks = spec.lower.unit == "ticks"
    if ticks == (clock.kind == "integer"):
        return
    unit = " days" if clock.kind == "date" else "s"
    hint = (
        f'write lower="{spec.lower}{unit}", upper="{spec.upper}{unit}"'
        if ticks
        else "count in the column's own unit (30 s are upper=30000 in milliseconds), or make it a timestamp"
    )
    message = (
        f"`lower` and `upper` must be {'durations' if ticks else 'integers'} for {clock.kind} times; "
        f"got lower={spec.lower.code()}, upper={spec.upper.code()} for {described(side, column)}."
    )
    raise SpecError(message, hint)


def check_clocks(left: pa.Field, right: pa.Field) -> None:
    """Refuse times of two kinds, and a timestamp with a zone beside one without."""
    one, two = read_clock("left", left), read_clock("right", right)
    if one.kind != two.kind or strangers(left, right):
        came = f"got {described('left', left)} and {described('right', right)}."
        message = f"both times must be of one kind; {came}"
        raise InputError(message, f"cast one of them, such as to a {_target(one, two)}")
    if one.zoned != two.zoned:
        raise naive_beside_zoned(left, right, "both times")


def _target(one: Clock, two: Clock) -> str:
    return next(str(kind) for kind in get_args(ClockKind) if kind in (one.kind, two.kind))


def fine_tick(left: Clock, right: Clock) -> int:
    """Return the nanoseconds of one fine tick; every coarser unit is a multiple of every finer one."""
    return min(left.tick, right.tick)


def axis_of(spec: JoinSpec, left: Clock, right: Clock) -> Axis:
    """Return the spec's interval in fine ticks."""
    tick = fine_tick(left, right)
    lower, upper = _ends(spec.lower.value, spec.upper.value, spec.closed, tick)
    return Axis(left.tick // tick, right.tick // tick, lower, upper)


def _ends(lower: int, upper: int, closed: Closed, tick: int) -> tuple[int, int]:
    """Return first and last whole tick inside: rounded inward, one further where it meets an open end."""
    first = -(-lower // tick) if closed in ("both", "left") else lower // tick + 1
    last = upper // tick if closed in ("both", "right") else -(-upper // tick) - 1
    return first, last

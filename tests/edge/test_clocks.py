"""Time columns, and the interval in fine ticks: the same pairs as exact arithmetic finds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.edge.clocks import (
    Axis,
    Clock,
    axis_of,
    check_clocks,
    check_spans,
    fine_tick,
    read_clock,
)
from weft.errors import InputError, SpecError
from weft.spec import JoinSpec, join_spec

DAY_NS = 86_400 * 10**9

CLOCKS = [
    (pa.timestamp("s"), Clock("timestamp", 10**9)),
    (pa.timestamp("ms", "UTC"), Clock("timestamp", 10**6, zoned=True)),
    (pa.timestamp("us"), Clock("timestamp", 10**3)),
    (pa.timestamp("ns", "Asia/Tokyo"), Clock("timestamp", 1, zoned=True)),
    (pa.date32(), Clock("date", DAY_NS)),
    (pa.date64(), Clock("date", 10**6)),
    (pa.int8(), Clock("integer", 1)),
    (pa.uint64(), Clock("integer", 1)),
    (pa.dictionary(pa.int8(), pa.timestamp("s")), Clock("timestamp", 10**9)),
    (pa.run_end_encoded(pa.int32(), pa.int64()), Clock("integer", 1)),
]


def spec(**changes: Any) -> JoinSpec:
    return join_spec(**{"time": "ts", "lower": "0s", "upper": "30s", **changes})


def field(kind: pa.DataType) -> pa.Field:
    return pa.field("ts", kind)


@pytest.mark.parametrize(("kind", "clock"), CLOCKS, ids=str)
def test_a_time_column_says_what_its_integers_count(kind: pa.DataType, clock: Clock) -> None:
    assert read_clock("left", field(kind)) == clock


FROM_FLOAT = "cast it to whole numbers"
FROM_TEXT = "parse it: pandas.to_datetime"
FROM_REST = "cast it to a timestamp, a date or whole numbers"

NO_TIMES = [
    (pa.string(), FROM_TEXT),
    (pa.large_string(), FROM_TEXT),
    (pa.dictionary(pa.int8(), pa.string()), FROM_TEXT),
    (pa.float32(), FROM_FLOAT),
    (pa.float64(), FROM_FLOAT),
    (pa.time32("s"), FROM_REST),
    (pa.time64("ns"), FROM_REST),
    (pa.duration("s"), FROM_REST),
    (pa.null(), FROM_REST),
    (pa.bool_(), FROM_REST),
    (pa.decimal128(9, 0), FROM_REST),
    (pa.binary(), FROM_REST),
    (pa.struct([("a", pa.int8())]), FROM_REST),
]


@pytest.mark.parametrize(("kind", "hint"), NO_TIMES, ids=str)
def test_what_is_no_time_is_refused_with_what_to_make_of_it(kind: pa.DataType, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_clock("right", field(kind))
    assert caught.value.message == (
        f'a time column must be a timestamp, a date or an integer; got right "ts" ({kind}).'
    )
    assert caught.value.hint.startswith(hint)


UNLIKE = [
    (pa.timestamp("s"), pa.int64(), "timestamp"),
    (pa.date32(), pa.timestamp("ns"), "timestamp"),
    (pa.int32(), pa.date64(), "date"),
]


@pytest.mark.parametrize(("left", "right", "target"), UNLIKE, ids=str)
def test_times_of_two_kinds_are_refused(left: pa.DataType, right: pa.DataType, target: str) -> None:
    with pytest.raises(InputError) as caught:
        check_clocks(field(left), field(right))
    assert str(caught.value) == (
        f'both times must be of one kind; got left "ts" ({left}) and right "ts" ({right}).\n\n'
        f"Hint: cast one of them, such as to a {target}"
    )


def test_a_naive_time_beside_a_zoned_one_is_refused() -> None:
    with pytest.raises(InputError, match="both times must both have a time zone or both have none"):
        check_clocks(field(pa.timestamp("s")), field(pa.timestamp("s", "UTC")))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.timestamp("s", "UTC"), pa.timestamp("ns", "Asia/Tokyo")),
        (pa.date32(), pa.date64()),
        (pa.int8(), pa.uint64()),
    ],
    ids=str,
)
def test_times_of_one_kind_may_differ_in_unit_zone_and_width(left: pa.DataType, right: pa.DataType) -> None:
    check_clocks(field(left), field(right))


SPANS = [
    (
        {"lower": 0, "upper": 30},
        pa.timestamp("us"),
        "`lower` and `upper` must be durations for timestamp times; "
        'got lower=0, upper=30 for left "ts" (timestamp[us]).\n\nHint: write lower="0s", upper="30s"',
    ),
    (
        {"lower": -3, "upper": 3},
        pa.date32(),
        "`lower` and `upper` must be durations for date times; "
        'got lower=-3, upper=3 for left "ts" (date32[day]).\n\nHint: write lower="-3 days", upper="3 days"',
    ),
    (
        {"lower": "-1 min", "upper": "30s"},
        pa.int64(),
        "`lower` and `upper` must be integers for integer times; "
        'got lower="-1 min", upper="30 s" for left "ts" (int64).\n\n'
        "Hint: count in the column's own unit (30 s are upper=30000 in milliseconds), or make it a timestamp",
    ),
]


@pytest.mark.parametrize(("bounds", "kind", "message"), SPANS, ids=["timestamp", "date", "integer"])
def test_bounds_that_do_not_fit_the_times_are_refused(
    bounds: dict[str, Any], kind: Any, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        check_spans(spec(**bounds), "left", field(kind), read_clock("left", field(kind)))
    assert str(caught.value) == message


TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
TIMESTAMPS = st.sampled_from([Clock("timestamp", tick) for tick in TICKS.values()])
DATES = st.sampled_from([Clock("date", DAY_NS), Clock("date", 10**6)])
SIDES = st.one_of(st.tuples(TIMESTAMPS, TIMESTAMPS), st.tuples(DATES, DATES))
CLOSED = st.sampled_from(["both", "left", "right", "none"])
STORED = st.integers(-(2**63), 2**63 - 1)


def holds(distance: Fraction, lower: Fraction, upper: Fraction, closed: str) -> bool:
    above = distance >= lower if closed in ("both", "left") else distance > lower
    return above and (distance <= upper if closed in ("both", "right") else distance < upper)


def matches(axis: Axis, left: int, right: int) -> bool:
    return axis.lower <= right * axis.right - left * axis.left <= axis.upper


# Bounds near the distance of the two rows: half a tick and a nanosecond to either side.
NEAR = st.tuples(st.integers(-2, 2), st.sampled_from([-1, 0, 1]), st.integers(0, 3))


@given(SIDES, STORED, STORED, NEAR, CLOSED)
def test_a_pair_matches_on_the_axis_where_it_does_in_exact_nanoseconds(
    clocks: tuple[Clock, Clock], left: int, right: int, near: tuple[int, int, int], closed: str
) -> None:
    one, two = clocks
    halves, nudge, width = near
    distance = right * two.tick - left * one.tick
    half = max(1, fine_tick(one, two) // 2)
    lower = distance + halves * half + nudge
    upper = lower + width * half
    axis = axis_of(spec(lower=f"{lower} ns", upper=f"{upper} ns", closed=closed), one, two)
    assert matches(axis, left, right) == holds(Fraction(distance), Fraction(lower), Fraction(upper), closed)
    assert 1 in (axis.left, axis.right)


@given(STORED, STORED, STORED, STORED, CLOSED)
def test_integer_times_are_compared_as_they_are(
    left: int, right: int, lower: int, upper: int, closed: str
) -> None:
    lower, upper = sorted((lower, upper))
    clock = Clock("integer", 1)
    axis = axis_of(spec(lower=lower, upper=upper, closed=closed), clock, clock)
    assert (axis.left, axis.right) == (1, 1)
    assert matches(axis, left, right) == holds(
        Fraction(right - left), Fraction(lower), Fraction(upper), closed
    )


@pytest.mark.parametrize(
    ("closed", "ends"),
    [("both", (-1, 1)), ("left", (-1, 1)), ("right", (-1, 1)), ("none", (-1, 1))],
)
def test_bounds_finer_than_a_tick_are_rounded_inward(closed: str, ends: tuple[int, int]) -> None:
    clock = Clock("timestamp", 10**9)
    axis = axis_of(spec(lower="-1500 ms", upper="1500 ms", closed=closed), clock, clock)
    assert (axis.lower, axis.upper) == ends


@pytest.mark.parametrize(
    ("closed", "ends"),
    [("both", (-2, 2)), ("left", (-2, 1)), ("right", (-1, 2)), ("none", (-1, 1))],
)
def test_an_open_end_on_a_tick_leaves_that_tick_out(closed: str, ends: tuple[int, int]) -> None:
    clock = Clock("timestamp", 10**9)
    axis = axis_of(spec(lower="-2s", upper="2s", closed=closed), clock, clock)
    assert (axis.lower, axis.upper) == ends


def test_bounds_beyond_64_bits_stay_as_wide_as_they_are() -> None:
    axis = axis_of(spec(upper=f"{10**9} weeks"), Clock("timestamp", 10**9), Clock("timestamp", 1))
    assert axis == Axis(left=10**9, right=1, lower=0, upper=10**9 * 7 * DAY_NS)

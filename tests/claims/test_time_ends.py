"""Nothing wraps at the ends of int64: a distance no int64 holds is still compared as what it is."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import weft
from tests.support.cases import Case, assert_joined, side_of
from tests.support.rows import multiset, rows_of, tick_of
from tests.support.runtimes import Runtime, few

LOW, HIGH = -(2**63), 2**63 - 1
ENDS = (LOW, LOW + 1, -2, -1, 0, 1, HIGH - 1, HIGH)
BOUNDS = (
    (0, 0),
    (-1, 1),
    (LOW, HIGH),
    (HIGH, 2**64),
    (-(2**64), LOW),
    (2**63, 2**64 - 1),
    (2**64 - 1, 2**64 - 1),
    (-(2**64) + 1, -(2**64) + 1),
    (2**64, 2**65),
    (1, HIGH),
    (LOW, -1),
)


def ended(kind: pa.DataType, times: tuple[int, ...] = ENDS) -> Case:
    """Return a case whose rows lie at the ends of what a type holds, one key for all."""
    columns = {
        "id": (pa.int64(), range(len(times))),
        "key": (pa.int8(), [1] * len(times)),
        "ts": (kind, [time * tick_of(kind) for time in times]),
    }
    return Case(side_of(columns), side_of(columns), 0, 0)


def between(case: Case, lower: int, upper: int) -> Case:
    """Return the case with other bounds."""
    return Case(case.left, case.right, lower, upper)


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_integer_times_at_the_ends_are_compared_exactly(runtime: Runtime, lower: int, upper: int) -> None:
    case = between(ended(pa.int64()), lower, upper)
    for seed in few(runtime, range(4), 1):
        assert_joined(case, runtime.join(case, Random(seed)))


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_timestamps_at_the_ends_are_compared_exactly(
    runtime: Runtime, unit: str, lower: int, upper: int
) -> None:
    tick = tick_of(pa.timestamp(unit))
    case = between(ended(pa.timestamp(unit)), lower * tick, upper * tick)
    for seed in few(runtime, range(4), 1):
        assert_joined(case, runtime.join(case, Random(seed)))


@pytest.mark.parametrize("width", [8, 16, 32])
def test_narrow_integer_times_do_not_wrap_at_their_own_ends(runtime: Runtime, width: int) -> None:
    low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
    for kind, times in (
        (f"int{width}", (low, low + 1, 0, high - 1, high)),
        (f"uint{width}", (0, 1, 2**width - 1)),
    ):
        case = ended(getattr(pa, kind)(), times)
        for lower, upper in few(runtime, ((1, 1), (-(2**width), -1), (high, 2**width), (-1, 1)), 1):
            assert_joined(
                between(case, lower, upper), runtime.join(between(case, lower, upper), Random(width))
            )


def test_dates_at_the_ends_of_their_type_are_compared_exactly(runtime: Runtime) -> None:
    day = tick_of(pa.date32())
    case = ended(pa.date32(), (-(2**31), -(2**31) + 1, 0, 2**31 - 2, 2**31 - 1))
    for lower, upper in few(runtime, ((-1, 1), (-(2**32), 0), (2**32 - 1, 2**40)), 2):
        assert_joined(
            between(case, lower * day, upper * day),
            runtime.join(between(case, lower * day, upper * day), Random(1)),
        )


def exact_or_refused(case: Case) -> None:
    """Claim that a table join is the oracle's or refused as a value that does not fit."""
    try:
        result = weft.interval_join(case.left.table(), case.right.table(), **case.arguments())
    except weft.InputError:
        return
    assert multiset(rows_of(result)) == multiset(case.expected())


def test_unsigned_times_beyond_int64_are_exact_or_refused() -> None:
    case = ended(pa.uint64(), (0, 1, HIGH, HIGH + 1, 2**64 - 1))
    for lower, upper in ((0, 0), (-1, 1), (1, 2**64), (-(2**64), -1)):
        exact_or_refused(between(case, lower, upper))


def test_seconds_beyond_the_reach_of_nanoseconds_are_exact_or_refused() -> None:
    seconds, nanos = ended(pa.timestamp("s")), ended(pa.timestamp("ns"))
    for lower, upper in ((0, 0), (-(10**9), 10**9), (0, 2**80), (-(2**100), 0), (2**63, 2**94)):
        exact_or_refused(Case(seconds.left, nanos.right, lower, upper))
        exact_or_refused(Case(nanos.left, seconds.right, lower, upper))


@pytest.mark.parametrize("order", [1, -1])
def test_a_stream_at_the_ends_keeps_what_may_still_match(order: int) -> None:
    case = between(ended(pa.int64()), LOW, HIGH)
    op = weft.stream.IntervalJoin(**case.arguments(), lateness=2**65)
    results = []
    for at in range(len(ENDS))[::order]:
        results += [op.push("left", case.left.table([at])), op.push(right=case.right.table([at]))]
    results = [result for result in results if result.column_names]
    assert_joined(case, pa.concat_tables(results))

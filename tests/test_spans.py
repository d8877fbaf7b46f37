"""Durations are read exactly, in every usual spelling, or refused with what to write."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.errors import SpecError, shown
from weft.spans import UNITS, Span, parse_span

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

TEXTS = {
    "10 minutes": 10 * MINUTE,
    "10 min": 10 * MINUTE,
    "10m": 10 * MINUTE,
    "1 hour": HOUR,
    "1h": HOUR,
    "-1s": -SECOND,
    "- 1 s": -SECOND,
    "+5 s": 5 * SECOND,
    "250 ms": 250 * 10**6,
    "3 days": 3 * DAY,
    "2 weeks": 14 * DAY,
    "7 us": 7000,
    "7 \u00b5s": 7000,
    "7 \u03bcs": 7000,
    "7 microseconds": 7000,
    "5 ns": 5,
    "1.5 hours": 90 * MINUTE,
    ".5s": SECOND // 2,
    "0.000000001 s": 1,
    "1h 30m": 90 * MINUTE,
    "1h30m": 90 * MINUTE,
    "-1h 30m": -90 * MINUTE,
    "1 day 2 hours 3 minutes 4 seconds": DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND,
    "  10   MINUTES  ": 10 * MINUTE,
    "0s": 0,
    "-0 ms": 0,
    "106752 days": 106752 * DAY,  # more than 2**63 ns
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_its_exact_number_of_nanoseconds(text: str) -> None:
    assert parse_span("upper", text) == Span(TEXTS[text], "ns")


@pytest.mark.parametrize("unit", UNITS)
def test_every_spelling_of_a_unit_counts_the_same(unit: str) -> None:
    assert parse_span("upper", f"3 {unit}").value == 3 * UNITS[unit]
    assert parse_span("upper", f"-3{unit.upper() if len(unit) > 1 else unit}").value == -3 * UNITS[unit]


VALUES = {
    "timedelta": (timedelta(days=-1, microseconds=1), 1000 - DAY),
    "the longest timedelta": (timedelta.max, (timedelta.max // timedelta(microseconds=1)) * 1000),
    "pandas, in nanoseconds": (pd.Timedelta("1h") + pd.Timedelta(1, "ns"), HOUR + 1),
    "pandas, in seconds, beyond 64 bits of ns": (pd.Timedelta(np.timedelta64(10**10, "s")), 10**10 * SECOND),
    "numpy": (np.timedelta64(-3, "D"), -3 * DAY),
    "numpy, several units a tick": (np.array([3], "m8[25h]")[0], 75 * HOUR),
    "numpy, the greatest": (np.timedelta64(2**63 - 1, "s"), (2**63 - 1) * SECOND),
    "numpy, picoseconds": (np.timedelta64(5000, "ps"), 5),
}


@pytest.mark.parametrize("name", VALUES)
def test_durations_of_python_numpy_and_pandas_keep_all_their_digits(name: str) -> None:
    value, exact = VALUES[name]
    assert parse_span("upper", value) == Span(exact, "ns")


@pytest.mark.parametrize("value", [0, -5, 2**63 - 1, -(2**63), 10**30, np.int8(-5), np.uint64(7)], ids=repr)
def test_integers_count_in_the_columns_own_unit(value: int) -> None:
    assert parse_span("upper", value) == Span(int(value), "ticks")


HOW_TO = 'write "10 minutes", or "0 s" for none'
OPEN = 'write "10 minutes"; an open end is a long duration, such as "365 days"'
EACH = 'write a unit, such as "10 seconds"; integers for integer times are no text: 10'
KNOWN = "a duration in weeks, days, hours, minutes, seconds, ms, us or ns"
ANY = 'a duration such as "10 minutes", a timedelta, or an integer for integer times'

REFUSED = [
    ("", 'a duration such as "10 minutes"; got "".', HOW_TO),
    ("  ", 'a duration such as "10 minutes"; got "  ".', HOW_TO),
    ("-", 'a duration such as "10 minutes"; got "-".', HOW_TO),
    ("10", 'numbers with a unit each; got "10".', EACH),
    ("1h 30", 'numbers with a unit each; got "1h 30".', EACH),
    ("minutes", 'a duration with a number before "minutes"; got "minutes".', 'write "10 minutes"'),
    ("10 mintues", f'{KNOWN}; got "10 mintues".', '"mintues" is no unit; write "10 minutes"'),
    ("10 xyz", f'{KNOWN}; got "10 xyz".', '"xyz" is no unit; write "10 seconds"'),
    (
        "1 month",
        'a duration of fixed length, which "month" has not; got "1 month".',
        'write days, such as "30 days"',
    ),
    ("2y", 'a duration of fixed length, which "y" has not; got "2y".', 'write days, such as "365 days"'),
    ("10M", 'a duration without "M"; got "10M".', 'write "min" for minutes; months have no fixed length'),
    ("0.7 ns", 'a whole number of nanoseconds; got "0.7 ns".', 'write "1 ns"'),
    (None, f"{ANY}; got None.", OPEN),
    (float("nan"), f"{ANY}; got nan.", OPEN),
    (float("-inf"), f"{ANY}; got -inf.", OPEN),
    (pd.NaT, f"{ANY}; got NaT.", OPEN),
    (np.timedelta64("NaT"), f"{ANY}; got np.timedelta64('NaT').", OPEN),
    (True, f"{ANY}; got True.", OPEN),
    (1.5, f"{ANY}; got 1.5.", 'write a unit, such as "1.5 s", or a whole number for an integer time column'),
]


@pytest.mark.parametrize(("value", "says", "hint"), REFUSED, ids=[repr(value) for value, _, _ in REFUSED])
def test_what_is_no_exact_duration_is_refused_with_what_to_write(value: object, says: str, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_span("upper", value)
    assert str(caught.value) == f"`upper` must be {says}\n\nHint: {hint}"


ALSO_REFUSED = [
    "1h -30m",
    "00:10:00",
    "1,000 ms",
    "1e3 s",
    "PT10M",
    "ten minutes",
    "5. s",
    "1.2.3 s",
    "\uff11s",
    "s 10",
    "9" * 5000 + " s",
    " " * 10**6,
    b"10 s",
    10**5000,
    [10],
    np.bool_(True),
    np.float32(2),
    np.array([1, 2]),
    np.timedelta64(3),
    np.timedelta64(3, "M"),
    np.timedelta64(7, "as"),
    pd.NA,
    pd.DataFrame({"a": [1]}),
]


@pytest.mark.parametrize("value", ALSO_REFUSED, ids=lambda value: shown(value)[:20])
def test_nothing_else_is_guessed_at(value: object) -> None:
    with pytest.raises(SpecError, match="`lower` must be ") as caught:
        parse_span("lower", value)
    assert caught.value.hint
    assert len(str(caught.value)) < 300


def test_a_refusal_says_which_side_it_is_about() -> None:
    with pytest.raises(SpecError, match="`lateness` of the right must be"):
        parse_span("lateness", None, "right")


NANOSECONDS = st.integers(-(10**30), 10**30)


@given(NANOSECONDS)
@example(0)
@example(7 * DAY)
def test_a_span_reads_its_own_text_back(value: int) -> None:
    span = Span(value, "ns")
    assert parse_span("upper", str(span)) == span
    assert span.code() == f'"{span}"'


@given(st.lists(st.tuples(st.integers(0, 10**12), st.sampled_from(list(UNITS))), min_size=1, max_size=6))
def test_parts_add_up_exactly(parts: list[tuple[int, str]]) -> None:
    total = sum(number * UNITS[unit] for number, unit in parts)
    assert parse_span("upper", " ".join(f"{number} {unit}" for number, unit in parts)).value == total
    assert parse_span("upper", "-" + "".join(f"{number}{unit}" for number, unit in parts)).value == -total


@given(st.decimals(0, 10**9, places=6, allow_nan=False), st.sampled_from(["s", "ms", "us", "ns", "hours"]))
def test_decimal_fractions_are_exact_or_refused(number: Decimal, unit: str) -> None:
    exact = Fraction(number) * UNITS[unit]
    if exact.denominator == 1:
        assert parse_span("upper", f"{number:f} {unit}") == Span(exact.numerator, "ns")
    else:
        with pytest.raises(SpecError, match="whole number of nanoseconds"):
            parse_span("upper", f"{number:f} {unit}")


@given(st.timedeltas())
def test_timedeltas_are_exact(value: timedelta) -> None:
    assert parse_span("upper", value).value == value // timedelta(microseconds=1) * 1000


def test_reading_spans_imports_neither_numpy_nor_pyarrow() -> None:
    script = (
        "import sys; from weft.spans import parse_span; import weft.spec; parse_span('upper', '1s');"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'pyarrow', 'pandas', 'polars', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

"""Durations as people write them, read exactly: "10 minutes", "-1s", "1h 30m", a timedelta, a plain integer.

A span is a whole number of nanoseconds, or, for integer time columns, a whole number of their own unit.
Nothing is rounded: what is finer than a nanosecond, or of no fixed length (a month), is refused.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from weft.errors import listed, nearest, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.types import Side

WIDEST_TICKS = 128  # bits of an integer; times have 64
LONGEST = 200  # characters of a duration; Python's own limit for digits lies far above

SPELLINGS = {
    7 * 86_400 * 10**9: "w wk wks week weeks",
    86_400 * 10**9: "d day days",
    3_600 * 10**9: "h hr hrs hour hours",
    60 * 10**9: "min mins m minute minutes",
    10**9: "s sec secs second seconds",
    10**6: "ms milli millis msec msecs millisecond milliseconds",
    # The micro sign, and the Greek letter that keyboards and Unicode normalisation make of it.
    10**3: "us \u00b5s \u03bcs micro micros usec usecs microsecond microseconds",
    1: "ns nano nanos nsec nsecs nanosecond nanoseconds",
}
UNITS = {word: tick for tick, words in SPELLINGS.items() for word in words.split()}
NAMED = ("weeks", "days", "hours", "minutes", "seconds", "ms", "us", "ns")
UNFIXED = {
    word: days
    for words, days in (
        ("mo mon mons month months", "30 days"),
        ("q quarter quarters", "90 days"),
        ("y yr yrs year years", "365 days"),
    )
    for word in words.split()
}
NUMPY_UNITS = {unit: Fraction(UNITS[unit.lower()]) for unit in ("W", "D", "h", "m", "s", "ms", "us", "ns")}
NUMPY_UNITS |= {"ps": Fraction(1, 10**3), "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9)}

A_DURATION = 'a duration such as "10 minutes"'
ANYTHING = f"{A_DURATION}, a timedelta, or an integer for integer times"

_SIGNED = re.compile(r"\s*([+-]?)\s*(.*?)\s*", re.DOTALL)
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)?\s*([^\W\d_]+)?\s*")


@dataclass(frozen=True, slots=True)
class Span:
    """An exact length of time; "ticks" count in the unit of an integer time column."""

    value: int
    unit: Literal["ns", "ticks"]

    def __str__(self) -> str:
        """Return the span as a user may write it."""
        if self.unit == "ticks":
            return str(self.value)
        tick, words = next((tick, words) for tick, words in SPELLINGS.items() if self.value % tick == 0)
        return f"{self.value // tick} {words.split()[0]}" if self.value else "0 s"

    def code(self) -> str:
        """Return the span as it stands in a call."""
        return str(self) if self.unit == "ticks" else f'"{self}"'


def parse_span(name: str, value: object, side: Side | None = None) -> Span:
    """Return the exact span that `value` writes; `name` and `side` say in messages where it came from."""
    subject = f"`{name}` of the {side}" if side else f"`{name}`"
    if isinstance(value, str):
        return Span(_whole(subject, value, _text(subject, value)), "ns")
    if (precise := _numpy_timedelta(value)) is not None:
        return Span(_whole(subject, value, _numpy(subject, precise)), "ns")
    if isinstance(value, timedelta):
        return Span((value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 10**3, "ns")
    if isinstance(value, Integral) and not isinstance(value, bool):
        if int(value).bit_length() > WIDEST_TICKS:
            raise refusal(value, subject, f"within {WIDEST_TICKS} bits", f"write {2**63 - 1} for an open end")
        return Span(int(value), "ticks")
    raise refusal(value, subject, ANYTHING, _hint(value))


def _hint(value: object) -> str:
    if isinstance(value, float) and abs(value) < float("inf"):
        return 'write a unit, such as "1.5 s", or a whole number for an integer time column'
    return 'write "10 minutes"; an open end is a long duration, such as "365 days"'


def _whole(subject: str, value: object, ns: Fraction) -> int:
    if ns.denominator != 1:
        raise refusal(value, subject, "a whole number of nanoseconds", f'write "{round(ns)} ns"')
    return ns.numerator


def _text(subject: str, text: str) -> Fraction:
    match = _SIGNED.fullmatch(text) if len(text) <= LONGEST else None
    if not match or not match[2]:
        raise refusal(text, subject, A_DURATION, 'write "10 minutes", or "0 s" for none')
    total = sum((Fraction(number) * tick for number, tick in _parts(subject, text, match[2])), Fraction(0))
    return -total if match[1] == "-" else total


def _parts(subject: str, text: str, body: str) -> Iterator[tuple[str, int]]:
    at = 0
    while at < len(body):
        match = _PART.match(body, at)
        if not match or match.end() == at:
            raise refusal(
                text, subject, A_DURATION, 'write numbers and units, one sign before all: "-1h 30m"'
            )
        number, unit = match.groups()
        if not unit:
            hint = 'write a unit, such as "10 seconds"; integers for integer times are no text: 10'
            raise refusal(text, subject, "numbers with a unit each", hint)
        tick = _tick(subject, text, unit)
        if not number:
            raise refusal(text, subject, f'a duration with a number before "{unit}"', f'write "10 {unit}"')
        yield number, tick
        at = match.end()


def _tick(subject: str, text: str, unit: str) -> int:
    """Return the nanoseconds of a unit, whatever its case; "M" alone is refused, months for pandas."""
    word = unit.lower()
    if unit == "M":
        hint = 'write "min" for minutes; months have no fixed length'
        raise refusal(text, subject, 'a duration without "M"', hint)
    if word in UNFIXED:
        hint = f'write days, such as "{UNFIXED[word]}"'
        raise refusal(text, subject, f'a duration of fixed length, which "{unit}" has not', hint)
    if word not in UNITS:
        near = nearest(word, [*UNITS]) or "seconds"
        hint = f'"{unit}" is no unit; write "10 {near}"'
        raise refusal(text, subject, f"a duration in {listed(NAMED, form=str)}", hint)
    return UNITS[word]


def _numpy_timedelta(value: object) -> Any:
    """Return a numpy or pandas duration as numpy's, with all its digits; None for anything else."""
    numpy = sys.modules.get("numpy")  # whoever holds such a value has imported it
    if numpy is None:
        return None
    if callable(convert := getattr(value, "to_timedelta64", None)):  # a pandas Timedelta
        value = convert()
    return value if isinstance(value, numpy.timedelta64) else None


def _numpy(subject: str, value: Any) -> Fraction:
    unit, count = sys.modules["numpy"].datetime_data(value.dtype)
    if value != value:  # NaT, and nothing else, is unlike itself  # noqa: PLR0124
        raise refusal(value, subject, ANYTHING, _hint(value))
    if unit not in NUMPY_UNITS:
        hint = "write numpy.timedelta64(10, 's')"
        raise refusal(value, subject, f"a timedelta64 in {listed(NUMPY_UNITS, form=str)}", hint)
    return NUMPY_UNITS[unit] * int(value.astype("int64")) * int(count)

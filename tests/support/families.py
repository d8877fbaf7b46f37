"""Columns of any type from plain values: families of keys in every encoding, clocks, and payloads.

A column is a type and a list of values, so that any rows of it can be built again as an array of its own
(with another dictionary, another layout): Arrow's own `take` knows fewer types than a join has to carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tests.support.rows import DAY_NS, tick_of


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type and its values as `array_of` takes them (times as exact nanoseconds)."""

    kind: pa.DataType
    values: Sequence[Any]

    def array(self, positions: Sequence[int]) -> pa.Array:
        """Return the rows at these positions as a new array."""
        return array_of(self.kind, [self.values[at] for at in positions])


@dataclass(frozen=True, slots=True)
class Family:
    """Key types that may meet each other, and values most of them can hold."""

    name: str
    kinds: tuple[pa.DataType, ...]
    pool: tuple[Any, ...]

    def pool_of(self, kind: pa.DataType) -> list[Any]:
        """Return the values of the pool which this type holds exactly."""
        return [value for value in self.pool if fits(kind, value)]


def array_of(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Build an array of any type; timestamps, dates and durations are given in exact nanoseconds."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array_of(kind.storage_type, values))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind):
        tick = tick_of(kind)
        whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        stored = [None if value is None else _exactly(value, tick) for value in values]
        return pa.array(stored, whole).view(kind)
    if pa.types.is_dictionary(kind):
        words = sorted({value for value in values if value is not None}, reverse=True)
        indices = [None if value is None else words.index(value) for value in values]
        return pa.DictionaryArray.from_arrays(
            pa.array(indices, kind.index_type), array_of(kind.value_type, words)
        )
    return pa.array(values, kind)


def fits(kind: pa.DataType, value: Any) -> bool:
    """Say whether a type holds a value exactly."""
    try:
        array_of(kind, [value])
    except (ValueError, OverflowError, pa.ArrowException):
        return False
    return True


def _exactly(value: int, tick: int) -> int:
    if value % tick:
        msg = f"{value} ns is no whole number of ticks of {tick} ns"
        raise ValueError(msg)
    return value // tick


def _there(*makers: str) -> tuple[pa.DataType, ...]:
    # Old Arrows lack some types: what is not there is not tested there.
    return tuple(getattr(pa, name)() for name in makers if hasattr(pa, name))


INTEGERS = _there("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
CLOCK_UNITS = ("s", "ms", "us", "ns")

FAMILIES = (
    Family("integer", INTEGERS, (0, 1, 2, -1, 127, 255, -(2**63), 2**63 - 1, 2**63, 2**64 - 1)),
    Family(
        "string",
        (
            *_there("string", "large_string", "string_view"),
            pa.dictionary(pa.int8(), pa.string()),
            pa.dictionary(pa.uint32(), pa.large_string()),
        ),
        ("", "a", "b", "ab", "a\0", "é", "e\u0301", "twelve bytes", "thirteen bytes", "thirteen bytez"),
    ),
    Family(
        "decimal",
        (
            pa.decimal128(5, 2),
            pa.decimal128(38, 0),
            pa.decimal128(38, 10),
            pa.decimal256(60, 20),
            pa.dictionary(pa.int16(), pa.decimal128(9, 4)),
        ),
        (
            Decimal(0),
            Decimal("1.5"),
            Decimal(1),
            Decimal("-0.01"),
            Decimal("999.99"),
            Decimal(10**27),
            Decimal(10**37),
        ),
    ),
    Family("date", _there("date32", "date64"), (0, DAY_NS, -DAY_NS, 20_000 * DAY_NS)),
    Family(
        "timestamp",
        tuple(pa.timestamp(unit) for unit in CLOCK_UNITS),
        (0, 1, 10**3, 10**6, 10**9, -(10**9), 1_700_000_000 * 10**9, 2**63 - 1, 9 * 10**18),
    ),
    Family(
        "zoned",
        tuple(
            pa.timestamp(unit, tz)
            for unit, tz in zip(CLOCK_UNITS, ("UTC", "Europe/Rome", "+05:30", "UTC"), strict=True)
        ),
        (0, 1, 10**3, 10**6, 10**9, -(10**9), 1_700_000_000 * 10**9),
    ),
    Family("boolean", (pa.bool_(),), (False, True)),
    Family(
        "binary",
        (*_there("binary", "large_binary", "binary_view"), pa.dictionary(pa.int32(), pa.binary())),
        (b"", b"\0", b"\0\0", b"a", b"\xff\xfe", b"twelve bytes", b"thirteen bytes"),
    ),
)

WORDS = ("", "word", "a longer word, with more than twelve bytes")
NEWER = [
    (getattr(pa, name), values)
    for name, values in (
        ("string_view", WORDS),
        ("binary_view", tuple(word.encode() for word in WORDS)),
        ("uuid", (b"0123456789abcdef", b"\0" * 16)),
        ("bool8", (0, 1)),
        ("json_", ("{}", "[1]")),
    )
    if hasattr(pa, name)
]
PAYLOADS: tuple[tuple[pa.DataType, tuple[Any, ...]], ...] = (
    (pa.int64(), (0, -1, 2**63 - 1)),
    (pa.int8(), (0, -128)),
    (pa.uint16(), (0, 65535)),
    (pa.float64(), (0.5, float("nan"), float("inf"))),
    (pa.float32(), (0.5, -1.0)),
    (pa.bool_(), (True, False)),
    (pa.string(), WORDS),
    (pa.large_string(), WORDS),
    (pa.binary(), (b"", b"\0\xff")),
    (pa.binary(3), (b"abc", b"\0\0\0")),
    (pa.decimal128(12, 3), (Decimal("1.250"), Decimal("-7.000"))),
    (pa.decimal256(60, 2), (Decimal("1.25"), Decimal(10**50))),
    (pa.date32(), (0, 20_000 * DAY_NS)),
    (pa.timestamp("us", "Europe/Rome"), (0, 10**15)),
    (pa.duration("ms"), (0, 10**9)),
    (pa.time64("us"), (0, 86_399_999_999)),
    (pa.list_(pa.int32()), ([], [1], [1, None, 3])),
    (pa.large_list(pa.string()), ([], ["a"], [None, "bc"])),
    (pa.list_(pa.int16(), 2), ([1, 2], [3, None])),
    (pa.struct([("a", pa.int8()), ("b", pa.string())]), ({"a": 1, "b": None}, {"a": None, "b": "x"})),
    (pa.list_(pa.struct([("a", pa.list_(pa.int8()))])), ([], [{"a": [1]}, {"a": None}])),
    (pa.map_(pa.string(), pa.int64()), ([], [("a", 1), ("b", None)])),
    (pa.dictionary(pa.int8(), pa.string()), ("red", "green", "blue")),
    (pa.dictionary(pa.uint16(), pa.int64()), (7, 9)),
    (pa.null(), (None,)),
    (pa.float16(), (np.float16(1.5), np.float16(-2))),
    (pa.month_day_nano_interval(), ((1, 2, 3), (0, 0, 0))),
    (pa.time32("s"), (0, 86_399)),
    (pa.list_(pa.string(), 2), (["a", "b"], ["c", None])),
    (pa.list_view(pa.int32()), ([], [1], [2, None])),
    (pa.large_list_view(pa.string()), ([], ["a"], [None])),
    *((maker(), values) for maker, values in NEWER),
)

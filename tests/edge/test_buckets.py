"""Buckets never change: pinned values, a twin in plain Python, equal for equal keys of every encoding."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import INT64, tries, words
from tests.kernels.test_hashing import KEYS
from tests.kernels.test_text import text_of
from tests.support.families import FAMILIES, Family, array_of
from tests.support.rows import DAY_NS, tick_of, values_of
from weft.edge.buckets import BUCKETS, PRIME, SHIFT, buckets_of
from weft.edge.encodings import plain_type
from weft.edge.families import key_family
from weft.kernels.buckets import pick_buckets, stir_bytes, stir_words

ODD, MASK = 0x9E3779B97F4A7C15, 2**64 - 1
KINDS = [(family, kind) for family in FAMILIES for kind in family.kinds]


def buckets(*columns: Any, others: Sequence[pa.DataType] = (), times: Any = None) -> list[int]:
    """Return the buckets of rows with these keys; `others` are the other side's types, where unlike."""
    fields = [pa.field("left", column.type) for column in columns]
    theirs = [pa.field("right", kind) for kind in others] or fields
    families = [key_family(one, other) for one, other in zip(fields, theirs, strict=True)]
    rows = len(columns[0])
    found = buckets_of(columns, families, np.zeros(rows, np.int64) if times is None else times)
    assert found.dtype == np.int32
    return found.tolist()


# Where a key's rows lie in every checkpoint that was ever written: these numbers may never change.
PINNED: list[tuple[pa.Array, list[int]]] = [
    (pa.array([0, 1, -1, 42, 2**63 - 1, -(2**63)], pa.int64()), [0, 2157, 1617, 2731, 2352, 3458]),
    (pa.array([0, 1, -1, 42], pa.int8()), [0, 2157, 1617, 2731]),
    (pa.array(["", "a", "b", "weft", "é", "e\u0301"]), [0, 2723, 2215, 1866, 3275, 3585]),
    (pa.array(["12345678", "123456789", "a longer word, of more than sixteen bytes"]), [2468, 1513, 3567]),
    (pa.array([b"", b"\0", b"\xff\xfe"], pa.binary()), [0, 2576, 3736]),
    (pa.array([True, False]), [2157, 0]),
    (
        pa.array([Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), Decimal("123456.78")]),
        [0, 1429, 3543, 2586],
    ),
    (pa.array([Decimal("1.5"), Decimal(10) ** 37 * 9], pa.decimal256(60, 1)), [1429, 3909]),
    (pa.array([0, 1, 19_675], pa.int32()).view(pa.date32()), [0, 2157, 694]),
    (pa.array([0, 1, 1_700_000_000]).view(pa.timestamp("s")), [0, 2637, 2278]),
    (pa.array([0, 10**6, 1_700_000_000 * 10**6]).view(pa.timestamp("us", "UTC")), [0, 2637, 2278]),
]


@pytest.mark.parametrize(("keys", "expected"), PINNED, ids=[str(keys.type) for keys, _ in PINNED])
def test_pinned_buckets_stay(keys: pa.Array, expected: list[int]) -> None:
    assert buckets(keys) == expected


def test_pinned_buckets_of_two_columns_stay() -> None:
    assert buckets(pa.array([1, 1, 2]), pa.array(["a", "b", "a"])) == [2318, 4052, 1281]


def test_pinned_buckets_of_rows_without_a_key_stay() -> None:
    times = np.array([0, 1, 2, 1_700_000_000])
    assert buckets(pa.nulls(4, pa.string()), times=times) == [0, 2157, 2571, 1840]


def test_a_join_on_time_alone_has_one_bucket() -> None:
    assert buckets_of([], [], np.arange(5)).tolist() == [0] * 5


def mixed(word: int) -> int:
    spread = (word & MASK) * ODD & MASK
    return (spread ^ spread >> 32) * ODD & MASK


def hashed(value: bytes) -> int:
    """Return the hash of a byte string: eight at a time, the last eight overlapping the ones before."""
    state, done, size = mixed(len(value)), 0, len(value)
    while done + 8 <= size:
        state = mixed(state ^ int.from_bytes(value[done : done + 8], "little"))
        done += 8
    if done < size:
        rest = value[-8:] if size >= 8 else value
        state = mixed(state ^ int.from_bytes(rest, "little"))
    return state


def canonical(kind: pa.DataType, value: Any) -> int:
    """Return the word that stands for a key; times are given in nanoseconds."""
    if isinstance(value, bytes | str):
        return hashed(value.encode() if isinstance(value, str) else value)
    if isinstance(value, Decimal):
        exact = Fraction(value)
        return mixed(exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME)
    if pa.types.is_date(kind):
        return mixed(value // DAY_NS)
    return mixed(int(value))


def twin(kinds: Sequence[pa.DataType], values: Sequence[Any], time: int = 0) -> int:
    """Return the bucket of one row."""
    if None in values:
        return mixed(mixed(time)) >> SHIFT
    state = 0
    for kind, value in zip(kinds, values, strict=True):
        state = mixed(state ^ canonical(plain_type(kind), value))
    return state >> SHIFT


def reaches(kind: pa.DataType, other: pa.DataType, value: Any) -> bool:
    """Tell whether the other side could hold a value; where not, the row is one without a key."""
    kind, other = plain_type(kind), plain_type(other)
    if pa.types.is_integer(kind):
        return value < 2**63 or other == pa.uint64()
    if pa.types.is_timestamp(kind):
        return abs(value) // min(tick_of(kind), tick_of(other)) < 2**63
    return True


@pytest.mark.parametrize(("family", "kind"), KINDS, ids=[f"{family.name}-{kind}" for family, kind in KINDS])
def test_equal_keys_of_every_encoding_have_the_twins_bucket(family: Family, kind: pa.DataType) -> None:
    values = [*family.pool_of(kind), None]
    column = array_of(kind, values)
    known, times = values_of(column), np.arange(len(values)) * 1000
    for other in family.kinds:
        told = [value if value is None or reaches(kind, other, value) else None for value in known]
        expected = [twin([kind], [value], time) for value, time in zip(told, times.tolist(), strict=True)]
        assert buckets(column, others=[other], times=times) == expected, other
        cut = pa.chunked_array([column.slice(0, 1), column.slice(1, 0), column.slice(1)])
        assert buckets(cut, others=[other], times=times) == expected, other


@given(
    st.lists(st.tuples(INT64, st.none() | KEYS, st.none() | st.booleans()), max_size=30), st.integers(0, 9)
)
@tries(60)
def test_several_columns_have_the_twins_bucket(rows: list[tuple[Any, ...]], first: int) -> None:
    kinds = [pa.int64(), pa.binary(), pa.bool_()]
    columns = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    times = np.arange(first, first + len(rows))
    expected = [twin(kinds, row, time) for row, time in zip(rows, times.tolist(), strict=True)]
    assert buckets(*columns, times=times) == expected


@given(st.lists(st.tuples(INT64, INT64), max_size=30))
@tries(60)
def test_words_are_stirred_as_the_twin_stirs_them(rows: list[tuple[int, int]]) -> None:
    hashes = words([old for old, _ in rows])
    stir_words(words([value for _, value in rows]), hashes)
    assert [one & MASK for one in hashes.tolist()] == [mixed(old ^ mixed(value)) for old, value in rows]
    found = np.zeros(len(rows), np.int32)
    pick_buckets(hashes, SHIFT, found)
    assert found.tolist() == [(one & MASK) >> SHIFT for one in hashes.tolist()]


@given(st.lists(st.tuples(INT64, KEYS), max_size=30))
@tries(60)
def test_bytes_are_stirred_as_the_twin_stirs_them(rows: list[tuple[int, bytes]]) -> None:
    hashes = words([old for old, _ in rows])
    stir_bytes(*text_of([value for _, value in rows]), hashes)
    assert [one & MASK for one in hashes.tolist()] == [mixed(old ^ hashed(value)) for old, value in rows]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.decimal128(38, 2), pa.null()),
        (pa.decimal256(60, 2), pa.null()),
        (pa.int64(), pa.null()),
        (pa.string(), pa.null()),
    ],
    ids=str,
)
def test_a_column_of_nulls_without_a_type_is_spread_by_time(one: pa.DataType, other: pa.DataType) -> None:
    for rows in (0, 1, 5):
        times = np.arange(rows)
        expected = [twin([one], [None], time) for time in range(rows)]
        assert buckets(pa.nulls(rows, other), others=[one], times=times) == expected
        assert buckets(pa.nulls(rows, one), others=[other], times=times) == expected


MANY = 1_000_000


def spread(found: Sequence[int]) -> float:
    """Return the rows of the fullest bucket over their mean."""
    counts = np.bincount(found, minlength=BUCKETS)
    assert counts.size == BUCKETS
    return float(counts.max() / counts.mean())


@pytest.mark.parametrize("step", [1, 2, 1000, 2**20, 2**32, 2**43, 10**9, 86_400 * 10**6])
def test_whole_numbers_spread_over_all_buckets(step: int) -> None:
    assert spread(buckets(pa.array(np.arange(MANY) * step))) < 1.6


@pytest.mark.parametrize("prefix", ["", "user-", "a prefix of more than eight bytes "])
def test_text_spreads_over_all_buckets(prefix: str) -> None:
    numbers = pa.array(np.arange(MANY)).cast(pa.string())
    texts = [f"{prefix}{number}" for number in numbers.to_pylist()] if prefix else numbers
    assert spread(buckets(pa.array(texts))) < 1.6


def test_decimals_and_times_spread_over_all_buckets() -> None:
    numbers = pa.array(np.arange(MANY))
    assert spread(buckets(numbers.view(pa.timestamp("s")))) < 1.6
    assert spread(buckets(numbers.cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)))) < 1.6
    assert spread(buckets(pa.nulls(MANY, pa.int64()), times=np.arange(MANY) * 1000)) < 1.6


def test_two_columns_of_few_values_spread_over_all_buckets() -> None:
    ones, others = np.divmod(np.arange(MANY), 1000)
    assert spread(buckets(pa.array(ones), pa.array(others))) < 1.6


def test_no_byte_behind_a_key_is_read() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.kernels.guarded_buckets"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = [line.split()[-1] for line in done.stdout.splitlines()]
    assert told == ["True"] * 48

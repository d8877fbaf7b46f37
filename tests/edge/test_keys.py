"""Key codes: equal exactly where the keys are, whatever types, encodings and layouts they come in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.families import FAMILIES, Family, array_of
from tests.support.rows import values_of
from tests.support.streams import relaid
from weft.edge.families import key_family
from weft.edge.keys import Codes, as_words, both, key_codes

BY_NAME = {family.name: family for family in FAMILIES}
PAIRS = [(family.name, one, two) for family in FAMILIES for one, two in product(family.kinds, repeat=2)]


def codes_in(codes: Codes) -> list[Any]:
    """Return each row's code as a plain value, None where it has none."""
    valid = [True] * len(codes) if codes.valid is None else codes.valid.tolist()
    if codes.data is None:
        return [value if has else None for value, has in zip(codes.values.tolist(), valid, strict=True)]
    bounds = codes.values.tolist()
    return [
        codes.data[one:two].tobytes() if has else None
        for one, two, has in zip(bounds[:-1], bounds[1:], valid, strict=True)
    ]


def column_of(family: Family, kind: pa.DataType) -> tuple[pa.Array, list[Any]]:
    """Return all that a type holds of a family's values, nulls among them, and exact values to compare."""
    column = array_of(kind, [*family.pool_of(kind), None, *family.pool_of(kind)[::-1], None])
    return column, values_of(column)


def known(left: Sequence[Any], right: Sequence[Any]) -> list[list[bool]]:
    """Tell for each pair of rows whether both have a key, and the same."""
    return [[one is not None and one == two for two in right] for one in left]


@pytest.mark.parametrize(("name", "one", "two"), PAIRS, ids=[f"{one}-{two}" for _, one, two in PAIRS])
def test_codes_of_two_types_are_equal_where_the_keys_are(name: str, one: Any, two: Any) -> None:
    family = key_family(pa.field("k", one), pa.field("k", two))
    columns = [column_of(BY_NAME[name], kind) for kind in (one, two)]
    codes = [key_codes([column], [family]) for column, _ in columns]
    assert as_words([family]) == all(one.data is None for one in codes)
    assert known(*map(codes_in, codes)) == known(columns[0][1], columns[1][1])


@pytest.mark.parametrize("name", BY_NAME)
@given(st.integers(0, 2**32 - 1))
def test_codes_do_not_depend_on_the_layout(name: str, seed: int) -> None:
    random = Random(seed)
    family = BY_NAME[name]
    kind = random.choice(family.kinds)
    column, _ = column_of(family, kind)
    table = relaid(random, pa.table({"k": column}))
    field = pa.field("k", kind)
    fields = pa.field("k", table.schema.field(0).type), field
    families = [key_family(*fields)]
    assert codes_in(key_codes([table.column(0)], families)) == codes_in(key_codes([column], families))


PARTS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [0, 1, 256, -1, None]),
    (pa.string(), ["", "a", "ab", "b", "\0", "\1\0\0\0\0\0\0\0", "a\0", None]),
    (pa.uint8(), [0, 1, None]),
    (pa.binary(), [b"", b"\0" * 8, b"\1" + b"\0" * 7, b"a", None]),
    (pa.date32(), [date(1970, 1, 1), date(1970, 1, 2), None]),
    (pa.decimal256(60, 2), [0, 1, None]),
]


@pytest.mark.parametrize("parts", [(0, 1), (1, 0), (1, 1), (1, 3), (1, 1, 1), (0, 2), (0, 0, 0), (4, 5, 1)])
def test_codes_of_several_columns_are_equal_where_all_of_them_are(parts: tuple[int, ...]) -> None:
    rows = list(product(*(PARTS[part][1] for part in parts)))
    fields = [pa.field(str(at), PARTS[part][0]) for at, part in enumerate(parts)]
    families = [key_family(one, one) for one in fields]
    columns = [
        pa.array(values, field.type) for field, values in zip(fields, zip(*rows, strict=True), strict=True)
    ]
    assert not as_words(families)
    codes = codes_in(key_codes(columns, families))
    assert [code is None for code in codes] == [None in row for row in rows]
    whole = [code for code in codes if code is not None]
    assert len(set(whole)) == len(whole) == len({row for row in rows if None not in row})


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=30), st.integers(0, 3))
def test_timestamps_are_compared_in_the_finer_unit_and_what_leaves_int64_is_equal_to_nothing(
    stored: list[int | None], unit: int
) -> None:
    kinds = [pa.timestamp(name) for name in ("s", "ms", "us", "ns")]
    column = pa.array(stored, pa.int64()).view(kinds[unit])
    for finer, kind in enumerate(kinds[unit:]):
        family = key_family(pa.field("k", kinds[unit]), pa.field("k", kind))
        scaled = [None if value is None else value * 1000**finer for value in stored]
        expected = [None if value is None or (abs(value) >= 2**63 and finer) else value for value in scaled]
        assert codes_in(key_codes([column], [family])) == expected


@pytest.mark.parametrize("kinds", [("int64", "uint64"), ("uint64", "int8"), ("uint64", "uint64")])
def test_unsigned_keys_above_int64_meet_only_their_like(kinds: tuple[str, str]) -> None:
    fields = [pa.field("k", pa.type_for_alias(kind)) for kind in kinds]
    family = key_family(*fields)
    values = [0, 127, 2**63 - 1, 2**63, 2**64 - 1]
    codes = codes_in(key_codes([pa.array(values, pa.uint64())], [family]))
    if kinds[0] == kinds[1]:
        assert len(set(codes)) == 5
        assert None not in codes
    else:
        assert codes == [0, 127, 2**63 - 1, None, None]


def test_a_column_of_nulls_has_no_keys() -> None:
    for kind in (pa.int64(), pa.string(), pa.decimal128(38, 0), pa.timestamp("ns")):
        family = key_family(pa.field("k", pa.null()), pa.field("k", kind))
        assert codes_in(key_codes([pa.nulls(3)], [family])) == [None] * 3


def test_chunks_are_read_as_one_column_and_none_as_no_rows() -> None:
    for kind, chunks in (
        (pa.int16(), [[1, None], [], [2, -1]]),
        (pa.string(), [["a", None], [], ["bc", ""]]),
        (pa.string(), [["a"], ["b"]]),
        (pa.decimal128(30, 2), [[1, None], [], [2]]),
    ):
        family = key_family(pa.field("k", kind), pa.field("k", kind))
        column = pa.chunked_array(chunks, kind)
        whole = pa.array([value for chunk in chunks for value in chunk], kind)
        assert codes_in(key_codes([column], [family])) == codes_in(key_codes([whole], [family]))
        assert len(key_codes([pa.chunked_array([], kind)], [family])) == 0


def test_both_is_where_both_hold_and_none_is_everywhere() -> None:
    one, two = np.array([True, True, False]), np.array([True, False, False])
    assert both(None, None) is None
    assert both(one, None) is one
    assert both(None, two) is two
    combined = both(one, two)
    assert combined is not None
    assert combined.tolist() == [True, False, False]

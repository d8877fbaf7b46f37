"""Keys of one family match by value, whatever their encoding; nulls in keys never match."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.support.cases import Case, Side, assert_joined, side_of
from tests.support.drawing import drawn, pairs
from tests.support.families import FAMILIES, Column, Family, array_of
from tests.support.rows import DAY_NS, pairs_of
from tests.support.runtimes import Runtime, few, joined


def keyed(left: Column, right: Column) -> Case:
    """Return a case whose keys are these columns, all times equal."""
    sides = [
        {
            "id": (pa.int64(), range(len(key.values))),
            "key": (key.kind, key.values),
            "ts": (pa.int64(), [0] * len(key.values)),
        }
        for key in (left, right)
    ]
    return Case(side_of(sides[0]), side_of(sides[1]), 0, 0)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_encoding_of_a_family_matches_every_other_by_value(runtime: Runtime, family: Family) -> None:
    for left, right in few(runtime, [*product(family.kinds, repeat=2)]):
        case = keyed(
            Column(left, [*family.pool_of(left), None]), Column(right, [None, *family.pool_of(right)])
        )
        case = runtime.fitting(case)
        assert_joined(case, runtime.join(case, Random(f"{left}{right}")))


def test_null_keys_never_match_each_other(runtime: Runtime) -> None:
    told = drawn("""
        side  | id | key | k2 | ts
        left  | l1 | .   | 1  | 0
        left  | l2 | 1   | .  | 0
        left  | l3 | 1   | 1  | 0
        right | r1 | .   | 1  | 0
        right | r2 | 1   | .  | 0
        right | r3 | 1   | 1  | 0
        right | r4 | .   | .  | 0
    """)
    assert joined(runtime, told.case(0, 0, on=(("key", "key"), ("k2", "k2")))) == pairs("l3 r3")


def test_a_null_and_a_word_inside_a_dictionary_count_by_value(runtime: Runtime) -> None:
    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, None, 3], pa.int8()), pa.array(["a", None, "a", "b"])
    )
    left = pa.table({"id": [0, 1, 2, 3, 4], "key": words, "ts": [0] * 5})
    right = pa.table({"id": [0, 1, 2], "key": ["a", None, "b"], "ts": [0] * 3})
    case = Case(side_of(left), side_of(right), 0, 0)
    expected = {(0, 0): 1, (2, 0): 1, (4, 2): 1}
    assert joined(runtime, case) == expected
    result = weft.interval_join(left, right, **case.arguments())
    assert (
        dict.fromkeys(zip(result["id"].to_pylist(), result["id_right"].to_pylist(), strict=True), 1)
        == expected
    )


def test_the_parts_of_a_key_do_not_run_together(runtime: Runtime) -> None:
    told = drawn(
        """
        side  | id | key | k2  | ts
        left  | l1 | a   | bc  | 0
        left  | l2 | ab  | c   | 0
        left  | l3 | abc |     | 0
        right | r1 | a   | bc  | 0
        right | r2 | ab  | c   | 0
        right | r3 |     | abc | 0
        """,
        {"key": pa.string(), "k2": pa.large_string()},
    )
    assert joined(runtime, told.case(0, 0, on=(("key", "key"), ("k2", "k2")))) == pairs("l1 r1, l2 r2")


def test_one_half_of_a_key_is_not_a_match(runtime: Runtime) -> None:
    told = drawn("""
        side  | id | key | k2 | ts
        left  | l1 | 1   | 2  | 0
        right | r1 | 1   | 3  | 0
        right | r2 | 2   | 1  | 0
        right | r3 | 1   | 2  | 0
    """)
    assert joined(runtime, told.case(0, 0, on=(("key", "key"), ("k2", "k2")))) == pairs("l1 r3")


def test_key_columns_of_mixed_families_match_pair_by_pair(runtime: Runtime) -> None:
    names = [family.name for family in FAMILIES]

    def side(encoding: int) -> Side:
        columns = {"id": Column(pa.int64(), range(4)), "ts": Column(pa.int64(), [0] * 4)}
        for family in FAMILIES:
            kind = family.kinds[encoding % len(family.kinds)]
            first, second = family.pool_of(kind)[:2]
            columns[family.name] = Column(kind, [first, first, second, second])
        return Side(columns)

    sides = side(0), side(1)
    case = runtime.fitting(Case(sides[0], sides[1], 0, 0, tuple((name, name) for name in names)))
    assert_joined(case, runtime.join(case, Random(0)))


def test_without_keys_time_alone_decides(runtime: Runtime) -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 10
        left  | l2 | .   | 20
        right | r1 | 2   | 11
        right | r2 | 3   | 21
        right | r3 | .   | 30
    """)
    assert joined(runtime, told.case(0, 1, on=())) == pairs("l1 r1, l2 r2")


def test_key_columns_may_have_unlike_names_and_both_are_kept(runtime: Runtime) -> None:
    told = drawn("""
        side  | id | a | b | ts
        left  | l1 | 1 | 5 | 0
        right | r1 | 7 | 1 | 0
        right | r2 | 1 | 7 | 0
    """)
    case = told.case(0, 0, on=(("a", "b"),))
    assert joined(runtime, case) == pairs("l1 r1")
    result = runtime.join(case, Random(0))
    assert result.column_names == ["id", "a", "b", "ts", "id_right", "a_right", "b_right", "ts_right"]
    assert result["b_right"].to_pylist() == [1]


def test_a_hundred_thousand_keys_find_their_partners(runtime: Runtime) -> None:
    count = 100_000
    keys = [(at * 2_654_435_761) % 2**40 - 2**39 for at in range(count)]
    left = side_of(
        {"id": (pa.int64(), range(count)), "key": (pa.int64(), keys), "ts": (pa.int64(), range(count))}
    )
    right = side_of(
        {
            "id": (pa.int64(), range(count)),
            "key": (pa.int64(), keys[::-1]),
            "ts": (pa.int64(), range(count)[::-1]),
        }
    )
    case = Case(left, right, 0, 0)
    if runtime.name != "stream":
        result = runtime.join(case, Random(0), sizes=(30_000,))
    else:
        op = weft.stream.IntervalJoin(**case.arguments(), lateness=count)
        tables = [op.push(left=left.table(part), right=right.table(part)) for part in _parts(count, 8192)]
        result = pa.concat_tables(tables)
    assert result.num_rows == count
    assert all(
        one + two == count - 1
        for one, two in zip(result["id"].to_pylist(), result["id_right"].to_pylist(), strict=True)
    )


def _parts(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


DISTINCT: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int32": (pa.int32(), lambda at: at * 7919 - 2**31 + 1),
    "string": (pa.string(), lambda at: f"{at % 100} is key {at}"),
    "dictionary": (pa.dictionary(pa.int16(), pa.string()), lambda at: f"word {at}"),
    "decimal": (pa.decimal128(30, 4), lambda at: Decimal(at * 10**20) / 10000),
    "date": (pa.date32(), lambda at: at * DAY_NS),
    "timestamp": (pa.timestamp("ns", "UTC"), lambda at: 1_700_000_000_000_000_000 + at * 1000),
    "binary": (pa.binary(), lambda at: at.to_bytes(3, "little")),
}


@pytest.mark.parametrize(("kind", "key"), DISTINCT.values(), ids=list(DISTINCT))
@pytest.mark.parametrize("double", [False, True], ids=["one column", "two columns"])
def test_thousands_of_distinct_keys_stay_apart(
    runtime: Runtime, kind: pa.DataType, key: Callable[[int], Any], double: bool
) -> None:
    count = 6000
    order = Random(1).sample(range(count), count)
    sides = [
        Side(
            {
                "id": Column(pa.int64(), ids),
                "key": Column(kind, [key(at // 2 if double else at) for at in ids]),
                "half": Column(pa.bool_(), [at % 2 == 1 for at in ids]),
                "ts": Column(pa.int64(), [0] * count),
            }
        )
        for ids in (range(count), order)
    ]
    on = (("key", "key"), ("half", "half")) if double else (("key", "key"),)
    case = runtime.fitting(Case(sides[0], sides[1], 0, 0, on))
    result = runtime.join(case, Random(2), sizes=(300, 2500))
    assert pairs_of(result) == {(at, at): 1 for at in range(count)}


def test_keys_that_share_a_hash_prefix_or_length_stay_apart(runtime: Runtime) -> None:
    words = [
        f"{'x' * length}{tail}"
        for length in (0, 7, 8, 15, 16, 31, 32, 33)
        for tail in ("a", "b", "\0", "\0\0")
    ]
    case = keyed(Column(pa.string(), words), Column(pa.large_string(), words[::-1]))
    assert joined(runtime, case, tries=2) == {(at, len(words) - 1 - at): 1 for at in range(len(words))}


def test_array_of_gives_back_what_it_was_given() -> None:
    for family in FAMILIES:
        for kind in family.kinds:
            assert array_of(kind, family.pool_of(kind)).type == kind

"""Payload passes through unchanged, every type, layout and name; an empty side gives an empty table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.support.cases import Case, assert_joined, side_of
from tests.support.drawing import drawn
from tests.support.families import PAYLOADS, array_of
from tests.support.rows import multiset, rows_of
from tests.support.runtimes import Runtime, few


def carrying(kind: pa.DataType, values: tuple[Any, ...], rows: int = 9) -> Case:
    """Return a case whose both sides carry these values and nulls, each row meeting three others."""
    told = (None, *values)
    side = side_of(
        {
            "id": (pa.int64(), range(rows)),
            "key": (pa.string(), ["k"] * rows),
            "ts": (pa.int64(), range(rows)),
            "p": (kind, [told[at % len(told)] for at in range(rows)]),
        }
    )
    return Case(side, side, -1, 1)


@pytest.mark.parametrize(("kind", "values"), PAYLOADS, ids=[str(kind) for kind, _ in PAYLOADS])
def test_a_payload_of_any_type_passes_through_unchanged(
    runtime: Runtime, kind: pa.DataType, values: tuple[Any, ...]
) -> None:
    case = carrying(kind, values)
    for seed in few(runtime, range(4), 1):
        assert_joined(case, runtime.join(case, Random(seed)))


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_an_empty_side_gives_an_empty_table_with_all_columns(runtime: Runtime, side: str) -> None:
    for kind, values in few(runtime, PAYLOADS, 2):
        full, none = carrying(kind, values), carrying(kind, values, rows=0)
        case = Case(
            none.left if side != "right" else full.left, none.right if side != "left" else full.right, -1, 1
        )
        case = runtime.fitting(case)
        result = runtime.join(case, Random(0))
        assert result.num_rows == 0
        assert [(field.name, field.type) for field in result.schema] == case.fields()


def test_rows_that_all_miss_give_an_empty_table_with_all_columns(runtime: Runtime) -> None:
    case = carrying(pa.list_(pa.int8()), ([1],))
    apart = Case(case.left, case.right, 1000, 2000)
    assert_joined(apart, runtime.join(apart, Random(0)))


def test_many_payload_columns_keep_their_order(runtime: Runtime) -> None:
    wide = {"id": (pa.int64(), range(5)), "key": (pa.int8(), [1] * 5), "ts": (pa.int64(), range(5))}
    wide |= {
        f"p{at}": (kind, [values[row % len(values)] for row in range(5)])
        for at, (kind, values) in enumerate(PAYLOADS)
    }
    case = runtime.fitting(Case(side_of(wide), side_of(wide), 0, 2))
    assert_joined(case, runtime.join(case, Random(1)))


def test_dictionaries_of_every_push_survive_small_indices() -> None:
    # 3 x 100 words do not fit the int8 indices of one dictionary: the result may hold several.
    case = carrying(pa.int64(), (0,))
    kind = pa.dictionary(pa.int8(), pa.string())
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=-100, upper=100, lateness=100)
    for part in range(3):
        words = array_of(kind, [f"word {part} {at}" for at in range(100)])
        op.push(left=pa.table({"id": range(100), "key": ["k"] * 100, "ts": [part] * 100, "p": words}))
    result = op.push(right=case.right.table([0]))
    assert result.schema.field("p").type == kind
    got = [word for chunk in result["p"].chunks for word in chunk.cast(pa.string()).to_pylist()]
    assert sorted(got) == sorted(f"word {part} {at}" for part in range(3) for at in range(100))


def test_a_slice_of_a_longer_table_brings_only_its_own_rows(runtime: Runtime) -> None:
    del runtime
    for kind, values in PAYLOADS:
        case = carrying(kind, values)
        whole = case.left.table()
        part = whole.slice(2, 4)
        expected = case.expected([2, 3, 4, 5], [2, 3, 4, 5])
        result = weft.interval_join(part, part, **case.arguments())
        assert multiset(rows_of(result)) == multiset(expected)


RARE: dict[str, Callable[[], pa.Array]] = {
    "run-end encoded": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 3], pa.int32()), pa.array(["a", None])
    ),
    "sparse union": lambda: pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    ),
    "dense union": lambda: pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["a"])]
    ),
    "dictionary of lists": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1]), pa.array([[1], [2, 3]])
    ),
    "ordered dictionary": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.int8()), pa.array(["lo", "hi"]), ordered=True
    ),
    "struct of a dictionary": lambda: pa.StructArray.from_arrays(
        [pa.array(["a", None, "b"]).dictionary_encode()], ["x"]
    ),
    "tensors": lambda: pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), [2]), pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2))
    ),
    "list of views": lambda: pa.array([["a" * 20], None, ["b"]], pa.list_(pa.string_view())),
    "struct of a view": lambda: pa.array(
        [{"a": "a" * 20}, None, {"a": "b"}], pa.struct([("a", pa.string_view())])
    ),
}


@pytest.mark.parametrize("made", RARE.values(), ids=list(RARE))
@pytest.mark.parametrize("pushes", [0, 1, 3], ids=["table", "one push", "row by row"])
def test_rare_types_pass_through_unchanged_too(made: Callable[[], pa.Array], pushes: int) -> None:
    array = made()
    table = pa.table({"key": [1, 1, 1], "ts": [0, 1, 2], "p": array})
    if pushes == 0:
        result = weft.interval_join(table, table, on="key", time="ts", lower=-5, upper=5)
    else:
        op = weft.stream.IntervalJoin(on="key", time="ts", lower=-5, upper=5, lateness=9)
        parts = [table.slice(at, 3 // pushes) for at in range(pushes)]
        result = pa.concat_tables([op.push(side, part) for part in parts for side in ("left", "right")][1:])
    result.validate(full=True)
    assert result.schema.field("p").type == result.schema.field("p_right").type == array.type
    assert Counter(map(repr, result["p"].to_pylist())) == Counter(map(repr, array.to_pylist() * 3))


def test_field_metadata_and_nullability_are_kept(runtime: Runtime) -> None:
    del runtime
    schema = pa.schema(
        [
            pa.field("key", pa.int64(), nullable=False),
            pa.field("ts", pa.int64(), nullable=False),
            pa.field("p", pa.string(), metadata={"unit": "furlong"}),
        ]
    )
    table = pa.table({"key": [1], "ts": [0], "p": ["x"]}, schema=schema)
    other = table.rename_columns(["key", "at", "q"]).cast(
        pa.schema([schema.field("key"), schema.field("ts").with_name("at"), schema.field("p").with_name("q")])
    )
    result = weft.interval_join(table, other, on="key", left_time="ts", right_time="at", lower=0, upper=0)
    for name, like in (("ts", "ts"), ("p", "p"), ("at", "ts"), ("q", "p")):
        assert result.schema.field(name).nullable == schema.field(like).nullable
        assert result.schema.field(name).metadata == schema.field(like).metadata


CLASHING = drawn("""
    side  | id | key | ts | p
    left  | l1 | 1   | 0  | x
    right | r1 | 1   | 0  | y
""")


@pytest.mark.parametrize(
    ("suffixes", "expected"),
    [
        (("", "_right"), ["id", "key", "ts", "p", "id_right", "ts_right", "p_right"]),
        (("_l", "_r"), ["id_l", "key", "ts_l", "p_l", "id_r", "ts_r", "p_r"]),
        (("_l", ""), ["id_l", "key", "ts_l", "p_l", "id", "ts", "p"]),
    ],
)
def test_suffixes_tell_clashing_names_apart(
    runtime: Runtime, suffixes: tuple[str, str], expected: list[str]
) -> None:
    case = CLASHING.case(0, 0, suffixes=suffixes)
    result = runtime.join(case, Random(0))
    assert result.column_names == expected
    assert_joined(case, result)


@pytest.mark.parametrize("columns", [("p_right",), ("id", "id_right"), ("key",), ("ts_right", "p")])
def test_columns_keeps_some_columns_of_the_result(runtime: Runtime, columns: tuple[str, ...]) -> None:
    case = CLASHING.case(0, 0, columns=columns)
    assert_joined(case, runtime.join(case, Random(0)))


def test_columns_leaves_every_row_where_no_payload_is_wanted(runtime: Runtime) -> None:
    case = carrying(pa.string(), ("x",))
    narrow = Case(case.left, case.right, -1, 1, columns=("key",))
    result = runtime.join(narrow, Random(0))
    assert result.column_names == ["key"]
    assert result.num_rows == len(case.expected()) == 25

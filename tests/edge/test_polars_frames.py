"""Polars: the schema is kept exactly, whether the join reads a column or only carries it."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.edge.roundtrip import ROWS, through
from weft.edge.frames import read_batch, read_inputs
from weft.errors import InputError

pl = pytest.importorskip("polars")

MOMENT = dt.datetime(2020, 1, 1, 12, 0, 0, 1000)
NUMBERS = [
    pl.Int8,
    pl.Int16,
    pl.Int32,
    pl.Int64,
    pl.UInt8,
    pl.UInt16,
    pl.UInt32,
    pl.UInt64,
    pl.Float32,
    pl.Float64,
]
READABLE: dict[str, Any] = {
    **{str(dtype): pl.Series([1, None, 3], dtype=dtype) for dtype in NUMBERS},
    "NaN beside null": pl.Series([float("nan"), None, -0.0]),
    "Boolean": pl.Series([True, None, False]),
    "String": pl.Series(["a", None, "a longer text than fits into a view"]),
    "Binary": pl.Series([b"a", None, b""]),
    "Categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "Enum": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a", "z"])),
    "Decimal": pl.Series([Decimal("1.20"), None, Decimal("3.1")], dtype=pl.Decimal(20, 3)),
    "Date": pl.Series([dt.date(2020, 1, 1), None, dt.date(1500, 1, 1)]),
    "Time": pl.Series([dt.time(1, 2, 3), None, dt.time(0)]),
    **{
        f"Datetime {unit} {zone}": pl.Series([MOMENT, None, MOMENT], dtype=pl.Datetime(unit, zone))
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Oslo")
    },
    **{
        f"Duration {unit}": pl.Series([dt.timedelta(1), None, -dt.timedelta(1)], dtype=pl.Duration(unit))
        for unit in ("ms", "us", "ns")
    },
    "List": pl.Series([[1], None, []], dtype=pl.List(pl.Int16)),
    "Struct": pl.Series([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
    "Array": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int64, 2)),
    "Null": pl.Series([None, None, None]),
}
CARRIED: dict[str, Any] = {
    "Int128": pl.Series([2**100, None, -1], dtype=pl.Int128),
    "List of Enum": pl.Series([["a"], None, []], dtype=pl.List(pl.Enum(["a"]))),
    "Object": pl.Series([{1}, None, object], dtype=pl.Object),
}


def assert_same(result: Any, frame: Any, rows: Any = ROWS) -> None:
    expected = frame[list(rows)]
    assert result.schema == frame.schema
    if frame["x"].dtype == pl.Object:
        assert result["x"].to_list() == expected["x"].to_list()
    else:
        assert result.equals(expected)


@pytest.mark.parametrize("name", READABLE | CARRIED)
def test_a_carried_column_comes_back_as_it_was(name: str) -> None:
    frame = pl.DataFrame({"x": (READABLE | CARRIED)[name]})
    assert_same(through(frame), frame)


@pytest.mark.parametrize("name", READABLE)
def test_a_column_the_join_reads_comes_back_as_it_was(name: str) -> None:
    frame = pl.DataFrame({"x": READABLE[name]})
    assert_same(through(frame, read=["x"]), frame)


@pytest.mark.parametrize("name", READABLE | CARRIED)
def test_no_rows_and_no_pairs_keep_the_schema(name: str) -> None:
    frame = pl.DataFrame({"x": (READABLE | CARRIED)[name]})
    for read in ((), ("x",)) if name in READABLE else ((),):
        for empty in (through(frame, read=read, rows=()), through(frame.clear(), read=read, rows=())):
            assert empty.schema == frame.schema
            assert empty.height == 0


@pytest.mark.parametrize("name", READABLE)
def test_a_pushed_column_has_a_null_where_a_value_is_missing(name: str) -> None:
    batch = read_batch("left", pl.DataFrame({"x": READABLE[name]}))
    assert batch["x"].null_count == READABLE[name].null_count()


@pytest.mark.parametrize("name", ["Int128", "Object"])
def test_a_column_arrow_cannot_hold_is_refused_by_name_where_its_values_are_needed(name: str) -> None:
    frame = pl.DataFrame({"fine": [1, 2, 3], "odd": CARRIED[name]})
    came = {"Int128": "Int128", "Object": "Python objects"}[name]
    for call in (
        lambda: read_inputs(frame, frame, read={"left": ["odd"], "right": []}),
        lambda: read_batch("left", frame),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == (
            f'column "odd" of `left` must hold values that Arrow has a type for; got {came}.\n\n'
            'Hint: cast it to a type that Arrow has, or leave it out: left.drop("odd")'
        )


def test_columns_of_unlike_chunks_are_read_in_order() -> None:
    pieces = [pl.Series([1]), pl.Series([2, 3])]
    ragged = pl.DataFrame({"k": ["a", "b", "c"]}).with_columns(v=pl.concat(pieces, rechunk=False))
    frame = pl.concat([ragged, ragged], rechunk=False)
    result = through(frame, read=["k"], rows=range(6))
    assert result.equals(frame)


def test_several_inputs_of_a_side_are_one_in_order() -> None:
    first = pl.DataFrame({"x": [1, 2], "s": ["a", "b"], "c": pl.Series(["a", "b"], dtype=pl.Categorical)})
    second = pl.DataFrame(
        {"x": [3], "s": [None], "c": pl.Series(["c"], dtype=pl.Categorical)}, schema=first.schema
    )
    inputs = read_inputs([first, second], [first], read={"left": ["x"], "right": []})
    result = inputs.restore(inputs.left, [("left", name) for name in inputs.left.column_names])
    assert result.to_dict(as_series=False) == {"x": [1, 2, 3], "s": ["a", "b", None], "c": ["a", "b", "c"]}
    assert result.schema == first.schema


def test_a_result_takes_each_column_from_its_own_side_under_its_new_name() -> None:
    left = pl.DataFrame({"k": ["a", "b"], "v": ["x", "y"]})
    right = pl.DataFrame({"k": ["a", "b"], "v": pl.Series(["p", "q"], dtype=pl.Enum(["p", "q"]))})
    inputs = read_inputs(left, right, read={"left": ["k"], "right": ["k"]})
    assert inputs.left.schema.types == [pa.large_string(), pa.int32()]
    table = pa.table({"k": inputs.left["k"], "v": inputs.left["v"], "v_right": inputs.right["v"]})
    result = inputs.restore(table, [("left", "k"), ("left", "v"), ("right", "v")])
    assert result.equals(left.with_columns(v_right=right["v"]))
    assert result.schema["v_right"] == right.schema["v"]


def test_the_schema_of_a_stream_decides_what_nulls_are() -> None:
    schema = pa.schema({"x": pa.int64(), "y": pa.string()})
    assert read_batch("left", pl.DataFrame({"x": [None], "y": ["a"]}), schema).schema == schema

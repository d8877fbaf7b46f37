"""pandas: every dtype comes back with its values, whether the join reads the column or only carries it."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.edge.roundtrip import ROWS, through
from weft.edge.frames import read_batch, read_inputs
from weft.errors import ColumnError, InputError

pd = pytest.importorskip("pandas")

DAYS = ["2020-01-01", None, "2021-07-01 12:00:00.000001"]
UTC2 = dt.timezone(dt.timedelta(hours=2))


def objects(*values: Any) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return pd.Series(array, dtype=object)


def times(unit: str, zone: Any = None) -> Any:
    column = pd.Series(pd.to_datetime(DAYS, format="ISO8601")).astype(f"datetime64[{unit}]")
    return column if zone is None else column.dt.tz_localize(zone)


def arrow(values: list[Any], kind: pa.DataType) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, kind)])))


def categories(*values: Any, **options: Any) -> Any:
    return pd.Series(pd.Categorical(list(values), **options))


# The join may read these as keys or times (floats so far only as payload), and carry them.
READABLE: dict[str, Callable[[], Any]] = {
    **{
        f"numpy {name}": (lambda name=name: pd.Series([0, 1, 3], dtype=name))
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32")
    },
    "numpy uint64 at its end": lambda: pd.Series([0, 1, 2**64 - 1], dtype="uint64"),
    "numpy int64 at its ends": lambda: pd.Series([-(2**63), 0, 2**63 - 1]),
    "numpy float64 with NaN and minus zero": lambda: pd.Series([-0.0, np.nan, np.inf]),
    "numpy bool": lambda: pd.Series([True, False, True]),
    **{f"datetime64[{unit}]": (lambda unit=unit: times(unit)) for unit in ("s", "ms", "us", "ns")},
    **{f"zoned {unit}": (lambda unit=unit: times(unit, "Europe/Oslo")) for unit in ("s", "ms", "us", "ns")},
    "zoned utc": lambda: times("us", "UTC"),
    "zoned by an offset": lambda: times("ns", UTC2),
    **{
        f"timedelta64[{unit}]": (
            lambda unit=unit: pd.Series(pd.to_timedelta(["1s", None, "-2s"])).astype(f"timedelta64[{unit}]")
        )
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"nullable {name}": (lambda name=name: pd.Series([0, None, 3], dtype=name))
        for name in ("Int8", "Int64", "UInt8", "UInt64", "Float32", "Float64")
    },
    "boolean": lambda: pd.Series([True, None, False], dtype="boolean"),
    "str as pandas reads it": lambda: pd.Series(["a", None, "ø"]),
    "string": lambda: pd.Series(["a", None, "ø"], dtype="string"),
    "string[python]": lambda: pd.Series(["a", None, "ø"], dtype="string[python]"),
    "string[pyarrow]": lambda: pd.Series(["a", None, "ø"], dtype="string[pyarrow]"),
    "arrow int64": lambda: arrow([1, None, 3], pa.int64()),
    "arrow string": lambda: arrow(["a", None, "b"], pa.string()),
    "arrow timestamp": lambda: arrow([1, None, 3], pa.timestamp("ms", "UTC")),
    "arrow decimal": lambda: arrow([Decimal("1.20"), None, Decimal("3.10")], pa.decimal128(10, 2)),
    "arrow date": lambda: arrow([1, None, 3], pa.date32()),
    "arrow list": lambda: arrow([[1], None, []], pa.list_(pa.int64())),
    "arrow dictionary": lambda: arrow(["a", None, "b"], pa.dictionary(pa.int8(), pa.string())),
    "arrow float with NaN and null": lambda: arrow([float("nan"), None, 1.0], pa.float64()),
    "category": lambda: categories("a", None, "b"),
    "category, ordered, with unused ones": lambda: categories(
        "a", None, "b", categories=["z", "b", "a"], ordered=True
    ),
    "category of integers": lambda: categories(3, None, 1),
    "category of times": lambda: pd.Series(times("us")).astype("category"),
    "category of nothing": lambda: categories(None, None, None),
    "objects: text": lambda: objects("a", None, "ø"),
    "objects: integers": lambda: objects(1, None, 2**62),
    "objects: booleans": lambda: objects(True, None, False),
    "objects: bytes": lambda: objects(b"a", None, b""),
    "objects: decimals": lambda: objects(Decimal("1.20"), None, Decimal("3.1")),
    "objects: dates": lambda: objects(dt.date(2020, 1, 1), None, dt.date(1500, 1, 1)),
    "objects: times of day": lambda: objects(dt.time(1, 2), None, dt.time(3)),
    "objects: datetimes": lambda: objects(dt.datetime(2020, 1, 1), None, dt.datetime(1500, 1, 1)),
    "objects: zoned datetimes": lambda: objects(dt.datetime(2020, 1, 1, tzinfo=UTC2), None, None),
    "objects: nanoseconds": lambda: objects(pd.Timestamp(1), None, pd.Timestamp(10**18)),
    "objects: durations": lambda: objects(pd.Timedelta(1), None, dt.timedelta(1)),
    "objects: nothing": lambda: objects(None, None, None),
    "objects: lists": lambda: objects([1], None, [2, 3]),
}

# Payload only: Arrow has no type for them, or would change them.
CARRIED: dict[str, Callable[[], Any]] = {
    "halves": lambda: pd.Series([1, np.nan, 3], dtype="float16"),
    "long doubles": lambda: pd.Series(np.array([1, 2, 3], dtype=np.longdouble)),
    "complex": lambda: pd.Series([1j, 2, 3]),
    "periods": lambda: pd.Series(pd.PeriodIndex(["2020-01", "NaT", "2020-02"], freq="M")),
    "intervals": lambda: pd.Series(pd.IntervalIndex.from_tuples([(0, 1), None, (1, 2)])),
    "sparse integers": lambda: pd.Series(pd.arrays.SparseArray([0, 1, 0])),
    "sparse floats": lambda: pd.Series(pd.arrays.SparseArray([np.nan, 1.0, np.nan])),
    "category of intervals": lambda: pd.Series(pd.cut([1, 2, 3], 2)),
    "category of several kinds": lambda: categories("a", 1, None),
    "objects: several kinds": lambda: objects(1, "a", None),
    "objects: text and bytes": lambda: objects("a", b"a", None),
    "objects: dates and datetimes": lambda: objects(dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5), None),
    "objects: huge integers": lambda: objects(2**70, None, -1),
    "objects: sets": lambda: objects({1}, None, {2}),
    "objects: tuples": lambda: objects((1, 2), None, (3,)),
    "objects: ragged dicts": lambda: objects({"a": 1}, {"b": 2}, {}),
    "objects: arrays": lambda: objects(np.array([1]), None, np.array([2, 3])),
    "objects: None, NaN, NaT and NA": lambda: objects(None, np.nan, pd.NaT),
    "objects: any": lambda: objects(object, None, print),
}


def assert_same(result: Any, frame: Any, rows: Any = ROWS) -> None:
    expected = frame.iloc[list(rows)].reset_index(drop=True)
    pd.testing.assert_frame_equal(result, expected, check_exact=True)
    for name in frame.columns:
        if frame[name].dtype == object:
            got, wanted = list(result[name]), list(expected[name])
            assert [type(one) for one in got] == [type(one) for one in wanted]


@pytest.mark.parametrize("name", READABLE | CARRIED)
def test_a_carried_column_comes_back_as_it_was(name: str) -> None:
    frame = pd.DataFrame({"x": (READABLE | CARRIED)[name]()})
    assert_same(through(frame), frame)


@pytest.mark.parametrize("name", READABLE)
def test_a_column_the_join_reads_comes_back_with_its_dtype_and_equal_values(name: str) -> None:
    frame = pd.DataFrame({"x": READABLE[name]()})
    expected = frame.iloc[list(ROWS)].reset_index(drop=True)
    pd.testing.assert_frame_equal(through(frame, read=["x"]), expected, check_exact=True)


@pytest.mark.parametrize("name", READABLE | CARRIED)
def test_no_rows_and_no_pairs_keep_the_dtypes(name: str) -> None:
    frame = pd.DataFrame({"x": (READABLE | CARRIED)[name]()})
    assert_same(through(frame, rows=()), frame, rows=())
    assert_same(through(frame.iloc[:0], rows=()), frame, rows=())
    if name in READABLE:
        assert_same(through(frame, read=["x"], rows=()), frame, rows=())
        assert_same(through(frame.iloc[:0], read=["x"], rows=()), frame, rows=())


@pytest.mark.parametrize("name", READABLE)
def test_a_pushed_column_has_a_null_where_a_value_is_missing(name: str) -> None:
    column = READABLE[name]()
    batch = read_batch("left", pd.DataFrame({"x": column}))
    missing = 0 if column.dtype.kind == "f" and isinstance(column.dtype, np.dtype) else column.isna().sum()
    if "NaN and null" not in name:
        assert batch.column(0).null_count == missing
    assert batch.num_rows == 3
    assert batch.schema.metadata is None


def test_nan_stays_nan_and_does_not_become_null() -> None:
    table = read_batch("left", pd.DataFrame({"x": [1.0, np.nan]}))
    assert table["x"].null_count == 0
    assert np.isnan(table["x"].to_pylist()[1])


def test_nanoseconds_in_objects_are_not_cut_off() -> None:
    table = read_batch(
        "left", pd.DataFrame({"x": objects(pd.Timestamp(1), None), "y": objects(pd.Timedelta(1), None)})
    )
    assert table.schema.types == [pa.timestamp("ns"), pa.duration("ns")]
    assert [column.cast(pa.int64()).to_pylist() for column in table.columns] == [[1, None], [1, None]]


def test_columns_that_no_one_reads_travel_as_row_numbers() -> None:
    frame = pd.DataFrame({"key": objects("a", "b"), "note": objects("x", {1}), "size": [1.5, 2.5]})
    inputs = read_inputs(frame, frame, read={"left": ["key"], "right": ["note_"]})
    assert inputs.left.schema.types == [pa.string(), pa.int32(), pa.float64()]
    assert inputs.left["note"].to_pylist() == [0, 1]
    assert inputs.right.schema.types == [pa.int32(), pa.int32(), pa.float64()]


def test_a_result_takes_each_column_from_its_own_side_under_its_new_name() -> None:
    left = pd.DataFrame({"k": ["a", "b"], "v": objects(1, "one")})
    right = pd.DataFrame({"k": ["a", "b"], "v": pd.Series([1, 2], dtype="Int8")})
    inputs = read_inputs(left, right, read={"left": ["k"], "right": ["k"]})
    table = pa.table({"k": inputs.left["k"], "v": inputs.left["v"], "v_right": inputs.right["v"]})
    result = inputs.restore(table, [("left", "k"), ("left", "v"), ("right", "v")])
    pd.testing.assert_frame_equal(result, left.assign(v_right=right["v"]))


def test_a_result_has_a_fresh_index_whatever_the_index_was() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": objects(1, 2, 3)})
    frame.index = pd.Index(["c", "a", "a"], name="id")
    result = through(frame, read=["x"])
    assert list(result.columns) == ["x", "y"]
    assert result.index.equals(pd.RangeIndex(4))
    assert isinstance(result.index, pd.RangeIndex)
    assert list(result["y"]) == [3, 1, 1, 2]


def test_a_key_in_the_index_is_refused_with_the_word_to_add() -> None:
    frame = pd.DataFrame({"x": [1]}, index=pd.Index(["c"], name="id"))
    with pytest.raises(ColumnError) as caught:
        read_inputs(frame, frame, read={"left": ["id"], "right": []})
    assert str(caught.value) == (
        '`left` must have "id" as a column; got it as a level of the index.\n\nHint: left.reset_index()'
    )


def test_a_result_without_columns_keeps_its_rows() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3]})
    inputs = read_inputs(frame, frame, read={"left": ["x"], "right": ["x"]})
    assert len(inputs.restore(inputs.left, [("left", "x")])) == 3


def test_columns_of_a_block_slices_and_strides_are_read_as_they_look() -> None:
    frame = pd.DataFrame(np.arange(24).reshape(6, 4), columns=list("abcd"))
    assert_same(through(frame[::2], read=["a"]), frame[::2])
    assert_same(through(frame.T.rename(columns=str), read=["0"]), frame.T.rename(columns=str))


def test_columns_of_swapped_bytes_are_read_and_come_back_swapped() -> None:
    frame = pd.DataFrame({"x": np.array([1, 2, 3], dtype=">i8"), "y": np.array([1, 2, 3], dtype=">f4")})
    result = through(frame, read=["x"])
    assert result.to_dict("list") == {"x": [3, 1, 1, 2], "y": [3, 1, 1, 2]}
    assert result.dtypes.equals(frame.dtypes)


UNWRITABLE = {"sparse integers", "sparse floats", "arrow dictionary"}  # to pandas itself


@pytest.mark.parametrize("name", [name for name in READABLE | CARRIED if name not in UNWRITABLE])
def test_a_result_can_be_written_to(name: str) -> None:
    frame = pd.DataFrame({"x": (READABLE | CARRIED)[name]()})
    for read in ((), ("x",)) if name in READABLE else ((),):
        result = through(frame, read=read)
        result.loc[[1], "x"] = result["x"].iloc[[3]].array
        assert repr(result["x"].iloc[1]) == repr(result["x"].iloc[3])


def test_the_result_does_not_share_memory_that_a_write_would_reach() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": objects(1, 2, 3)})
    result = through(frame, read=["x"], rows=(0, 1, 2))
    result.loc[0, "x"] = 9
    result.loc[0, "y"] = 9
    assert frame.to_dict("list") == {"x": [1, 2, 3], "y": [1, 2, 3]}


def test_several_inputs_of_a_side_are_one_in_order() -> None:
    first = pd.DataFrame({"x": [1, 2], "c": categories("a", "b"), "o": objects(1, "a")})
    second = pd.DataFrame({"x": [3], "c": categories("b", categories=["a", "b"]), "o": objects(None)})
    second.index = pd.Index([7])
    inputs = read_inputs([first, second], [first], read={"left": ["x"], "right": []})
    result = inputs.restore(inputs.left, [("left", name) for name in inputs.left.column_names])
    expected = pd.DataFrame({"x": [1, 2, 3], "c": categories("a", "b", "b"), "o": objects(1, "a", None)})
    pd.testing.assert_frame_equal(result, expected)


def test_a_subclass_of_dataframe_is_read_as_one() -> None:
    class Mine(pd.DataFrame):
        pass

    assert through(Mine({"x": [1, 2, 3]}))["x"].tolist() == [3, 1, 1, 2]


UNREADABLE = {
    "objects that pandas calls mixed-integer": objects(1, "a"),
    "objects that pandas calls mixed": objects("a", b"a"),
    "dates and times of several kinds": objects(dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)),
    "several kinds (date, naive or zoned)": objects(
        dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=UTC2)
    ),
    "int too": objects(2**70, 1),
    "Sparse[int64, 0]": pd.Series(pd.arrays.SparseArray([0, 1])),
    "complex128": pd.Series([1j, 2]),
}


@pytest.mark.parametrize("words", UNREADABLE)
def test_a_column_arrow_cannot_hold_is_refused_by_name_where_its_values_are_needed(words: str) -> None:
    frame = pd.DataFrame({"fine": [1, 2], "odd": UNREADABLE[words]})
    for call in (
        lambda: read_inputs(frame, frame, read={"left": ["odd"], "right": []}),
        lambda: read_batch("left", frame),
    ):
        with pytest.raises(InputError) as caught:
            call()
        message = str(caught.value)
        assert message.startswith('column "odd" of `left` must hold values that Arrow has a type for; got ')
        assert words in message
        assert message.endswith(
            '\n\nHint: make it a column of one type, for instance left["odd"].astype(str)'
        )


REFUSED = {
    "one level": (
        lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        "`left` must have one level of column names; got a MultiIndex of 2.",
        'left.set_axis(left.columns.map("_".join), axis=1)',
    ),
    "a number": (
        lambda: pd.DataFrame([[1]]),
        "`left` must have text as column names; got int (0).",
        "left.rename(columns=str)",
    ),
    "None": (
        lambda: pd.DataFrame([[1, 2]], columns=["a", None]),
        "`left` must have text as column names; got ",
        "left.rename(columns=str)",
    ),
    "twice": (
        lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        '`left` must have each column once; got "a" more than once.',
        "rename or drop one of them",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_column_names_that_cannot_be_used_are_refused(name: str) -> None:
    make, message, hint = REFUSED[name]
    for call in (lambda: through(make()), lambda: read_batch("left", make())):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.message.startswith(message)
        assert caught.value.hint == hint


SCHEMA = pa.schema({"x": pa.string(), "d": pa.decimal128(10, 3), "c": pa.dictionary(pa.int8(), pa.string())})


def test_the_schema_of_a_stream_decides_where_the_values_leave_a_type_open() -> None:
    nothing = pd.DataFrame({"x": objects(None), "d": objects(Decimal("1.5")), "c": categories(None)})
    text = pd.DataFrame({"x": ["a"], "d": objects(None), "c": categories("a")})
    for frame in (nothing, text):
        assert read_batch("left", frame, SCHEMA).schema.types == SCHEMA.types


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pd.Series([1]), pa.int32()),
        (pd.Series(["1"]), pa.int64()),
        (objects(Decimal("1.2345")), pa.decimal128(10, 2)),
        (objects(Decimal(10**9)), pa.decimal128(10, 2)),
        (objects({"a": 1}), pa.struct({"b": pa.int64()})),
        (categories(*[str(at) for at in range(300)]), pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_a_batch_of_another_type_is_left_as_it_is(column: Any, wanted: pa.DataType) -> None:
    frame = pd.DataFrame({"x": column})
    natural = read_batch("left", frame)
    assert read_batch("left", frame, pa.schema({"x": wanted})).schema == natural.schema
    assert natural.schema.types != [wanted]


def test_columns_besides_the_schema_are_left_as_they_are() -> None:
    table = read_batch("left", pd.DataFrame({"x": objects(None), "y": [1]}), pa.schema({"z": pa.int8()}))
    assert table.schema == pa.schema({"x": pa.null(), "y": pa.int64()})

"""Which frames are taken, and the word to add where something is none."""

import datetime as dt
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest

from tests.edge.roundtrip import through
from weft.edge.frame_kinds import kind_of
from weft.edge.frames import read_batch, read_inputs
from weft.errors import InputError, NotYetError

TABLE = pa.table({"x": [1, 2, 3], "t": pa.array([1, None, 3], pa.timestamp("us"))})
BATCH = TABLE.to_batches()[0]
READ = {"left": ["x"], "right": ["x"]}
ALLOWED = "`left` must be a pyarrow Table, a pandas or a Polars DataFrame; got "
FALLBACK = "give a pyarrow Table, a pandas or a Polars DataFrame"


class Capsule:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise NotImplementedError


NO_FRAMES: dict[str, tuple[Any, str, str]] = {
    "a number": (42, "int (42)", FALLBACK),
    "a boolean": (True, "bool (True)", FALLBACK),
    "nothing": (None, "None", "give a frame, for an empty side one without rows"),
    "a dict": ({"x": [1]}, "dict", "pa.table(left)"),
    "a path as text": (
        "a.parquet",
        'str ("a.parquet")',
        "read the file first, for instance pyarrow.parquet.read_table(left)",
    ),
    "a path": (
        Path("a.parquet"),
        "PosixPath",
        "read the file first, for instance pyarrow.parquet.read_table(left)",
    ),
    "a batch": (BATCH, "pyarrow.RecordBatch", "pa.Table.from_batches([left])"),
    "a reader": (TABLE.to_reader(), "pyarrow.RecordBatchReader", "left.read_all()"),
    "a dataset": (pyarrow.dataset.dataset(TABLE), "pyarrow.InMemoryDataset", "left.to_table()"),
    "an array": (pa.array([1]), "pyarrow.Int64Array", 'pa.table({"name": left})'),
    "a column": (TABLE["x"], "pyarrow.ChunkedArray", 'pa.table({"name": left})'),
    "a numpy array": (np.arange(3), "numpy.ndarray", 'pa.table({"name": left}), one array a column'),
    "another library's frame": (Capsule(), "Capsule", "pa.table(left)"),
    "an object": (dt, "module", FALLBACK),
}


@pytest.mark.parametrize("name", NO_FRAMES)
def test_what_is_no_frame_is_refused_with_the_word_to_add(name: str) -> None:
    given, came, hint = NO_FRAMES[name]
    with pytest.raises(InputError) as caught:
        read_inputs(given, TABLE, read=READ)
    assert caught.value.message.startswith(ALLOWED)
    assert caught.value.message.endswith(f"{came}.")
    assert caught.value.hint == hint
    with pytest.raises(InputError, match=r"^`right` must be "):
        read_inputs(TABLE, given, read=READ)


@pytest.mark.parametrize("name", [name for name in NO_FRAMES if name != "a batch"])
def test_what_is_no_batch_is_refused_by_a_push(name: str) -> None:
    with pytest.raises(InputError) as caught:
        read_batch("left", NO_FRAMES[name][0])
    assert caught.value.message.startswith(
        "`left` must be a pyarrow Table or RecordBatch, a pandas or a Polars DataFrame; got "
    )


def test_a_list_is_refused_by_a_push() -> None:
    with pytest.raises(InputError) as caught:
        read_batch("left", [BATCH])
    assert caught.value.message.endswith("got list.")
    assert caught.value.hint == "push one batch at a time"


@pytest.mark.parametrize(
    ("library", "name", "hint"),
    [
        ("polars", "LazyFrame", "left.collect()"),
        ("polars", "Series", "left.to_frame()"),
        ("pandas", "Series", "left.to_frame()"),
    ],
)
def test_a_frame_in_the_making_is_refused_with_the_word_that_makes_it_one(
    library: str, name: str, hint: str
) -> None:
    module = pytest.importorskip(library)
    with pytest.raises(InputError) as caught:
        read_inputs(getattr(module, name)(), TABLE, read=READ)
    assert caught.value.message == f"{ALLOWED}{library}.{name}."
    assert caught.value.hint == hint


@pytest.mark.parametrize("module", ["pyspark.sql.classic.dataframe", "pyspark.sql.connect.dataframe"])
def test_a_pyspark_frame_is_not_there_yet(module: str) -> None:
    frame = type("DataFrame", (), {"__module__": module})()
    with pytest.raises(NotYetError) as caught:
        read_inputs(frame, TABLE, read=READ)
    assert caught.value.message == f"{ALLOWED}a PySpark DataFrame, which weft does not join yet."
    assert caught.value.hint == "left.toArrow() or left.toPandas() where the data fits into memory"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_no_library_is_asked_about_that_is_not_there_or_half_imported(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (None, types.ModuleType(library)):
        monkeypatch.setitem(sys.modules, library, module)
        assert kind_of("left", TABLE) == "arrow"
        with pytest.raises(InputError, match=r"got int \(42\)"):
            kind_of("left", 42)


def test_a_table_goes_in_and_comes_out_as_it_is() -> None:
    inputs = read_inputs(TABLE, TABLE, read=READ)
    assert inputs.kind == "arrow"
    assert inputs.left is TABLE
    assert inputs.restore(TABLE, [("left", "x"), ("left", "t")]) is TABLE
    assert through(TABLE, rows=[1]).equals(TABLE.slice(1, 1))


@pytest.mark.parametrize("frame", [TABLE, BATCH], ids=["table", "batch"])
def test_a_pushed_table_or_batch_is_taken_as_it_is(frame: Any) -> None:
    assert read_batch("left", frame) is frame
    assert read_batch("left", frame, pa.schema({"x": pa.int8()})) is frame


def test_columns_that_share_a_name_are_refused() -> None:
    twice = pa.table([[1], [2]], names=["x", "x"])
    with pytest.raises(InputError, match=r'^`left` must have each column once; got "x" more than once'):
        read_inputs(twice, TABLE, read=READ)


def test_several_inputs_of_a_side_are_one_in_order() -> None:
    some = TABLE.slice(0, 1).replace_schema_metadata({"a": "b"})
    strict = TABLE.cast(pa.schema([TABLE.field("x").with_nullable(False), TABLE.field("t")]))
    inputs = read_inputs([some, TABLE, strict], (TABLE,), read=READ)
    assert inputs.left["x"].to_pylist() == [1, 1, 2, 3, 1, 2, 3]
    assert inputs.right is TABLE


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read_inputs(TABLE, [], read=READ)
    assert caught.value.message == "`right` must hold at least one frame; got an empty list."
    assert caught.value.hint == "for an empty side give a frame without rows"


def test_a_list_in_a_list_is_refused() -> None:
    for given in ([[TABLE], TABLE], [TABLE, [TABLE]]):
        with pytest.raises(InputError) as caught:
            read_inputs(given, TABLE, read=READ)
        assert "`left` must be a frame or a list of frames; got list as `left[" in caught.value.message
        assert caught.value.hint == "one flat list, a frame for each physical input of `left`"


def test_what_is_no_frame_in_a_list_is_refused_by_its_place() -> None:
    with pytest.raises(InputError, match=r"^`left\[1\]` must be .*; got int \(42\)\."):
        read_inputs([TABLE, 42], TABLE, read=READ)
    with pytest.raises(InputError, match=r"Hint: pa.Table.from_batches\(\[left\[0\]\]\)$"):
        read_inputs([BATCH, BATCH], TABLE, read=READ)


@pytest.mark.parametrize(
    ("other", "message", "hint"),
    [
        (
            TABLE.drop_columns("t"),
            '`left[1]` must have the columns of `left[0]`; got no "t".',
            "left[1].select(left[0].column_names)",
        ),
        (
            TABLE.append_column("z", pa.array([1, 2, 3])),
            '`left[1]` must have the columns of `left[0]`; got "z" besides.',
            "left[1].select(left[0].column_names)",
        ),
        (
            TABLE.select(["t", "x"]),
            '`left[1]` must have the columns of `left[0]`; got the order "t" then "x".',
            "left[1].select(left[0].column_names)",
        ),
        (
            TABLE.set_column(0, "x", pa.array([1, 2, 3], pa.int32())),
            'column "x" of `left[1]` must be int64, as in `left[0]`; got int32.',
            "left[1].cast(left[0].schema)",
        ),
    ],
)
def test_inputs_of_unlike_columns_are_refused_with_the_first_difference(
    other: pa.Table, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_inputs([TABLE, other], TABLE, read=READ)
    assert caught.value.message == message
    assert caught.value.hint == hint


def test_pandas_and_polars_inputs_of_unlike_types_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame({"c": pd.Categorical([name])}) for name in ("a", "b")]
    with pytest.raises(InputError) as caught:
        read_inputs(frames[0], frames, read=READ)
    assert caught.value.message == (
        'column "c" of `right[1]` must be category, as in `right[0]`; got another category.'
    )
    assert caught.value.hint == "right[1].astype(right[0].dtypes)"
    pl = pytest.importorskip("polars")
    with pytest.raises(
        InputError, match=r'column "x" of `left.1.` must be Int64, as in `left.0.`; got Float64'
    ):
        read_inputs([pl.DataFrame({"x": [1]}), pl.DataFrame({"x": [1.0]})], TABLE, read=READ)


def frames_of_every_kind() -> dict[str, Any]:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return {"arrow": TABLE, "pandas": pd.DataFrame({"x": [1]}), "polars": pl.DataFrame({"x": [1]})}


@pytest.mark.parametrize(
    ("left", "right", "hint"),
    [
        ("arrow", "pandas", "pa.Table.from_pandas(right, preserve_index=False)"),
        ("pandas", "arrow", "pa.Table.from_pandas(left, preserve_index=False)"),
        ("arrow", "polars", "right.to_arrow()"),
        ("polars", "arrow", "left.to_arrow()"),
        ("pandas", "polars", "pl.from_pandas(left)"),
        ("polars", "pandas", "pl.from_pandas(right)"),
    ],
)
def test_two_kinds_of_frames_are_refused(left: str, right: str, hint: str) -> None:
    frames = frames_of_every_kind()
    with pytest.raises(InputError) as caught:
        read_inputs(frames[left], frames[right], read=READ)
    assert caught.value.message.startswith("`left` and `right` must be frames of one kind; got a ")
    assert caught.value.hint == hint
    with pytest.raises(InputError, match=r"^`left\[0\]` and `left\[1\]` must be frames of one kind"):
        read_inputs([frames[left], frames[right]], TABLE, read=READ)


def test_every_kind_of_frame_is_known() -> None:
    for kind, frame in frames_of_every_kind().items():
        assert kind_of("left", frame) == kind
        assert read_inputs(frame, frame, read=READ).kind == kind

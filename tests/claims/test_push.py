"""A push: what it takes, what it refuses, and that a refused one leaves the operator as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import weft
from tests.support.cases import Case, side_of
from tests.support.drawing import drawn, pairs
from tests.support.families import PAYLOADS
from tests.support.rows import multiset, pairs_of, rows_of
from tests.support.stage import push_all

SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": -5, "upper": 5, "lateness": 100}

TOLD = drawn("""
    side  | id | key | ts
    left  | l1 | 1   | 10
    right | r1 | 1   | 12
    ---------------------
    right | r2 | 1   | 5
    ---------------------
    left  | l2 | 1   | 11
    ---------------------
""")
LEFT, RIGHT = TOLD.left.table(), TOLD.right.table()


def test_pairs_come_as_soon_as_both_rows_are_in_each_once() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    assert push_all(op, TOLD) == [pairs("l1 r1"), pairs("l1 r2"), pairs("l2 r1"), pairs("")]
    assert op.finish().num_rows == 0


def test_both_sides_of_one_push_meet_each_other_once() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    assert pairs_of(op.push(left=LEFT, right=RIGHT)) == pairs("l1 r1, l1 r2, l2 r1")


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "Table": lambda table: table,
    "RecordBatch": lambda table: table.to_batches()[0],
    "pandas": lambda table: table.to_pandas(),
    "Polars": pl.DataFrame,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
def test_a_push_takes_every_kind_of_frame_and_gives_a_table(frame: Callable[[pa.Table], Any]) -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    first = op.push(left=frame(LEFT), right=frame(RIGHT.slice(0, 1)))
    second = op.push("right", frame(RIGHT.slice(1, 1)))
    assert isinstance(first, pa.Table)
    assert isinstance(second, pa.Table)
    assert pairs_of(first) + pairs_of(second) == pairs("l1 r1, l1 r2, l2 r1")


def test_until_both_schemas_are_known_a_push_gives_a_table_without_columns() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    for table in (op.push("left", LEFT), op.push("left", LEFT.slice(0, 0)), op.advance(-1000)):
        assert isinstance(table, pa.Table)
        assert table.num_columns == 0
        assert table.num_rows == 0
    result = op.push("right", RIGHT.slice(0, 0))
    assert result.column_names == ["id", "key", "ts", "id_right", "ts_right"]
    assert pairs_of(op.push("right", RIGHT)) == pairs("l1 r1, l1 r2, l2 r1")


def test_schemas_given_beforehand_make_the_first_result_a_whole_table() -> None:
    op = weft.stream.IntervalJoin(**SPEC, left_schema=LEFT.schema, right_schema=RIGHT.schema)
    assert op.push("left", LEFT).column_names == ["id", "key", "ts", "id_right", "ts_right"]
    assert op.finish().column_names == ["id", "key", "ts", "id_right", "ts_right"]


def test_finish_before_both_schemas_are_known_gives_a_table_without_columns() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    op.push("left", LEFT)
    assert op.finish().num_columns == 0


def test_push_after_finish_is_refused() -> None:
    for end in ((), ("left",), ("left", 0)):
        op = weft.stream.IntervalJoin(**SPEC)
        op.push(left=LEFT, right=RIGHT)
        op.finish(*end)
        with pytest.raises(weft.FinishedError, match="finish"):
            op.push("left", LEFT)
        if end:
            assert op.push("right", RIGHT).num_rows == 3
        else:
            with pytest.raises(weft.FinishedError):
                op.push("right", RIGHT)


def test_an_ended_input_refuses_rows_and_the_others_go_on() -> None:
    op = weft.stream.IntervalJoin(**SPEC, sources=(2, 1))
    op.push("left", LEFT, source=0)
    op.finish("left", source=0)
    with pytest.raises(weft.FinishedError):
        op.push("left", LEFT, source=0)
    op.push("left", LEFT, source=1)
    assert op.push("right", RIGHT).num_rows == 6


def renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns(["id", "key", "time"])


def wider(table: pa.Table) -> pa.Table:
    return table.append_column("more", pa.array([0] * len(table)))


def retyped(table: pa.Table) -> pa.Table:
    return table.set_column(1, "key", table["key"].cast(pa.int32()))


def reordered(table: pa.Table) -> pa.Table:
    return table.select(["key", "id", "ts"])


BAD_PUSHES: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "a renamed column": (lambda op: op.push("left", renamed(LEFT)), weft.InputError),
    "a column more": (lambda op: op.push("left", wider(LEFT)), weft.InputError),
    "another type": (lambda op: op.push("left", retyped(LEFT)), weft.InputError),
    "a column missing": (lambda op: op.push("left", LEFT.drop_columns(["id"])), weft.InputError),
    "one good side, one bad": (lambda op: op.push(left=LEFT, right=wider(RIGHT)), weft.InputError),
    "one bad side, one good": (lambda op: op.push(left=retyped(LEFT), right=RIGHT), weft.InputError),
    "no frame": (lambda op: op.push("left", 42), weft.InputError),
    "one good side, no frame": (lambda op: op.push(left=LEFT, right=42), weft.InputError),
    "no side of that name": (lambda op: op.push("middle", LEFT), weft.SpecError),
    "no input of that number": (lambda op: op.push("left", LEFT, source=1), weft.SpecError),
    "a negative input": (lambda op: op.push("left", LEFT, source=-1), weft.SpecError),
    "nothing at all": (lambda op: op.push(), weft.WeftError),
    "a promise as text": (lambda op: op.advance("soon"), weft.WeftError),
    "a promise as a float": (lambda op: op.advance(1.5), weft.WeftError),
    "a promise for no side": (lambda op: op.advance(5, side="middle"), weft.SpecError),
    "an end of no side": (lambda op: op.finish("middle"), weft.SpecError),
    "an end of no input": (lambda op: op.finish("left", source=7), weft.SpecError),
    "a snapshot that is none": (lambda op: op.restore(b"not a snapshot"), weft.StateError),
}


@pytest.mark.parametrize(("bad", "error"), BAD_PUSHES.values(), ids=list(BAD_PUSHES))
def test_after_a_refused_call_the_operator_is_as_it_was(
    bad: Callable[[Any], Any], error: type[Exception]
) -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    op.push(left=LEFT.slice(0, 1), right=RIGHT.slice(0, 1))
    metrics, snapshot = op.metrics, op.snapshot()
    with pytest.raises(error):
        bad(op)
    assert op.metrics == metrics
    assert op.snapshot() == snapshot
    assert pairs_of(op.push(left=LEFT.slice(1, 1), right=RIGHT.slice(1, 1))) == pairs("l1 r2, l2 r1")


@pytest.mark.parametrize(("kind", "values"), PAYLOADS, ids=[str(kind) for kind, _ in PAYLOADS])
def test_refused_pushes_leave_payloads_of_every_type_whole(
    kind: pa.DataType, values: tuple[Any, ...]
) -> None:
    side = side_of(
        {
            "id": (pa.int64(), range(4)),
            "key": (pa.int64(), [1] * 4),
            "ts": (pa.int64(), [10, 11, 12, 0]),
            "p": (kind, [(None, *values)[at % (len(values) + 1)] for at in range(4)]),
        }
    )
    op = weft.stream.IntervalJoin(**SPEC | {"lateness": 5}, late="fail")
    for at in (0, 1, 2):
        op.push(left=side.table([at]), right=side.table([at]))
        for _ in range(2):
            with pytest.raises(weft.LateRowError):
                op.push(right=side.table([3]))
    result = op.push(left=side.table([0]), right=side.table([2]))
    expected = Case(side, side, -5, 5).expected([0, 1, 2, 0], [0, 1, 2, 2])
    assert multiset(rows_of(result)) <= multiset(expected)
    assert result.num_rows == 4 + 4 - 1


def test_a_refused_first_push_fixes_no_schema() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    with pytest.raises(weft.InputError):
        op.push(left=LEFT, right=RIGHT.drop_columns(["key"]))
    with pytest.raises(weft.InputError):
        op.push(left=wider(LEFT), right=RIGHT.set_column(1, "key", pa.array(["1", "1"])))
    assert pairs_of(op.push(left=LEFT, right=RIGHT)) == pairs("l1 r1, l1 r2, l2 r1")


def test_a_null_in_a_column_that_came_without_nulls_by_its_schema_is_refused() -> None:
    strict = pa.schema(
        [LEFT.schema.field("id").with_nullable(False), *[LEFT.schema.field(at) for at in (1, 2)]]
    )
    op = weft.stream.IntervalJoin(**SPEC)
    op.push(left=LEFT.cast(strict), right=RIGHT)
    assert op.push(left=LEFT).num_rows == 3  # no null in it: the declaration still holds
    with pytest.raises(weft.InputError, match="id"):
        op.push(left=LEFT.set_column(0, "id", pa.nulls(2, pa.string())))


def test_a_schema_that_comes_in_another_column_order_is_refused_or_joined_by_name() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    op.push(left=LEFT.slice(0, 1), right=RIGHT)
    try:
        result = op.push("left", reordered(LEFT.slice(1, 1)))
    except weft.InputError:
        return
    assert pairs_of(result) == pairs("l2 r1")


@pytest.mark.parametrize("rows", [1, 5000])
@pytest.mark.parametrize("known", [True, False], ids=["schemas known", "schemas unknown"])
def test_a_batch_changed_after_its_push_changes_no_result(rows: int, known: bool) -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    one = pd.DataFrame({"id": [0], "key": [1], "ts": [10]})
    if known:
        op.push(left=one.iloc[:0], right=one.iloc[:0])
    arrays = {"id": np.arange(rows), "key": np.arange(rows) + 1, "ts": np.full(rows, 10)}
    op.push("left", pa.table(arrays))
    for array in arrays.values():
        array[:] = 99
    result = op.push("right", one)
    assert result.to_pylist() == [{"id": 0, "key": 1, "ts": 10, "id_right": 0, "ts_right": 10}]


def test_results_given_out_stay_as_they_were_given() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    results = [op.push(left=LEFT, right=RIGHT) for _ in range(50)]
    for at, result in enumerate(results):
        result.validate(full=True)
        # The n-th push meets all the others: 3 pairs a couple of pushes, both ways.
        assert result.num_rows == 3 * (2 * at + 1)
        assert pairs_of(result) == pairs("l1 r1, l1 r2, l2 r1 ," + "l1 r1, l1 r2, l2 r1," * (2 * at))


def test_two_operators_know_nothing_of_each_other() -> None:
    one, two = weft.stream.IntervalJoin(**SPEC), weft.stream.IntervalJoin(**SPEC)
    one.push("left", LEFT)
    two.push("right", RIGHT)
    assert pairs_of(two.push("left", LEFT.slice(0, 0))) == pairs("")
    assert pairs_of(one.push("right", RIGHT)) == pairs("l1 r1, l1 r2, l2 r1")


def test_an_operator_joins_a_stream_with_itself_row_by_row_with_both_roles() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    result = op.push(left=LEFT, right=LEFT)
    assert pairs_of(result) == pairs("l1 l1, l1 l2, l2 l1, l2 l2")

"""Contenders are compared by count and checksum: the checksum sees rows, not their order."""

from __future__ import annotations

import importlib.util

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bench.data import SECOND, Stream
from bench.joins import JoinCase, answer, as_arrow, checksum
from bench.model import Answer, Setting
from bench.peers import CONTENDERS, contender
from bench.workloads.shapes import case_of, text_case_of

NAMES = ["key", "x", "text"]
ROWS = pa.table(
    {"key": [1, 2, 3], "x": pa.array([10, None, 30]), "text": pa.array(["a", "b", None])},
)
PEERS = [name for name in CONTENDERS if not name.startswith("weft")]


def test_the_order_of_rows_does_not_change_the_checksum() -> None:
    assert checksum(ROWS.take(pa.array([2, 0, 1])), NAMES) == checksum(ROWS, NAMES)
    cut = pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1)])
    assert checksum(cut, NAMES) == checksum(ROWS, NAMES)


@pytest.mark.parametrize("column", NAMES)
def test_a_value_that_moves_to_another_row_changes_the_checksum(column: str) -> None:
    place = ROWS.column_names.index(column)
    moved = ROWS.set_column(place, column, ROWS[column].take(pa.array([1, 0, 2])))
    assert checksum(moved, NAMES) != checksum(ROWS, NAMES)


def test_two_columns_that_change_places_change_the_checksum() -> None:
    twice = pa.table({"a": [1, 2], "b": [3, 4]})
    assert checksum(twice, ["a", "b"]) != checksum(twice, ["b", "a"])


def test_null_is_not_zero_and_not_empty() -> None:
    filled = pa.table({"key": ROWS["key"], "x": pc.fill_null(ROWS["x"], 0), "text": ROWS["text"]})
    assert checksum(filled, NAMES) != checksum(ROWS, NAMES)


def test_string_encodings_are_one_value() -> None:
    large = ROWS.set_column(2, "text", ROWS["text"].cast(pa.large_string()))
    assert checksum(large, NAMES) == checksum(ROWS, NAMES)


def test_other_columns_than_the_results_are_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        as_arrow(ROWS, ["key", "x"])


def by_hand(case: JoinCase) -> Answer:
    """Return the answer of two loops."""
    left, right = case.left.to_pylist(), case.right.to_pylist()
    ticks = [side["ts"].cast(pa.int64()).to_pylist() for side in (case.left, case.right)]
    pairs = [
        list(one.values()) + [value for name, value in other.items() if name != "key"]
        for one, at in zip(left, ticks[0], strict=True)
        for other, then in zip(right, ticks[1], strict=True)
        if one["key"] == other["key"] and case.lower <= then - at <= case.upper
    ]
    right_types = [field.type for field in case.right.schema if field.name != "key"]
    types = case.left.schema.types + right_types
    columns = [
        pa.array(list(column), kind) for column, kind in zip(zip(*pairs, strict=True), types, strict=True)
    ]
    return Answer(len(pairs), checksum(pa.table(columns, names=case.output), case.output))


@pytest.mark.parametrize("lower", [-SECOND, -SECOND // 3, SECOND // 2])
@pytest.mark.parametrize("name", PEERS)
def test_every_peer_finds_what_two_loops_find(name: str, lower: int) -> None:
    pytest.importorskip(name.partition("-")[0])
    case = case_of(Stream(rows=1, keys=3, matches=4), lower, SECOND)(Setting(rows=200, seed=3))
    assert answer(contender(name)(case), case.output) == by_hand(case)


@pytest.mark.skipif(importlib.util.find_spec("polars") is None, reason="needs polars")
def test_peers_carry_strings_and_nulls() -> None:
    case = text_case_of(Stream(rows=1, keys=3, matches=4), -SECOND, SECOND)(Setting(rows=200, seed=3))
    assert answer(contender("polars-bucket")(case), case.output) == by_hand(case)

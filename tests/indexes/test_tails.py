"""Columns that grow: all kinds say what was added, row by row, also after rows were taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.indexes.test_columns import KINDS, PICKS, array, listed, values_of
from tests.kernels.memory import tries
from weft.columns import Held, size_of, take
from weft.edge.payload import read
from weft.indexes.tails import PIECES, HeldTail, tail_for

STEPS = st.lists(st.tuples(PICKS, st.integers(0, 60)), max_size=6)


@pytest.mark.parametrize("name", KINDS)
@tries(20)
@given(STEPS)
def test_a_tail_holds_what_was_added_and_not_taken_back(
    name: str, steps: list[tuple[list[int], int]]
) -> None:
    kind, values = KINDS[name]
    tail: Any = tail_for(read(array(kind, values, [0])))
    expected: list[str] = []
    for picks, keep in steps:
        more = array(kind, values, picks)
        tail.add(len(expected), read(more))
        expected += values_of(more)
        assert listed(tail.column(len(expected)), kind) == expected
        if keep < len(expected):
            tail.truncate(keep)
            expected = expected[:keep]
            assert listed(tail.column(len(expected)), kind) == expected


@pytest.mark.parametrize("name", KINDS)
def test_the_first_rows_can_be_looked_at_alone(name: str) -> None:
    kind, values = KINDS[name]
    tail = tail_for(read(array(kind, values, [0])))
    source = array(kind, values, range(50))
    for first in range(0, 50, 10):
        tail.add(first, read(source.slice(first, 10)))
    for rows in (0, 1, 25, 50):
        assert listed(tail.column(rows), kind) == values_of(source.slice(0, rows))


def test_size_is_of_the_rows_there_are() -> None:
    for name in ("int64", "string", "list<item: int32>"):
        kind, values = KINDS[name]
        tail = tail_for(read(array(kind, values, [0])))
        column = read(array(kind, values, range(300)))
        tail.add(0, column)
        assert tail.size_of(300) >= 0.9 * size_of(column)
        assert tail.size_of(300) <= 2 * size_of(take(column, np.arange(300)))


def test_many_small_pieces_are_joined_and_each_row_moves_seldom() -> None:
    tail = HeldTail(pa.list_(pa.int64()))
    rows = 3000
    for at in range(rows):
        tail.add(at, Held(pa.array([[at]])))
    column = tail.column(rows)
    assert column.array.num_chunks <= PIECES + 12
    assert column.array.to_pylist() == [[at] for at in range(rows)]


def test_a_text_tail_grows_with_its_bytes() -> None:
    tail: Any = tail_for(read(pa.array([""])))
    words = ["x" * (at * 37 % 900) for at in range(200)]
    for at in range(0, 200, 20):
        tail.add(at, read(pa.array(words[at : at + 20])))
    assert listed(tail.column(200), pa.string()) == [repr(word) for word in words]


@pytest.mark.parametrize("name", KINDS)
def test_a_tail_without_rows_has_no_size_and_keeps_no_arrow_memory(name: str) -> None:
    kind, values = KINDS[name]
    tail: Any = tail_for(read(array(kind, values, [0])))
    before = pa.total_allocated_bytes()
    for first in (0, 2000):
        tail.add(first, read(array(kind, values, range(2000))))
    tail.truncate(0)
    assert tail.size_of(0) == 0
    assert pa.total_allocated_bytes() - before < 1000

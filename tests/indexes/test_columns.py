"""Payload columns: rows taken, columns put behind each other; what was copied keeps nothing of its source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import tries
from tests.support.families import PAYLOADS, array_of
from weft.columns import Cells, Column, Held, Text, compacted, concat, roomy, size_of, take
from weft.edge.payload import read
from weft.edge.result import OutColumn, result_table
from weft.indexes.pairs import Pairs
from weft.kernels.fill import SPARE

KINDS = {str(kind): (kind, [None, *values]) for kind, values in PAYLOADS}
PICKS = st.lists(st.integers(0, 10), max_size=30)


def array(kind: pa.DataType, values: Sequence[Any], picks: Sequence[int]) -> pa.Array:
    """Return an array of some of the values."""
    return array_of(kind, [values[pick % len(values)] for pick in picks])


def listed(column: Column, kind: pa.DataType) -> list[Any]:
    """Return a column's values by way of a result table."""
    numbers = np.arange(len(column))
    hits = np.stack([numbers, numbers, np.ones_like(numbers)], axis=1).ravel()
    schema = pa.schema([("a", kind)])
    pairs = [Pairs(hits, len(column), "left", (column,), ())]
    return values_of(result_table(schema, [OutColumn("left", 0, kind)], pairs).column(0))


def values_of(values: Any) -> list[Any]:
    """Return Arrow values so that equal ones compare equal (NaN too)."""
    return [repr(value) for value in values.to_pylist()]


@pytest.mark.parametrize("name", KINDS)
@tries(20)
@given(PICKS, st.lists(st.integers(0, 10**6), max_size=40))
def test_take_copies_the_rows_in_their_order(name: str, picks: list[int], wanted: list[int]) -> None:
    kind, values = KINDS[name]
    source = array(kind, values, picks)
    rows = np.array([row % len(picks) for row in wanted] if picks else [], np.int64)
    column = take(read(source), rows)
    expected = values_of(source)
    assert len(column) == rows.size
    assert listed(column, kind) == [expected[row] for row in rows]
    assert (size_of(column) > 0) == (rows.size > 0) or isinstance(column, Text | Held)


@pytest.mark.parametrize("name", KINDS)
@tries(20)
@given(st.lists(PICKS, min_size=1, max_size=5))
def test_concat_puts_columns_behind_each_other(name: str, parts: list[list[int]]) -> None:
    kind, values = KINDS[name]
    arrays = [array(kind, values, picks) for picks in parts]
    column = concat([read(one) for one in arrays])
    assert len(column) == sum(map(len, parts))
    assert listed(column, kind) == [value for one in arrays for value in values_of(one)]


def room_behind(values: Any) -> int:
    """Return the bytes of an array's memory behind its values."""
    base = values if values.base is None else values.base
    return int(base.ctypes.data + base.nbytes - values.ctypes.data - values.nbytes)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("rows", [0, 1, 7, 100])
def test_what_kernels_copy_by_64_bytes_has_that_much_room_behind_it(name: str, rows: int) -> None:
    kind, values = KINDS[name]
    source = read(array(kind, values, range(rows)))
    for column in (take(source, np.arange(rows)), concat([source, source])):
        if isinstance(column, Cells | Text):
            arrays = [column.values if isinstance(column, Cells) else column.data, column.valid]
            assert all(room_behind(one) >= SPARE for one in arrays if one is not None)


@given(st.integers(0, 100), st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64, np.int64]))
def test_roomy_arrays_have_room_behind_them(count: int, word: Any) -> None:
    values = roomy(count, word)
    assert (values.size, values.dtype) == (count, word)
    assert room_behind(values) >= SPARE


COPIES: dict[str, Callable[[Column], Column]] = {
    "take": lambda column: take(column, np.arange(0, len(column), 500)),
    "concat": lambda column: take(concat([column, column]), np.arange(0, len(column), 500)),
    "all but in order": lambda column: take(column, np.arange(len(column))),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_copy_keeps_nothing_of_its_source_alive(name: str) -> None:
    kind, values = KINDS[name]
    rows = 5000
    for copied in COPIES.values():
        before = pa.total_allocated_bytes()
        source = array(kind, values, range(rows))
        size = source.get_total_buffer_size()
        copy = copied(read(source))
        del source
        # Indices of dictionaries are words of eight bytes.
        allowed = 2 * len(copy) * max(9, size // rows + 1) + 2000
        assert pa.total_allocated_bytes() - before <= allowed


def test_words_of_a_dictionary_that_no_row_uses_are_dropped() -> None:
    words = [f"{'long ' * 40}{at}" for at in range(5000)]
    whole = pa.DictionaryArray.from_arrays(pa.array(range(5000), pa.int64()), pa.array(words))
    few = take(Held(whole), np.array([17, 4000, 17]))
    assert isinstance(few, Held)
    assert few.array.to_pylist() == [words[17], words[4000], words[17]]
    assert len(few.array.dictionary) == 2
    assert size_of(few) < 1000


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12), st.sampled_from([0, 64]), st.booleans()
)
def test_compacted_says_the_same_with_fewer_words(rows: list[int | None], spare: int, ordered: bool) -> None:
    words = pa.array([f"w{at}" for at in range(100)])
    column = pa.DictionaryArray.from_arrays(pa.array(rows, pa.int64()), words, ordered=ordered)
    fewer = compacted(column, spare)
    assert fewer.type == column.type
    assert fewer.to_pylist() == column.to_pylist()
    kept = {row for row in rows if row is not None}
    assert len(fewer.dictionary) == (len(kept) if spare == 0 or 2 * len(rows) + spare < 100 else 100)


def test_one_column_put_behind_nothing_is_itself() -> None:
    column = read(pa.array([1, 2, 3]))
    assert concat([column]) is column

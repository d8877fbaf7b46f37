"""Payload: every Arrow column is read as it is, from any slice and any chunks, not copied where it can be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import tries
from tests.support.families import PAYLOADS, array_of
from weft.columns import Cells, Column, Held, Text
from weft.edge.payload import is_text, read, width_of, words
from weft.edge.stored import plain, restored, stored

KINDS = {str(kind): (kind, [None, *values]) for kind, values in PAYLOADS}
MORE: list[tuple[pa.DataType, list[Any]]] = [
    (pa.float16(), [np.float16(1.5), None, np.float16(-2)]),
    (pa.binary(1), [b"a", None, b"\0"]),
    (pa.binary(24), [b"a" * 24, None]),
    (pa.time32("s"), [0, None, 86_399]),
    (pa.month_day_nano_interval(), [(1, 2, 3), None]),
    (pa.uint64(), [2**64 - 1, None, 0]),
    (pa.large_binary(), [b"", None, b"x" * 99]),
    (pa.dictionary(pa.int16(), pa.large_string(), ordered=True), ["b", None, "a"]),
]
KINDS |= {str(kind): (kind, values) for kind, values in MORE}
PICKS = st.lists(st.integers(0, 10), max_size=40)


def made(kind: pa.DataType, values: Sequence[Any], picks: Sequence[int]) -> pa.Array:
    """Return an array of some of the values."""
    made_of = array_of(kind, [values[pick % len(values)] for pick in picks])
    if not pa.types.is_dictionary(kind):
        return made_of
    return pa.DictionaryArray.from_arrays(made_of.indices, made_of.dictionary, ordered=kind.ordered)


def bytes_of(column: Cells) -> list[bytes]:
    """Return each row's bytes."""
    memory = column.values.tobytes()
    return [memory[at : at + column.width] for at in range(0, len(memory), column.width)]


def valid_in(column: Cells | Text) -> list[bool]:
    return [True] * len(column) if column.valid is None else [value == 1 for value in column.valid.tolist()]


def same(column: Column, source: pa.Array) -> None:
    """Claim that a column holds an array's values, by the bytes that Arrow's own layout gives them."""
    assert len(column) == len(source)
    if isinstance(column, Held):
        assert column.array.to_pylist() == source.to_pylist()
        return
    there = [value is not None for value in source.to_pylist()]
    assert valid_in(column) == there
    if isinstance(column, Text):
        bounds = column.offsets.tolist()
        assert bounds[0] == 0
        assert bounds[-1] == column.data.size
        texts = [column.data[one:two].tobytes() for one, two in itertools.pairwise(bounds)]
        told = [value.encode() if isinstance(value, str) else value for value in source.to_pylist()]
        assert [text for text, has in zip(texts, there, strict=True) if has] == [
            value for value in told if value is not None
        ]
    else:
        expected = plain_bytes(source, column.width)
        assert [cell for cell, has in zip(bytes_of(column), there, strict=True) if has] == [
            cell for cell, has in zip(expected, there, strict=True) if has
        ]


def plain_bytes(source: pa.Array, width: int) -> list[bytes]:
    """Return each row's bytes of an array by Arrow's layout: booleans a byte each."""
    source = source.storage if isinstance(source, pa.ExtensionArray) else source
    if pa.types.is_boolean(source.type):
        return [bytes([value is True]) for value in source.to_pylist()]
    memory = source.buffers()[1].to_pybytes() if len(source) else b""
    first = source.offset * width
    return [memory[first + at : first + at + width] for at in range(0, len(source) * width, width)]


@pytest.mark.parametrize("name", KINDS)
@tries(25)
@given(PICKS, st.integers(0, 12), st.integers(0, 40))
def test_any_slice_of_any_column_is_read_as_it_is(
    name: str, picks: list[int], first: int, count: int
) -> None:
    kind, values = KINDS[name]
    source = made(kind, values, picks).slice(first, count)
    same(read(source), source)


@pytest.mark.parametrize("name", KINDS)
@tries(20)
@given(st.lists(PICKS, max_size=4))
def test_chunks_are_read_as_one_column(name: str, parts: list[list[int]]) -> None:
    kind, values = KINDS[name]
    chunks = [made(kind, values, picks).slice(1) for picks in parts]
    column = read(pa.chunked_array(chunks, kind))
    whole = made(kind, values, [pick for picks in parts for pick in picks[1:]])
    same(column, whole)


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_column_is_told_by_its_stored_type(name: str) -> None:
    kind, values = KINDS[name]
    column = read(made(kind, values, [0, 1, 2]))
    inner = plain(kind)
    assert stored(made(kind, values, [0, 1])).type == inner
    assert plain(inner) == inner
    assert isinstance(column, Text) == is_text(inner)
    assert isinstance(column, Cells) == (width_of(inner) > 0)
    if isinstance(column, Cells):
        assert column.width == width_of(inner)


@pytest.mark.parametrize("name", KINDS)
@tries(15)
@given(PICKS, st.integers(0, 3))
def test_what_is_stored_comes_back_as_it_was(name: str, picks: list[int], first: int) -> None:
    kind, values = KINDS[name]
    source = made(kind, values, picks).slice(first)
    again = restored(stored(source), kind)
    again.validate(full=True)
    assert again.type == kind
    assert list(map(repr, again.to_pylist())) == list(map(repr, source.to_pylist()))


WIDTHS = {
    pa.int8(): 1,
    pa.bool_(): 1,
    pa.float16(): 2,
    pa.date32(): 4,
    pa.time64("ns"): 8,
    pa.decimal128(3, 1): 16,
    pa.decimal256(60, 2): 32,
    pa.month_day_nano_interval(): 16,
    pa.binary(1): 1,
    pa.binary(2): 2,
    pa.binary(3): 0,
    pa.binary(8): 8,
    pa.binary(12): 0,
    pa.binary(40): 40,
    pa.string(): 0,
    pa.large_binary(): 0,
    pa.null(): 0,
    pa.list_(pa.int8()): 0,
    pa.list_(pa.int8(), 8): 0,
    pa.struct([("a", pa.int64())]): 0,
    pa.dictionary(pa.int8(), pa.int64()): 0,
}


@pytest.mark.parametrize("kind", WIDTHS, ids=str)
def test_the_width_is_that_of_values_which_kernels_move(kind: pa.DataType) -> None:
    assert width_of(kind) == WIDTHS[kind]


def test_fixed_width_in_one_piece_is_not_copied() -> None:
    source = pa.array(range(100), pa.int32()).slice(7, 50)
    column = read(pa.chunked_array([source]))
    assert isinstance(column, Cells)
    assert column.values.ctypes.data == source.buffers()[1].address + 7 * 4


def test_a_column_without_nulls_has_no_validity_even_when_its_whole_had_some() -> None:
    column = read(pa.array([None, 1, 2, 3]).slice(1))
    assert isinstance(column, Cells)
    assert column.valid is None


def test_memory_that_is_not_aligned_is_copied_so_that_it_is() -> None:
    memory = bytearray(b"\x07" + np.arange(5, dtype=np.int64).tobytes())
    source = pa.Array.from_buffers(pa.int64(), 5, [None, pa.py_buffer(memory).slice(1)])
    column = read(source)
    assert isinstance(column, Cells)
    assert column.values.flags.aligned
    assert column.values.view(np.int64).tolist() == [0, 1, 2, 3, 4]


def test_words_keep_their_buffer_alive_and_can_be_written_by_its_maker() -> None:
    buffer = pa.allocate_buffer(64)
    seen = words(buffer, np.int64, 2, 3)
    seen[:] = (1, 2, 3)
    assert np.frombuffer(buffer, np.int64)[2:5].tolist() == [1, 2, 3]
    del buffer
    assert seen.tolist() == [1, 2, 3]
    assert words(pa.py_buffer(b""), np.int64, 0, 0).size == 0


def test_run_ends_and_views_are_stored_plain() -> None:
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["a", None]))
    text = read(ends.slice(1, 3))
    assert isinstance(text, Text)
    same(text, pa.array(["a", None, None]))
    assert plain(ends.type) == pa.string()
    for kind, large in ((pa.string_view(), pa.large_string()), (pa.binary_view(), pa.large_binary())):
        assert plain(kind) == large


def test_dictionaries_of_batches_get_indices_that_never_overflow() -> None:
    column = read(pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["a", "b"])))
    assert isinstance(column, Held)
    assert column.array.type == pa.dictionary(pa.int64(), pa.string())
    assert column.array.to_pylist() == ["b", None, "a"]

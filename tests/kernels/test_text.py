"""Text: values of any length are moved whole, to where their ends say, and never read behind their bytes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import hit_array, hits_into, target, words
from weft.columns import roomy
from weft.kernels.text import (
    copy_bytes,
    measure,
    move,
    size_of_slices,
    size_of_splats,
    text_rows,
    text_slices,
    text_splats,
)

SHORT = st.binary(max_size=5)
LONG = st.integers(50, 200).map(lambda size: bytes(at % 251 for at in range(size)))
VALUES = st.lists(st.one_of(st.just(b""), SHORT, SHORT, LONG), max_size=30)
ENDS = st.sampled_from([np.int32, np.int64])


def text_of(values: Sequence[bytes]) -> tuple[Any, Any]:
    """Return offsets and bytes."""
    ends = np.cumsum([len(value) for value in values], dtype=np.int64)
    return np.concatenate([np.zeros(1, np.int64), ends]), np.frombuffer(bytearray(b"".join(values)), np.uint8)


def cut(written: bytes, ends: Any, first: int) -> list[bytes]:
    """Return the values that lie between ends."""
    bounds = [first, *ends.tolist()]
    return [written[one:two] for one, two in itertools.pairwise(bounds)]


def positions(wanted: Sequence[int], size: int) -> Any:
    return words([row % size for row in wanted] if size else [])


@given(VALUES, st.lists(st.integers(0, 1000), max_size=40))
def test_gathered_values_are_measured_and_moved(values: list[bytes], wanted: list[int]) -> None:
    offsets, data = text_of(values)
    rows = positions(wanted, len(values))
    expected = [values[row] for row in rows]
    ends = np.full(rows.size + 1, -7, np.int64)
    total = measure(offsets, rows, ends)
    assert total == sum(map(len, expected))
    out = roomy(total)
    move(offsets, data, rows, out)
    assert ends[0] == 0
    assert cut(out.tobytes(), ends[1:], 0) == expected


@given(VALUES, st.lists(st.integers(0, 1000), max_size=40), st.integers(0, 99), ENDS)
def test_single_rows_are_written_behind_what_is_there(
    values: list[bytes], wanted: list[int], end: int, kind: Any
) -> None:
    offsets, data = text_of(values)
    rows = positions(wanted, len(values))
    expected = [values[row] for row in rows]
    to, ends = target(end + sum(map(len, expected))), np.full(rows.size, -7, kind)
    text_rows((offsets, data), rows, ends, end, to.address)
    assert cut(to.written(), ends, end) == expected
    assert to.written()[:end] == b"\xa5" * end


@given(st.data(), VALUES, st.integers(0, 99), ENDS)
def test_slices_are_measured_and_written(
    data: st.DataObject, values: list[bytes], end: int, kind: Any
) -> None:
    hits = data.draw(hits_into(3, len(values)))
    text = text_of(values)
    expected = [values[start + k] for _, start, count in hits for k in range(count)]
    assert size_of_slices(text[0], hit_array(hits)) == sum(map(len, expected))
    to, ends = target(end + sum(map(len, expected))), np.full(len(expected), -7, kind)
    text_slices(text, hit_array(hits), ends, end, to.address)
    assert cut(to.written(), ends, end) == expected


@given(st.data(), VALUES, st.integers(0, 99), ENDS)
def test_repeats_are_measured_and_written(
    data: st.DataObject, values: list[bytes], end: int, kind: Any
) -> None:
    hits = data.draw(hits_into(len(values), 40))
    text = text_of(values)
    expected = [values[row] for row, _, count in hits for _ in range(count)]
    assert size_of_splats(text[0], hit_array(hits)) == sum(map(len, expected))
    to, ends = target(end + sum(map(len, expected))), np.full(len(expected), -7, kind)
    text_splats(text, hit_array(hits), ends, end, to.address)
    assert cut(to.written(), ends, end) == expected


@pytest.mark.parametrize("size", [0, 1, 7, 63, 64, 65, 127, 128, 129, 200])
@pytest.mark.parametrize("more", [0, 1, 63, 64, 100])
def test_bytes_are_copied_whole_however_much_may_be_read(size: int, more: int) -> None:
    source = np.arange(size + more, dtype=np.uint8)
    to = target(size)
    copy_bytes(to.address, source.ctypes.data, size, size + more)
    assert to.written() == source[:size].tobytes()

"""Fill: probe values repeated, base slices copied, rows gathered; nothing is written beside the room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import SEEDS, hit_array, hits_into, target
from weft.columns import roomy
from weft.kernels.fill import REPEAT, expand, gather, gather_wide, slices, splat, splat_wide

WIDTHS = (1, 2, 4, 8, 16, 24, 32, 40)
SIZES = st.integers(0, 60)
Hits = list[tuple[int, int, int]]


def column(seed: int, rows: int, width: int) -> Any:
    """Return a column of random values as the engine holds it: unsigned words with room behind them."""
    word = np.uint64 if width > 8 else np.dtype(f"u{width}")
    values = roomy(rows * max(1, width // 8), word)
    values[:] = np.random.default_rng(seed).integers(0, np.iinfo(word).max, values.size, word, endpoint=True)
    return values


def value(values: Any, row: int, width: int) -> bytes:
    """Return the bytes of one row."""
    return bytes(values.tobytes()[row * width : (row + 1) * width])


def repeated(values: Any, hits: Hits, width: int) -> bytes:
    return b"".join(value(values, row, width) * count for row, _, count in hits)


def copied(values: Any, hits: Hits, width: int) -> bytes:
    return b"".join(value(values, start + k, width) for _, start, count in hits for k in range(count))


@pytest.mark.parametrize("width", WIDTHS)
@given(st.data(), SEEDS, SIZES)
def test_splat_writes_each_probe_value_as_often_as_its_row_was_met(
    width: int, data: st.DataObject, seed: int, rows: int
) -> None:
    hits = data.draw(hits_into(rows, 100))
    values, total = column(seed, rows, width), sum(count for _, _, count in hits)
    to = target(total * width)
    if width in REPEAT:
        splat(values, hit_array(hits), REPEAT[width], width, to.address)
    else:
        out = np.full(total * width // 8, 7, np.uint64)
        splat_wide(values, width // 8, hit_array(hits), out)
        to.memory[128 : 128 + out.nbytes] = out.view(np.uint8)
    assert to.written() == repeated(values, hits, width)


@pytest.mark.parametrize("width", WIDTHS)
@given(st.data(), SEEDS, SIZES)
def test_slices_copies_each_slice_behind_the_one_before(
    width: int, data: st.DataObject, seed: int, rows: int
) -> None:
    hits = data.draw(hits_into(3, rows))
    values = column(seed, rows, width)
    to = target(sum(count for _, _, count in hits) * width)
    slices(values.ctypes.data, width, hit_array(hits), to.address)
    assert to.written() == copied(values, hits, width)


@pytest.mark.parametrize("width", WIDTHS)
@given(SEEDS, st.integers(1, 60), st.lists(st.integers(0, 10**6), max_size=80))
def test_gather_writes_the_values_of_the_rows_in_their_order(
    width: int, seed: int, rows: int, wanted: Sequence[int]
) -> None:
    values, at = column(seed, rows, width), np.array([row % rows for row in wanted], np.int64)
    out = np.full(at.size * max(1, width // 8), 7, values.dtype)
    if width > 8:
        gather_wide(values, width // 8, at, out)
    else:
        gather(values, at, out)
    assert out.tobytes() == b"".join(value(values, row, width) for row in at.tolist())


@given(st.data())
def test_expand_writes_the_rows_of_every_pair(data: st.DataObject) -> None:
    hits = data.draw(hits_into(50, 90))
    total = sum(count for _, _, count in hits)
    rows, positions = np.full(total, -7, np.int64), np.full(total, -7, np.int64)
    expand(hit_array(hits), rows, positions)
    assert rows.tolist() == [row for row, _, count in hits for _ in range(count)]
    assert positions.tolist() == [start + k for _, start, count in hits for k in range(count)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 1000])
def test_long_slices_and_long_repeats_are_whole(width: int, count: int) -> None:
    values = column(count, 1100, width)
    hits = [(5, 3, count), (6, 0, 1), (7, 1100 - count, count)]
    to = target((2 * count + 1) * width)
    slices(values.ctypes.data, width, hit_array(hits), to.address)
    assert to.written() == copied(values, hits, width)
    if width in REPEAT:
        splat(values, hit_array(hits), REPEAT[width], width, to.address)
        assert to.written() == repeated(values, hits, width)

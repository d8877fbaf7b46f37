"""Move values of variable length: strings and bytes. Copies go by 64 bytes where they may run over."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, byte, copy64, put, store1

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]


@kernel
def measure(offsets: I64, rows: I64, ends: I64) -> int:
    """Write where each gathered value ends, ends[0] being 0; return their length in all. O(rows)."""
    total = 0
    put(ends, 0, 0)
    for i in range(rows.size):
        row = at(rows, i)
        total += at(offsets, row + 1) - at(offsets, row)
        put(ends, i + 1, total)
    return total


@kernel
def copy_bytes(to: int, source: int, size: int, safe: int) -> None:
    """Copy bytes; 64 at a time while the source, of which `safe` bytes may be read, has them."""
    done = 0
    while done < size and done + 64 <= safe:
        copy64(to + done, source + done)
        done += 64
    while done < size:
        store1(to + done, byte(source + done))
        done += 1


@kernel
def move(offsets: I64, data: U8, rows: I64, out: U8) -> None:
    """Write the bytes of the gathered values one after the other; 64 bytes of room follow `out`. O(bytes)."""
    source, to = data.ctypes.data, out.ctypes.data
    for i in range(rows.size):
        first = at(offsets, at(rows, i))
        size = at(offsets, at(rows, i) + 1) - first
        copy_bytes(to, source + first, size, data.size - first)
        to += size


@kernel
def size_of_slices(offsets: I64, hits: I64) -> int:
    """Return the bytes of all hits' slices. O(hits)."""
    total = 0
    for i in range(hits.size // 3):
        start = at(hits, 3 * i + 1)
        total += at(offsets, start + at(hits, 3 * i + 2)) - at(offsets, start)
    return total


@kernel
def size_of_splats(offsets: I64, hits: I64) -> int:
    """Return the bytes of all hits' probe values, each `count` times. O(hits)."""
    total = 0
    for i in range(hits.size // 3):
        row = at(hits, 3 * i)
        total += (at(offsets, row + 1) - at(offsets, row)) * at(hits, 3 * i + 2)
    return total


@kernel
def text_slices(text: tuple[I64, U8], hits: I64, ends: Any, end: int, out: int) -> None:
    """Copy each hit's slice to address out + end, and write where each value ends. O(bytes)."""
    offsets, data = text
    pair = 0
    for i in range(hits.size // 3):
        start, count = at(hits, 3 * i + 1), at(hits, 3 * i + 2)
        first = at(offsets, start)
        copy_bytes(out + end, data.ctypes.data + first, at(offsets, start + count) - first, data.size - first)
        for k in range(count):
            ends[pair + k] = end + at(offsets, start + k + 1) - first
        end += at(offsets, start + count) - first
        pair += count


@kernel
def text_splats(text: tuple[I64, U8], hits: I64, ends: Any, end: int, out: int) -> None:
    """Copy each hit's probe value `count` times to address out + end, and write where each ends. O(bytes)."""
    offsets, data = text
    pair = 0
    for i in range(hits.size // 3):
        row = at(hits, 3 * i)
        first = at(offsets, row)
        size = at(offsets, row + 1) - first
        for _ in range(at(hits, 3 * i + 2)):
            copy_bytes(out + end, data.ctypes.data + first, size, data.size - first)
            end += size
            ends[pair] = end
            pair += 1


@kernel
def text_rows(text: tuple[I64, U8], rows: I64, ends: Any, end: int, out: int) -> None:
    """Copy single values to address out + end, and write where each ends. O(bytes)."""
    offsets, data = text
    for i in range(rows.size):
        first = at(offsets, at(rows, i))
        size = at(offsets, at(rows, i) + 1) - first
        copy_bytes(out + end, data.ctypes.data + first, size, data.size - first)
        end += size
        ends[i] = end

"""Write result columns: a probe value repeated, a base slice copied, or single rows gathered.

Hits are (row, start, count) triples. Copies move 64 bytes at a time and may run past their end: the next
one overwrites, and every buffer has SPARE bytes of room behind it. What bounds them is the speed of memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, copy64, put, splat64

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]

SPARE = 64
# A value times this is its own pattern, repeated over eight bytes.
REPEAT = {1: 0x0101010101010101, 2: 0x0001000100010001, 4: 0x0000000100000001, 8: 1}


@kernel
def splat(values: Any, hits: I64, repeat: int, width: int, out: int) -> None:
    """Write each hit's probe value `count` times to the address `out`. O(pairs)."""
    for i in range(hits.size // 3):
        pattern = np.uint64(at(values, at(hits, 3 * i))) * np.uint64(repeat)
        size = at(hits, 3 * i + 2) * width
        splat64(out, pattern, pattern)
        done = 64
        while done < size:
            splat64(out + done, pattern, pattern)
            done += 64
        out += size


@kernel
def splat_wide(words: npt.NDArray[np.uint64], width: int, hits: I64, out: npt.NDArray[np.uint64]) -> None:
    """Do what `splat` does for values of `width` words of eight bytes. O(pairs)."""
    end = 0
    for i in range(hits.size // 3):
        row = at(hits, 3 * i) * width
        for _ in range(at(hits, 3 * i + 2)):
            for k in range(width):
                put(out, end + k, at(words, row + k))
            end += width


@kernel
def slices(base: int, width: int, hits: I64, out: int) -> None:
    """Copy each hit's slice of the column at address `base` to the address `out`. O(pairs)."""
    for i in range(hits.size // 3):
        source = base + at(hits, 3 * i + 1) * width
        size = at(hits, 3 * i + 2) * width
        copy64(out, source)
        done = 64
        while done < size:
            copy64(out + done, source + done)
            done += 64
        out += size


@kernel
def expand(hits: I64, rows: I64, positions: I64) -> None:
    """Write the probe row and the base position of every pair. O(pairs)."""
    end = 0
    for i in range(hits.size // 3):
        for k in range(at(hits, 3 * i + 2)):
            put(rows, end, at(hits, 3 * i))
            put(positions, end, at(hits, 3 * i + 1) + k)
            end += 1


@kernel
def gather(values: Any, rows: I64, out: Any) -> None:
    """Write values[rows] to `out`. O(rows)."""
    for i in range(rows.size):
        put(out, i, at(values, at(rows, i)))


@kernel
def gather_wide(words: npt.NDArray[np.uint64], width: int, rows: I64, out: npt.NDArray[np.uint64]) -> None:
    """Do what `gather` does for values of `width` words of eight bytes. O(rows)."""
    for i in range(rows.size):
        row = at(rows, i) * width
        for k in range(width):
            put(out, i * width + k, at(words, row + k))

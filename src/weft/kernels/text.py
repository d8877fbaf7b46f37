"""Move values of variable length: strings and bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, copy64, put

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
def move(offsets: I64, data: U8, rows: I64, out: U8) -> None:
    """Write the bytes of the gathered values one after the other; `out` has 64 bytes of room behind them.

    A value is copied by whole 64 bytes where the source has them, byte by byte at its end. O(bytes).
    """
    end = 0
    source, target = data.ctypes.data, out.ctypes.data
    safe = data.size - 64
    for i in range(rows.size):
        row = at(rows, i)
        first = at(offsets, row)
        size = at(offsets, row + 1) - first
        done = 0
        while done < size and first + done <= safe:
            copy64(target + end + done, source + first + done)
            done += 64
        while done < size:
            put(out, end + done, at(data, first + done))
            done += 1
        end += size

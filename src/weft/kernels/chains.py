"""The mutable part: rows in arrival order, each key's rows chained from the newest to the oldest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, int64, put

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@kernel
def link(ids: I32, lead: I64, first: int, heads: I32, links: tuple[I32, I64]) -> None:
    """Chain the rows from `first` on; rest[row] is the newest lead of the row and all behind it. O(rows)."""
    behind, rest = links
    for row in range(first, ids.size):
        id_ = int64(at(ids, row))
        if id_ < 0:
            continue
        previous = int64(at(heads, id_))
        newest = at(lead, row)
        if previous >= 0:
            newest = max(newest, at(rest, previous))
        put(behind, row, np.int32(previous))
        put(rest, row, newest)
        put(heads, id_, np.int32(row))


@kernel
def unlink(ids: I32, heads: I32) -> None:
    """Empty the chains of the given rows. O(rows)."""
    for row in range(ids.size):
        if at(ids, row) >= 0:
            put(heads, int64(at(ids, row)), np.int32(-1))


@kernel
def retract(ids: I32, first: int, heads: I32, behind: I32) -> None:
    """Take the rows from `first` on off their chains. O(those rows)."""
    for row in range(ids.size - 1, first - 1, -1):
        if at(ids, row) >= 0:
            put(heads, int64(at(ids, row)), at(behind, row))


@kernel
def follow(ids: I32, reach: I64, chains: tuple[I32, I64, I32, I64], hits: I64, rows: I64) -> tuple[int, int]:
    """Write a hit for every probe row with a match and the rows that it met; return both counts.

    `chains` is heads, lead, behind, rest. Beyond the room in `rows` pairs are only counted. A walk ends
    where nothing behind is new enough. O(rows met, and rows too new to meet).
    """
    heads, lead, behind, rest = chains
    found = pairs = 0
    for i in range(ids.size):
        id_ = int64(at(ids, i))
        if id_ < 0 or id_ >= heads.size:
            continue
        low = at(reach, 2 * i)
        high = at(reach, 2 * i + 1)
        row = int64(at(heads, id_))
        start = pairs
        while row >= 0 and at(rest, row) >= low:
            time = at(lead, row)
            if low <= time <= high:
                if pairs < rows.size:
                    put(rows, pairs, row)
                pairs += 1
            row = int64(at(behind, row))
        if pairs > start:
            put(hits, 3 * found, i)
            put(hits, 3 * found + 1, start)
            put(hits, 3 * found + 2, pairs - start)
            found += 1
    return found, pairs

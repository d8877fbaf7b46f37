"""Put a batch in the order of a run: by key, then by the lead column, ties by position."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, int64, lowest, ones, prefetch, put

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

AHEAD = 16  # rows between asking for a value and looking at it


@kernel
def living(ids: I32, lead: I64, horizon: int) -> int:
    """Count the rows with an id whose lead is not below the horizon. O(n)."""
    count = 0
    for i in range(ids.size):
        count += int64((at(ids, i) >= 0) & (at(lead, i) >= horizon))
    return count


@kernel
def mark(ids: I32, bits: U64) -> int:
    """Set the bit of every id that is not negative; return how many rows have one. O(n)."""
    kept = 0
    for i in range(ids.size):
        id_ = int64(at(ids, i))
        if id_ >= 0:
            put(bits, id_ >> 6, at(bits, id_ >> 6) | (np.uint64(1) << np.uint64(id_ & 63)))
            kept += 1
    return kept


@kernel
def rank(bits: U64, ranks: I32) -> int:
    """Count the set bits before each word; return how many there are. O(keys / 64)."""
    total = 0
    for i in range(bits.size):
        put(ranks, i, np.int32(total))
        total += ones(at(bits, i))
    return total


@kernel
def members(bits: U64, ids: I32) -> None:
    """Write the positions of the set bits, ascending."""
    slot = 0
    for i in range(bits.size):
        rest = at(bits, i)
        while rest != 0:
            put(ids, slot, np.int32(i * 64 + lowest(rest)))
            rest &= rest - np.uint64(1)
            slot += 1


@kernel
def group(ids: I32, bits: U64, ranks: I32, offsets: I64, order: I64) -> None:
    """Stable counting sort of the rows with a key by the slot of their key. O(n + slots)."""
    n = ids.size
    slots = np.empty(n, np.int32)
    for i in range(n):
        id_ = int64(at(ids, i))
        slot = int64(-1)
        if id_ >= 0:
            below = (np.uint64(1) << np.uint64(id_ & 63)) - np.uint64(1)
            slot = int64(at(ranks, id_ >> 6)) + ones(at(bits, id_ >> 6) & below)
            put(offsets, slot + 1, at(offsets, slot + 1) + 1)
        put(slots, i, np.int32(slot))
    for slot in range(offsets.size - 1):
        put(offsets, slot + 1, at(offsets, slot + 1) + at(offsets, slot))
    room = offsets.copy()
    for i in range(n):
        slot = int64(at(slots, i))
        if slot >= 0:
            put(order, at(room, slot), i)
            put(room, slot, at(room, slot) + 1)


@kernel
def settle(lead: I64, offsets: I64, order: I64, sorted_lead: I64, budget: int) -> bool:
    """Insertion-sort each key's rows by lead; False when it would take more than `budget` moves.

    Streams arrive nearly in order: 6 to 13 ns a row, where a full sort takes 24 to 40.
    """
    address = lead.ctypes.data
    for slot in range(offsets.size - 1):
        first = at(offsets, slot)
        for i in range(first, at(offsets, slot + 1)):
            prefetch(address + 8 * at(order, min(i + AHEAD, order.size - 1)))
            row = at(order, i)
            value = at(lead, row)
            j = i
            while j > first and at(sorted_lead, j - 1) > value:
                put(sorted_lead, j, at(sorted_lead, j - 1))
                put(order, j, at(order, j - 1))
                j -= 1
            put(sorted_lead, j, value)
            put(order, j, row)
            budget -= i - j
            if budget < 0:
                return False
    return True

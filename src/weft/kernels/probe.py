"""Find, for every probe row, the slice of a run that it matches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, below8, int64, ones, prefetch, put, upto8

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

Directory = tuple[U64, I32, Any]  # bits, ranks, offsets: see indexes/run.py

AHEAD = 16  # rows between asking for a key's place in the run and looking at it


@kernel
def slot_of(bits: U64, ranks: I32, id_: int) -> int:
    """Return the slot of a key in a run, -1 where the run has no such key. O(1)."""
    if id_ < 0 or (id_ >> 6) >= bits.size:
        return -1
    word = at(bits, id_ >> 6)
    bit = np.uint64(1) << np.uint64(id_ & 63)
    if word & bit == 0:
        return -1
    return int64(at(ranks, id_ >> 6)) + ones(word & (bit - np.uint64(1)))


@kernel
def gallop(lead: I64, bound: int, first: int, last: int, near: int) -> int:
    """Return the first place in [first, last) with a lead not below bound, else last. O(log distance)."""
    step = 1
    if near < last and at(lead, near) < bound:
        low = near + 1
        while near + step < last and at(lead, near + step) < bound:
            low = near + step + 1
            step += step
        high = min(near + step, last)
    else:
        high = near
        while near - step >= first and at(lead, near - step) >= bound:
            high = near - step
            step += step
        low = max(near - step + 1, first)
    while low < high:
        middle = (low + high) >> 1
        if at(lead, middle) < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def gallop_past(lead: I64, bound: int, first: int, last: int, near: int) -> int:
    """Return the first position in [first, last) whose lead is above `bound`, else last. O(log distance)."""
    if bound == np.iinfo(np.int64).max:
        return last
    return gallop(lead, bound + 1, first, last, near)


@kernel
def sweep(
    ids: I32, reach: I64, directory: Directory, lead: tuple[I64, int, int], cursors: I64, hits: I64
) -> tuple[int, int]:
    """Write (row, start, count) of every probe row with a match; return how many, and the pairs.

    `lead` comes with its least and its largest value: rows that reach neither cost a comparison.

    For batches of a size with the run: each key's last answer is where the next search begins, and one
    vector compare decides it as long as rows come nearly in order. O(rows) then, O(rows log run) at worst.
    """
    bits, ranks, offsets = directory
    times, oldest, newest = lead
    address = times.ctypes.data
    found = pairs = 0
    for i in range(ids.size):
        ahead = slot_of(bits, ranks, int64(at(ids, min(i + AHEAD, ids.size - 1))))
        if ahead >= 0:
            prefetch(address + 8 * at(cursors, 2 * ahead))
            prefetch(address + 8 * at(cursors, 2 * ahead + 1))
        low = at(reach, 2 * i)
        high = at(reach, 2 * i + 1)
        if low > newest or high < oldest:
            continue
        slot = slot_of(bits, ranks, int64(at(ids, i)))
        if slot < 0:
            continue
        first = int64(at(offsets, slot))
        last = int64(at(offsets, slot + 1))
        near = max(at(cursors, 2 * slot) - 3, first)
        step = below8(times, near, low)
        start = min(near + step, last)
        if ((step == 8) & (start < last)) | ((step == 0) & (near > first)):
            start = gallop(times, low, first, last, near)
        put(cursors, 2 * slot, start)
        near = max(at(cursors, 2 * slot + 1) - 3, start)
        step = upto8(times, near, high)
        end = min(near + step, last)
        if ((step == 8) & (end < last)) | ((step == 0) & (near > start)):
            end = gallop_past(times, high, start, last, near)
        put(cursors, 2 * slot + 1, end)
        put(hits, 3 * found, i)
        put(hits, 3 * found + 1, start)
        put(hits, 3 * found + 2, end - start)
        found += int64(end > start)
        pairs += end - start
    return found, pairs


@kernel
def search(
    ids: I32, reach: I64, directory: Directory, lead: tuple[I64, int, int], hits: I64
) -> tuple[int, int]:
    """Do what `sweep` does for few rows: from the end of each key, where new rows match. O(rows log run)."""
    bits, ranks, offsets = directory
    times, oldest, newest = lead
    found = pairs = 0
    for i in range(ids.size):
        low = at(reach, 2 * i)
        high = at(reach, 2 * i + 1)
        if low > newest or high < oldest:
            continue
        slot = slot_of(bits, ranks, int64(at(ids, i)))
        if slot < 0:
            continue
        first = int64(at(offsets, slot))
        last = int64(at(offsets, slot + 1))
        start = gallop(times, low, first, last, last)
        end = gallop_past(times, high, start, last, last)
        put(hits, 3 * found, i)
        put(hits, 3 * found + 1, start)
        put(hits, 3 * found + 2, end - start)
        found += int64(end > start)
        pairs += end - start
    return found, pairs

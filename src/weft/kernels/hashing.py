"""Keys to dense integers: open addressing, multiply and shift with an odd multiplier of the table's own.

A slot is a pair of words, (key, id + 1) for integers and (hash, id + 1) for bytes: one cache line answers.
The multiplier is drawn anew for each table, so that no input can be made to collide; ids follow arrival.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, byte, int64, prefetch, put, word

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]

AHEAD = 12  # rows between asking for a slot and looking at it


@kernel
def home(hash_: int, size: int) -> int:
    """Return the slot where the search for a hash begins: its high bits, `size` being a power of two."""
    return int64((np.uint64(hash_) >> np.uint64(32)) & np.uint64(size - 1))


@kernel
def mix(value: int, odd: int) -> int:
    """Spread a word over 64 bits; the high half is what counts."""
    spread = np.uint64(value) * np.uint64(odd)
    spread ^= spread >> np.uint64(32)
    return int64(spread * np.uint64(odd))


@kernel
def intern_words(
    values: I64, ids: I32, table: I64, known: I64, state: tuple[int, int, int]
) -> tuple[int, int]:
    """Give each value from row `first` on its id, new ones the next; rows with id -1 are left out.

    Return (rows done, ids in use); it stops early when the table is two thirds full. O(rows).
    """
    first, used, odd = state
    size = table.size // 2
    address = table.ctypes.data
    for i in range(first, values.size):
        ahead = at(values, min(i + AHEAD, values.size - 1))
        prefetch(address + 16 * home(mix(ahead, odd), size))
        if at(ids, i) < 0:
            continue
        value = at(values, i)
        slot = home(mix(value, odd), size)
        while at(table, 2 * slot + 1) != 0 and at(table, 2 * slot) != value:
            slot = (slot + 1) & (size - 1)
        held = at(table, 2 * slot + 1)
        if held == 0:
            if 3 * used >= 2 * size or used >= known.size:
                return i, used
            put(known, used, value)
            used += 1
            held = used
            put(table, 2 * slot, value)
            put(table, 2 * slot + 1, held)
        put(ids, i, np.int32(held - 1))
    return values.size, used


@kernel
def find_words(values: I64, ids: I32, table: I64, odd: int) -> None:
    """Give each value its id, -1 where it has none. O(rows)."""
    size = table.size // 2
    address = table.ctypes.data
    for i in range(values.size):
        ahead = at(values, min(i + AHEAD, values.size - 1))
        prefetch(address + 16 * home(mix(ahead, odd), size))
        if at(ids, i) < 0:
            continue
        value = at(values, i)
        slot = home(mix(value, odd), size)
        while at(table, 2 * slot + 1) != 0 and at(table, 2 * slot) != value:
            slot = (slot + 1) & (size - 1)
        put(ids, i, np.int32(at(table, 2 * slot + 1) - 1))


@kernel
def hash_bytes(address: int, size: int, odd: int) -> int:
    """Hash `size` bytes at an address, eight at a time; the last eight may overlap the ones before."""
    state = mix(size, odd)
    done = 0
    while done + 8 <= size:
        state = mix(state ^ int64(word(address + done)), odd)
        done += 8
    if done < size:
        state = mix(state ^ tail(address, size, done), odd)
    return state


@kernel
def tail(address: int, size: int, done: int) -> int:
    """Return the last size - done (1 to 7) bytes as a word, reading nothing outside the value."""
    if size >= 8:
        return int64(word(address + size - 8))
    rest = np.uint64(0)
    for k in range(size - done):
        rest |= np.uint64(byte(address + done + k)) << np.uint64(8 * k)
    return int64(rest)


@kernel
def same_bytes(left: int, right: int, size: int) -> bool:
    """Tell whether `size` bytes at two addresses are equal."""
    done = 0
    while done + 8 <= size:
        if word(left + done) != word(right + done):
            return False
        done += 8
    return done == size or tail(left, size, done) == tail(right, size, done)


@kernel
def intern_bytes(
    text: tuple[I64, U8], ids: I32, table: I64, known: tuple[I64, U8], state: tuple[int, int, int]
) -> tuple[int, int]:
    """Do what `intern_words` does for byte strings; it stops early too when `known` has no room. O(bytes)."""
    offsets, data = text
    ends, store = known
    first, used, odd = state
    size = table.size // 2
    source, kept = data.ctypes.data, store.ctypes.data
    for i in range(first, ids.size):
        if at(ids, i) < 0:
            continue
        start = at(offsets, i)
        length = at(offsets, i + 1) - start
        hash_ = hash_bytes(source + start, length, odd)
        slot = home(hash_, size)
        held = at(table, 2 * slot + 1)
        while held != 0 and not (
            at(table, 2 * slot) == hash_
            and at(ends, held) - at(ends, held - 1) == length
            and same_bytes(source + start, kept + at(ends, held - 1), length)
        ):
            slot = (slot + 1) & (size - 1)
            held = at(table, 2 * slot + 1)
        if held == 0:
            end = at(ends, used)
            if 3 * used >= 2 * size or used + 1 >= ends.size or end + length > store.size:
                return i, used
            for k in range(length):
                put(store, end + k, at(data, start + k))
            used += 1
            held = used
            put(ends, used, end + length)
            put(table, 2 * slot, hash_)
            put(table, 2 * slot + 1, held)
        put(ids, i, np.int32(held - 1))
    return ids.size, used


@kernel
def find_bytes(text: tuple[I64, U8], ids: I32, table: I64, known: tuple[I64, U8], odd: int) -> None:
    """Give each byte string its id, -1 where it has none. O(bytes)."""
    offsets, data = text
    ends, store = known
    size = table.size // 2
    source, kept = data.ctypes.data, store.ctypes.data
    for i in range(ids.size):
        if at(ids, i) < 0:
            continue
        start = at(offsets, i)
        length = at(offsets, i + 1) - start
        hash_ = hash_bytes(source + start, length, odd)
        slot = home(hash_, size)
        held = at(table, 2 * slot + 1)
        while held != 0 and not (
            at(table, 2 * slot) == hash_
            and at(ends, held) - at(ends, held - 1) == length
            and same_bytes(source + start, kept + at(ends, held - 1), length)
        ):
            slot = (slot + 1) & (size - 1)
            held = at(table, 2 * slot + 1)
        put(ids, i, np.int32(held - 1))


@kernel
def write_words(values: I64, cursors: I64, out: U8) -> None:
    """Write each value as eight bytes where its row's cursor stands, and move the cursor on. O(rows)."""
    for i in range(values.size):
        place = at(cursors, i)
        rest = np.uint64(at(values, i))
        for k in range(8):
            put(out, place + k, np.uint8(rest & np.uint64(255)))
            rest >>= np.uint64(8)
        put(cursors, i, place + 8)


@kernel
def write_text(offsets: I64, data: U8, cursors: I64, out: U8) -> None:
    """Write each value's bytes where its row's cursor stands, and move the cursor on. O(bytes)."""
    for i in range(cursors.size):
        place = at(cursors, i)
        first = at(offsets, i)
        length = at(offsets, i + 1) - first
        for k in range(length):
            put(out, place + k, at(data, first + k))
        put(cursors, i, place + length)

"""Joins of columns whose memory ends where a page begins that must not be touched; run as a program.

A kernel that reads one byte behind an Arrow buffer kills the process: such a buffer may be the end of a
mapped file, and nobody promises that it is padded.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import pyarrow as pa

import weft

PAGE, NOTHING = mmap.PAGESIZE, 0  # bytes of a page, and what may be done with one
SIZES = ((1,) * 66, (33, 33), (2100, 1, 70, 2100), (64, 2048))  # rows of each push
LIBC = ctypes.CDLL(None, use_errno=True)


def guarded(buffer: pa.Buffer | None) -> pa.Buffer | None:
    """Return a copy of a buffer in pages of its own, its last byte before a page that can't be read."""
    if buffer is None or not buffer.size:
        return buffer
    pages = -(-buffer.size // PAGE)
    memory = mmap.mmap(-1, (pages + 1) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    first = pages * PAGE - buffer.size
    memory[first : pages * PAGE] = buffer.to_pybytes()
    if LIBC.mprotect(ctypes.c_void_p(start + pages * PAGE), PAGE, NOTHING):
        raise OSError(ctypes.get_errno(), "mprotect")
    return pa.foreign_buffer(start + first, buffer.size, memory)


def exact(array: pa.Array) -> list[pa.Buffer | None]:
    """Return an array's buffers without their padding."""
    kind, rows = array.type, len(array)
    bitmap, *rest = array.buffers()
    bits = None if bitmap is None else bitmap.slice(0, (rows + 7) // 8)
    if pa.types.is_boolean(kind):
        return [bits, rest[0].slice(0, (rows + 7) // 8)]
    if len(rest) == 1:
        return [bits, rest[0].slice(0, rows * kind.bit_width // 8)]
    ends = rest[0].slice(0, (rows + 1) * (8 if kind in (pa.large_string(), pa.large_binary()) else 4))
    size = sum(len(value) for value in array.cast(pa.large_binary()).to_pylist() if value is not None)
    return [bits, ends, rest[1].slice(0, size)]


def table(rows: int, columns: dict[str, pa.Array]) -> pa.Table:
    """Return a table of guarded columns."""
    made = {
        name: pa.Array.from_buffers(array.type, rows, [guarded(buffer) for buffer in exact(array)])
        for name, array in columns.items()
    }
    return pa.table(made)


KINDS: list[tuple[pa.DataType, Any]] = [
    (pa.int8(), lambda at: at % 100),
    (pa.uint16(), lambda at: at),
    (pa.int32(), lambda at: None if at % 5 == 0 else at),
    (pa.float64(), lambda at: at / 2),
    (pa.bool_(), lambda at: at % 3 == 0),
    (pa.decimal128(9, 1), lambda at: at),
    (pa.binary(24), lambda at: b"%024d" % at),
    (pa.string(), lambda at: "x" * (at % 130)),
    (pa.large_binary(), lambda at: None if at % 7 == 0 else b"y" * (at % 11)),
]


def batch(first: int, rows: int, key: pa.DataType) -> pa.Table:
    """Return rows from `first` on, three keys, a row a tick."""
    at = range(first, first + rows)
    names = pa.array([str(row % 3) if key in (pa.string(), pa.binary()) else row % 3 for row in at], key)
    columns = {"key": names, "ts": pa.array(at, pa.int64())}
    columns |= {f"p{place}": pa.array(map(make, at), kind) for place, (kind, make) in enumerate(KINDS)}
    return table(rows, columns)


def play(sizes: tuple[int, ...], key: pa.DataType, plain: bool) -> int:
    """Push batches of these sizes on both sides; return the pairs."""
    spec = {"on": "key", "time": "ts", "lower": -9, "upper": 9}
    columns = ["key", "ts", "p0", "p1", "p3", "p5", "p6", "p3_right"] if plain else None
    op = weft.stream.IntervalJoin(**spec, lateness=0, columns=columns)
    done, pairs = 0, 0
    for size in sizes:
        left, right = batch(done, size, key), batch(done, size, key)
        pairs += op.push("left", left).num_rows + op.push("right", right).num_rows
        done += size
    return pairs


def main() -> None:
    """Join them in every way; print the pairs."""
    for key in (pa.int64(), pa.uint8(), pa.int32(), pa.string(), pa.binary()):
        for plain in (True, False):
            told = [
                play(sizes, key, plain) for sizes in ((1,) * 66, (33, 33), (2100, 1, 70, 2100), (64, 2048))
            ]
            whole = batch(0, 66, key)
            told.append(weft.interval_join(whole, whole, on="key", time="ts", lower=-9, upper=9).num_rows)
            print(key, plain, *told)


if __name__ == "__main__":
    sys.exit(main())

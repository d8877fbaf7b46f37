"""Arrays in a file, mapped: whoever reads them shares the pages, and nobody can damage them. No pickles.

 0   8   b"wmap" and the format's version, four bytes, little endian
 8   8   the bytes of the whole file
16   8   the CRC of the header, and the header's length
24       the header (JSON); then, from a multiple of ALIGNED on, the arrays

Each array begins at a multiple of ALIGNED and has SPARE bytes of room behind it, as kernels need it. That the
arrays are as they were written is the disk's promise: to check it would be to read them.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import stat
import struct
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.edge.payload import words
from weft.kernels.fill import SPARE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from weft.columns import Bytes

Array: TypeAlias = npt.NDArray[Any]
Place: TypeAlias = list[Any]  # of an array in a file: which, and the type of its values

MAGIC, FORMAT = b"wmap", 1
HEAD = struct.Struct("<4sIQII")
ALIGNED = 64
TO_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
PRIVATE = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE
FAILED = ctypes.c_void_p(-1).value  # what mmap answers when it could not

# Python's own mmap keeps a descriptor for every map, and a worker may hold thousands of runs.
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class DamagedError(OSError):
    """A file that is not whole, of another version, or not this user's."""


class Pages:
    """The bytes of a file in memory: shared with whoever maps it, private where they are written to."""

    def __init__(self, file: int, size: int) -> None:
        self.size = size
        self.address = _LIBC.mmap(None, size, *PRIVATE, file, 0)
        if self.address == FAILED:
            raise OSError(ctypes.get_errno(), "mmap")
        # Not at exit, when arrays that look at them may still be used.
        weakref.finalize(self, _LIBC.munmap, self.address, size).atexit = False


class Sheet:
    """Arrays for a file: what lies at one place in memory is written once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._known: dict[tuple[int, int], int] = {}

    def put(self, array: Array) -> Place:
        """Take an array; return its place."""
        memory = (array.ctypes.data, array.nbytes)
        if not array.nbytes or memory not in self._known:
            self._known[memory] = len(self.arrays)
            self.arrays.append(array)
        return [self._known[memory], array.dtype.str]


def found(place: Place, arrays: Sequence[Bytes]) -> Array:
    """Return the array at a place."""
    which, kind = place
    return arrays[which].view(kind)


def write(path: Path, header: dict[str, Any], arrays: Sequence[Array]) -> None:
    """Write arrays into a new file that only this user may read; where that fails there is no file."""
    places, end = [], 0
    for array in arrays:
        places.append([end, array.nbytes])
        end += aligned(array.nbytes + SPARE)
    text = json.dumps(header | {"arrays": places}).encode()
    first = aligned(HEAD.size + len(text))
    head = HEAD.pack(MAGIC, FORMAT, first + end, crc32(text), len(text))
    descriptor = os.open(path, TO_WRITE, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write((head + text).ljust(first, b"\0"))
            for array in arrays:
                file.write(np.ascontiguousarray(array).data.cast("B"))
                file.write(bytes(aligned(array.nbytes + SPARE) - array.nbytes))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def aligned(size: int) -> int:
    """Return the first multiple of ALIGNED that is not below a size."""
    return -(-size // ALIGNED) * ALIGNED


def read(path: Path) -> tuple[dict[str, Any], list[Bytes]]:
    """Return the header and the arrays of a file, mapped, each as bytes; OSError where it is not whole."""
    pages = _mapped(path)
    buffer = pa.foreign_buffer(pages.address, pages.size, pages)
    magic, version, size, crc, length = HEAD.unpack(buffer.slice(0, HEAD.size))
    text = buffer.slice(HEAD.size, min(length, buffer.size - HEAD.size)).to_pybytes()
    if (magic, version, size, crc) != (MAGIC, FORMAT, buffer.size, crc32(text)):
        message = f"{path} is damaged"
        raise DamagedError(message)
    header = json.loads(text)
    first = aligned(HEAD.size + length)
    # Each array is cut from one of its own, room included, as `roomy` does it: Run.nbytes looks at `base`.
    arrays = [words(buffer, np.uint8, first + at, size + SPARE)[:size] for at, size in header["arrays"]]
    return header, arrays


def _mapped(path: Path) -> Pages:
    file = os.open(path, TO_READ)
    try:
        status = os.fstat(file)
        whole = stat.S_ISREG(status.st_mode) and status.st_size >= HEAD.size
        if status.st_uid != os.geteuid() or not whole:
            message = f"{path} is no file of arrays of this user's"
            raise DamagedError(message)
        return Pages(file, status.st_size)
    finally:
        os.close(file)

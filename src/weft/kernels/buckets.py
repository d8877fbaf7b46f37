"""Key values to hashes that never change: the same in every process, on every machine, in every version.

They decide where a key's rows lie in a checkpoint. (The hashes of kernels/hashing.py use a multiplier drawn
anew for each table; these use one that is fixed, and tests pin their values.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.hashing import hash_bytes, mix
from weft.kernels.jit import kernel
from weft.kernels.words import at, int64, put

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]

ODD = 0x9E3779B97F4A7C15 - 2**64  # 2^64 over the golden ratio, as a signed word


@kernel
def stir_words(values: I64, hashes: I64) -> None:
    """Mix each value into its row's hash. O(rows)."""
    for i in range(values.size):
        put(hashes, i, mix(at(hashes, i) ^ mix(at(values, i), ODD), ODD))


@kernel
def stir_bytes(offsets: I64, data: U8, hashes: I64) -> None:
    """Mix each byte string into its row's hash. O(bytes)."""
    source = data.ctypes.data
    for i in range(hashes.size):
        start = at(offsets, i)
        value = hash_bytes(source + start, at(offsets, i + 1) - start, ODD)
        put(hashes, i, mix(at(hashes, i) ^ value, ODD))


@kernel
def pick_buckets(hashes: I64, shift: int, buckets: I32) -> None:
    """Write the bucket of each hash: its highest 64 - shift bits. O(rows)."""
    for i in range(hashes.size):
        put(buckets, i, np.int32(int64(np.uint64(at(hashes, i)) >> np.uint64(shift))))

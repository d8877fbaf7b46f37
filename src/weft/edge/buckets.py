"""The bucket of each row: by a hash of the canonical value of its key, which never changes.

Canonical means: equal for equal values of any integer width, string encoding, decimal scale or time unit, in
every process and every version of weft. Rows without a key are spread by their time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from weft.edge.keys import Codes, as_words, both, column_codes
from weft.kernels.buckets import pick_buckets, stir_bytes, stir_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.columns import Rows
    from weft.edge.families import KeyFamily
    from weft.edge.keys import ArrowColumn

BUCKETS = 4096
SHIFT = 64 - (BUCKETS - 1).bit_length()
PRIME = 2**31 - 1  # decimals are hashed as fractions modulo a prime: 1.5 and 1.50 are one number there
WIDE_WORDS = 4  # of a decimal's 256 bits

Buckets = npt.NDArray[np.int32]


def buckets_of(columns: Sequence[ArrowColumn], families: Sequence[KeyFamily], times: Rows) -> Buckets:
    """Return the bucket of each row; a join on time alone has one bucket."""
    buckets = np.zeros(times.size, np.int32)
    if not families:
        return buckets
    hashes, valid = np.zeros(times.size, np.int64), None
    for column, family in zip(columns, families, strict=True):
        codes = column_codes(column, family)
        valid = both(valid, codes.valid)
        _stir(codes, family, hashes)
    if valid is not None:
        hashes[~valid] = 0
        keyless = hashes[~valid]
        stir_words(times[~valid], keyless)
        hashes[~valid] = keyless
    pick_buckets(hashes, SHIFT, buckets)
    return buckets


def _stir(codes: Codes, family: KeyFamily, hashes: Rows) -> None:
    if family.kind == "decimal":
        stir_words(_fractions(codes, family), hashes)
    elif codes.data is not None:
        stir_bytes(codes.values, codes.data, hashes)
    else:
        # Wraps where nanoseconds leave 64 bits; equal times stay equal.
        stir_words(codes.values * family.tick, hashes)


def _fractions(codes: Codes, family: KeyFamily) -> Rows:
    """Return each decimal modulo PRIME, whatever its scale: its integer over 10 ** scale."""
    if as_words([family]):
        residues = codes.values % PRIME
    else:
        words = np.ascontiguousarray(codes.data).view(np.uint64).reshape(-1, WIDE_WORDS)
        residues = np.zeros(len(codes), np.int64)
        if not words.size:  # a column of nothing but nulls has no type, and so no digits
            return residues
        for at in reversed(range(WIDE_WORDS)):
            residues = (residues * (2**64 % PRIME) + (words[:, at] % PRIME).astype(np.int64)) % PRIME
        negative = (words[:, -1] >> np.uint64(63)).astype(np.int64)
        residues = (residues - negative * (2**256 % PRIME)) % PRIME
    return residues * pow(10, -family.scale, PRIME) % PRIME

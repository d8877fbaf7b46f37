"""Shards, the keys that stand for them in Spark, and which buckets belong to which.

Spark sends a row to the partition that its own hash of the grouping key says; 0 and 1 of two partitions would
both go to one. So a shard is called by the smallest number whose hash leads to a partition of its own.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from weft.edge.buckets import BUCKETS, Buckets
from weft.errors import refusal

SEED = 42  # of Spark's hash
U32 = 2**32


def check_replicas(replicas: int) -> int:
    """Refuse more shards than there are buckets."""
    if replicas > BUCKETS:
        raise refusal(replicas, "`replicas`", f"at most {BUCKETS}", f"write replicas={BUCKETS} or fewer")
    return replicas


@lru_cache(maxsize=16)
def shard_keys(shards: int) -> tuple[int, ...]:
    """Return the key of each shard: each leads to a partition of its own, where there are as many.

    The first shard is called 0 whatever their number, so that one of them sees it when the number changes.
    """
    keys: dict[int, int] = {}
    number = 0
    while len(keys) < shards:
        keys.setdefault(spark_hash(number) % shards, number)
        number += 1
    return tuple(keys.values())


def spark_hash(number: int) -> int:
    """Return Spark's hash of a long, which is Murmur3 of its two halves: what decides its partition."""
    state = SEED
    for half in (number % U32, number >> 32 & (U32 - 1)):
        mixed = _turned(half * 0xCC9E2D51 % U32, 15) * 0x1B873593 % U32
        state = (_turned(state ^ mixed, 13) * 5 + 0xE6546B64) % U32
    state ^= 8  # the bytes of a long
    state = (state ^ state >> 16) * 0x85EBCA6B % U32
    state = (state ^ state >> 13) * 0xC2B2AE35 % U32
    state ^= state >> 16
    return state - U32 if state >= U32 // 2 else state


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) % U32


def table_of(shards: int) -> npt.NDArray[np.int32]:
    """Return the shard of each bucket: ranges of equal length, give or take one."""
    return (np.arange(BUCKETS, dtype=np.int64) * shards // BUCKETS).astype(np.int32)


def shards_of(buckets: Buckets, table: npt.NDArray[np.int32]) -> npt.NDArray[np.uint16]:
    """Return the shard of each row; two bytes, which numpy sorts by radix."""
    return table[buckets].astype(np.uint16)

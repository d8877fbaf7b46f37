"""Shards and their keys never change: pinned values, a partition for each, all buckets in even ranges."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given

import weft
from tests.kernels.memory import INT64, tries
from weft.edge.buckets import BUCKETS
from weft.spark.shards import check_replicas, shard_keys, shards_of, spark_hash, table_of

# What a shard is called in every checkpoint that was ever written: these may never change.
PINNED = {
    1: (0,),
    2: (0, 2),
    3: (0, 1, 3),
    8: (0, 2, 3, 4, 9, 13, 14, 16),
}
NUMBERS = (1, 2, 3, 7, 8, 64, 200, 1000, BUCKETS)


@pytest.mark.parametrize("shards", PINNED)
def test_pinned_keys_stay(shards: int) -> None:
    assert shard_keys(shards) == PINNED[shards]


def test_pinned_keys_of_200_shards_stay() -> None:
    keys = shard_keys(200)
    assert keys[:12] == tuple(range(12))
    assert keys[-6:] == (701, 770, 773, 909, 948, 1058)
    assert sum(keys) == SUM_OF_200


SUM_OF_200 = 39_850


def test_the_hash_is_sparks() -> None:
    # SELECT hash(0L), hash(1L), hash(-1L), hash(42L), ... in Spark.
    known = {
        0: -1670924195,
        1: -1712319331,
        -1: -939490007,
        42: 1316951768,
        2**63 - 1: -1604625029,
        -(2**63): -853646085,
    }
    assert {number: spark_hash(number) for number in known} == known


def murmur3(data: bytes, seed: int) -> int:
    """Return Murmur3 (x86, 32 bits) of whole words, by its definition."""
    mask, state = 2**32 - 1, seed
    for (word,) in struct.iter_unpack("<I", data):
        mixed = word * 0xCC9E2D51 & mask
        mixed = (mixed << 15 | mixed >> 17) & mask
        state ^= mixed * 0x1B873593 & mask
        state = (state << 13 | state >> 19) & mask
        state = (state * 5 + 0xE6546B64) & mask
    state ^= len(data)
    for shift, odd in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * odd & mask
    (signed,) = struct.unpack("<i", struct.pack("<I", state))
    return int(signed)


@given(INT64)
@tries(100)
def test_the_hash_is_murmur3_of_the_eight_bytes(number: int) -> None:
    assert spark_hash(number) == murmur3(struct.pack("<q", number), 42)


@pytest.mark.parametrize("shards", NUMBERS)
def test_every_shard_has_a_partition_of_its_own(shards: int) -> None:
    keys = shard_keys(shards)
    assert len(keys) == shards
    assert {spark_hash(key) % shards for key in keys} == set(range(shards))
    assert list(keys) == sorted(keys)


@pytest.mark.parametrize("shards", NUMBERS)
def test_the_first_shard_is_always_called_0(shards: int) -> None:
    assert shard_keys(shards)[0] == 0


@pytest.mark.parametrize("shards", NUMBERS)
def test_every_bucket_has_a_shard_and_every_shard_as_many_buckets(shards: int) -> None:
    table = table_of(shards)
    assert table.size == BUCKETS
    counts = np.bincount(table)
    assert counts.size == shards
    assert counts.max() - counts.min() <= 1
    assert (np.diff(table) >= 0).all()
    assert shards_of(np.arange(BUCKETS, dtype=np.int32), table).tolist() == table.tolist()


def test_keys_spread_evenly_over_any_number_of_shards() -> None:
    buckets = np.random.default_rng(0).integers(0, BUCKETS, 200_000, np.int32)
    for shards in (2, 3, 7, 200):
        counts = np.bincount(shards_of(buckets, table_of(shards)), minlength=shards)
        assert counts.max() < 1.2 * counts.mean()


def test_as_many_shards_as_buckets_are_taken() -> None:
    assert check_replicas(1) == 1
    assert check_replicas(BUCKETS) == BUCKETS


@pytest.mark.parametrize("replicas", [BUCKETS + 1, 10**6])
def test_more_shards_than_buckets_are_refused(replicas: int) -> None:
    with pytest.raises(weft.SpecError, match="`replicas` must be at most 4096; got") as caught:
        check_replicas(replicas)
    assert str(replicas) in caught.value.message
    assert "replicas=4096" in caught.value.hint

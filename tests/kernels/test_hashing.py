"""Hashing: equal keys get equal ids, unequal ones unequal, in order of arrival, however they collide."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.memory import INT64, words
from tests.kernels.test_text import text_of
from weft.kernels.hashing import (
    find_bytes,
    find_words,
    hash_bytes,
    home,
    intern_bytes,
    intern_words,
    mix,
    same_bytes,
    write_text,
    write_words,
)

# With 1 all small words collide: nothing of them reaches the high half.
ODD = st.one_of(st.just(1), st.just(-1), st.integers(-(2**62), 2**62).map(lambda number: number | 1))
# Prefixes of each other, zeros at the end, lengths around the words of eight bytes.
STEMS = st.sampled_from([b"", b"\0", b"a", b"ab", b"abcdefgh", b"abcdefghabcdefgh", b"x" * 100, b"\xff" * 9])
KEYS = st.one_of(STEMS, st.builds(lambda stem, more: stem + more, STEMS, st.binary(max_size=9)))
FLAGS = st.lists(st.booleans(), min_size=60, max_size=60)


def named(valid: Sequence[bool], size: int) -> Any:
    """Return what the kernels take as ids: 0 for a row with a key, -1 for one without."""
    return words([0 if has else -1 for has, _ in zip(valid, range(size), strict=False)], np.int32)


def twin(keys: Sequence[Any], valid: Sequence[bool]) -> tuple[list[int], list[Any]]:
    """Name keys in order of arrival by a dictionary; return the ids and the keys."""
    ids: dict[Any, int] = {}
    named = [ids.setdefault(key, len(ids)) if has else -1 for key, has in zip(keys, valid, strict=False)]
    return named, list(ids)


def slots_for(keys: int) -> int:
    """Return slots that are not two thirds full with so many keys."""
    return 1 << max(2, (2 * keys).bit_length())


@given(st.lists(INT64, max_size=60), FLAGS, ODD)
def test_words_are_named_as_a_dictionary_names_them(values: list[int], valid: list[bool], odd: int) -> None:
    expected, keys = twin(values, valid)
    table, known = np.zeros(2 * slots_for(len(keys)), np.int64), np.zeros(len(keys) + 1, np.int64)
    ids = named(valid, len(values))
    assert intern_words(words(values), ids, table, known, (0, 0, odd)) == (len(values), len(keys))
    assert ids.tolist() == expected
    assert known[: len(keys)].tolist() == keys
    asked = [*values, *(value ^ 1 for value in values), 0, -1]
    found = np.zeros(len(asked), np.int32)
    find_words(words(asked), found, table, odd)
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in asked]


@given(st.lists(INT64, max_size=60), FLAGS, ODD)
def test_a_row_without_a_key_finds_none(values: list[int], valid: list[bool], odd: int) -> None:
    table, known = np.zeros(256, np.int64), np.zeros(100, np.int64)
    everyone = np.zeros(len(values), np.int32)
    intern_words(words(values), everyone, table, known, (0, 0, odd))
    found = named(valid, len(values))
    find_words(words(values), found, table, odd)
    assert found.tolist() == [id_ if has else -1 for id_, has in zip(everyone.tolist(), valid, strict=False)]


@given(st.lists(INT64, min_size=1, max_size=60), ODD, st.sampled_from([4, 8, 16]))
def test_a_table_stops_two_thirds_full_at_the_row_that_finds_no_place(
    values: list[int], odd: int, slots: int
) -> None:
    table, known, ids = (
        np.zeros(2 * slots, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(len(values), np.int32),
    )
    done, used = intern_words(words(values), ids, table, known, (0, 0, odd))
    expected, keys = twin(values[:done], [True] * done)
    assert ids[:done].tolist() == expected
    assert used == len(keys)
    assert 3 * used < 2 * slots + 3
    if done < len(values):
        assert 3 * used >= 2 * slots
        assert values[done] not in keys
        larger, room = np.zeros(256, np.int64), np.zeros(100, np.int64)
        assert intern_words(known[:used], np.zeros(used, np.int32), larger, room, (0, 0, odd)) == (used, used)
        intern_words(words(values), ids, larger, room, (done, used, odd))
    assert ids.tolist() == twin(values, [True] * len(values))[0]


@given(st.lists(KEYS, max_size=60), FLAGS, ODD)
def test_byte_strings_are_named_as_a_dictionary_names_them(
    values: list[bytes], valid: list[bool], odd: int
) -> None:
    expected, keys = twin(values, valid)
    table, ends = np.zeros(2 * slots_for(len(keys)), np.int64), np.zeros(len(keys) + 1, np.int64)
    store = np.zeros(sum(map(len, keys)), np.uint8)
    ids = named(valid, len(values))
    assert intern_bytes(text_of(values), ids, table, (ends, store), (0, 0, odd)) == (len(values), len(keys))
    assert ids.tolist() == expected
    assert [store[one:two].tobytes() for one, two in itertools.pairwise(ends)] == keys
    asked = [*values, *(value + b"\0" for value in values), *(value[:-1] for value in values), b""]
    found = np.zeros(len(asked), np.int32)
    find_bytes(text_of(asked), found, table, (ends, store), odd)
    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in asked]


@given(st.lists(KEYS, min_size=1, max_size=60), ODD, st.integers(0, 300))
def test_byte_strings_stop_where_the_store_has_no_room(values: list[bytes], odd: int, room: int) -> None:
    table, ends = np.zeros(512, np.int64), np.zeros(100, np.int64)
    ids, store = np.zeros(len(values), np.int32), np.zeros(room + 8, np.uint8)
    known = (ends, store[:room])
    done, used = intern_bytes(text_of(values), ids, table, known, (0, 0, odd))
    expected, keys = twin(values[:done], [True] * done)
    assert (ids[:done].tolist(), used) == (expected, len(keys))
    assert not store[room:].any()
    if done < len(values):
        assert values[done] not in keys
        assert sum(map(len, keys)) + len(values[done]) > room


@given(st.integers(0, 2**64 - 1))
def test_a_key_that_begins_another_of_the_same_hash_is_not_taken_for_it(word: int) -> None:
    # With the multiplier 1 a hash is easily undone: the second word leads to the same hash again.
    mixed = (16 ^ word) ^ (16 ^ word) >> 32
    short = word.to_bytes(8, "little")
    long = short + (8 ^ word ^ mixed).to_bytes(8, "little")
    text = [np.frombuffer(bytearray(key), np.uint8) for key in (short, long)]
    assert hash_bytes(text[0].ctypes.data, 8, 1) == hash_bytes(text[1].ctypes.data, 16, 1)
    for keys in ([short, long], [long, short]):
        table, known = np.zeros(16, np.int64), (np.zeros(4, np.int64), np.zeros(24, np.uint8))
        ids = np.zeros(2, np.int32)
        assert intern_bytes(text_of(keys), ids, table, known, (0, 0, 1)) == (2, 2)
        assert ids.tolist() == [0, 1]
        found = np.zeros(2, np.int32)
        find_bytes(text_of(keys[::-1]), found, table, known, 1)
        assert found.tolist() == [1, 0]


@pytest.mark.parametrize("size", range(41))
def test_a_hash_is_of_the_bytes_wherever_they_lie_and_of_all_of_them(size: int) -> None:
    odd = 0x9E3779B97F4A7C15 - 2**64
    value = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    plain = hash_bytes(value.ctypes.data, size, odd)
    for shift in range(9):
        memory = np.full(size + 32, 200 + shift, np.uint8)
        memory[shift : shift + size] = value
        assert hash_bytes(memory.ctypes.data + shift, size, odd) == plain
        assert same_bytes(memory.ctypes.data + shift, value.ctypes.data, size)
        for place in range(size):
            memory[shift + place] ^= 1 << place % 8
            assert not same_bytes(memory.ctypes.data + shift, value.ctypes.data, size)
            assert hash_bytes(memory.ctypes.data + shift, size, odd) != plain
            memory[shift + place] ^= 1 << place % 8


@given(INT64, ODD, st.integers(2, 40))
def test_home_is_a_slot_of_the_table(value: int, odd: int, bits: int) -> None:
    assert 0 <= home(mix(value, odd), 1 << bits) < 1 << bits
    mask = 2**64 - 1
    spread = (value & mask) * (odd & mask) & mask
    expected = (spread ^ spread >> 32) * (odd & mask) & mask
    assert mix(value, odd) & mask == expected


@pytest.mark.parametrize("step", [1, 2, 8, 1000, 2**20, 2**32, 2**40, 2**51])
def test_keys_with_a_step_between_them_spread_over_the_table(step: int) -> None:
    rows, slots = 4096, 8192
    odd = 0x2545F4914F6CDD1D
    homes = {home(mix(at * step, odd), slots) for at in range(rows)}
    assert len(homes) > rows // 2  # random ones: 3223


@given(st.lists(st.tuples(INT64, KEYS), max_size=20))
def test_composed_keys_are_written_where_the_cursors_stand(rows: list[tuple[int, bytes]]) -> None:
    sizes = [8 + len(value) for _, value in rows]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    out, cursors = np.full(int(starts[-1]), 7, np.uint8), starts[:-1].copy()
    write_words(words([number for number, _ in rows]), cursors, out)
    assert cursors.tolist() == [start + 8 for start in starts[:-1].tolist()]
    offsets, data = text_of([value for _, value in rows])
    write_text(offsets, data, cursors, out)
    assert cursors.tolist() == starts[1:].tolist()
    assert out.tobytes() == b"".join(
        number.to_bytes(8, "little", signed=True) + value for number, value in rows
    )

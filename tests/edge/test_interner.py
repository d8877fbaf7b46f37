"""The table of keys against a dictionary: ids by arrival, also once it grew and once keys were forgotten."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from weft.edge.interner import SLOTS, WORTH, Interner, chosen
from weft.edge.keys import Codes

LOW, HIGH = -(2**63), 2**63 - 1
WORDS = st.one_of(
    st.integers(-20, 60), st.integers(0, 3000), st.sampled_from([LOW, LOW + 1, HIGH]), st.integers(LOW, HIGH)
)
STEMS = st.sampled_from([b"", b"\0", b"a", b"key-", b"x" * 64, b"\xff" * 200])
TEXTS = st.builds(lambda stem, more: stem + more, STEMS, st.binary(max_size=3))
MULTIPLIERS = st.sampled_from([1, -1, 3, 2**32 + 1, 0x2545F4914F6CDD1D])


def word_codes(keys: Sequence[Any]) -> Codes:
    """Return keys as words; None stands for no key."""
    flags = np.array([key is not None for key in keys], bool)
    return Codes(np.array([key or 0 for key in keys], np.int64), None, None if flags.all() else flags)


def text_codes(keys: Sequence[Any]) -> Codes:
    """Return keys as bytes; what lies under a row without a key is of no meaning."""
    flags = np.array([key is not None for key in keys], bool)
    values = [b"nothing" if key is None else key for key in keys]
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    data = np.frombuffer(bytearray(b"".join(values)), np.uint8)
    return Codes(offsets, data, None if flags.all() else flags)


def keys_in(codes: Codes) -> list[Any]:
    """Return codes as plain keys."""
    if codes.data is None:
        return codes.values.tolist()
    bounds = codes.values.tolist()
    return [codes.data[one:two].tobytes() for one, two in itertools.pairwise(bounds)]


class InternerMachine(RuleBasedStateMachine):
    """An interner of a few slots beside a dictionary."""

    words = True

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("weft.edge.interner.SLOTS", 4)
        self.multiplier(1)
        self.interner = Interner(words=self.words, slots=4, room=8)
        self.ids: dict[Any, int] = {}

    def teardown(self) -> None:
        self.patch.undo()

    def multiplier(self, odd: int) -> None:
        """Draw this one for the next table."""
        self.patch.setattr("weft.edge.interner.secrets.randbits", lambda _: odd + 2**62)

    @rule(odd=MULTIPLIERS)
    def choose(self, odd: int) -> None:
        """Let the next table have another multiplier; with some of them all keys collide."""
        self.multiplier(odd)

    def codes(self, keys: Sequence[Any]) -> Codes:
        return word_codes(keys) if self.words else text_codes(keys)

    def drawn(self, data: st.DataObject, most: int) -> list[Any]:
        keys = st.one_of(st.none(), WORDS if self.words else TEXTS)
        return data.draw(st.lists(keys, max_size=most))

    @rule(data=st.data(), most=st.sampled_from([5, 60]))
    def intern(self, data: st.DataObject, most: int) -> None:
        """Name keys as the dictionary does."""
        keys = self.drawn(data, most)
        expected = [-1 if key is None else self.ids.setdefault(key, len(self.ids)) for key in keys]
        assert self.interner.intern(self.codes(keys)).tolist() == expected

    @rule(first=st.integers(0, 10**6), count=st.sampled_from([0, 1, 100, 700]))
    def intern_many(self, first: int, count: int) -> None:
        """Name a range of keys, more than the table has slots."""
        keys = [first + at if self.words else b"%d" % (first + at) for at in range(count)]
        expected = [self.ids.setdefault(key, len(self.ids)) for key in keys]
        assert self.interner.intern(self.codes(keys)).tolist() == expected

    @rule(data=st.data())
    def find(self, data: st.DataObject) -> None:
        """Find the known keys, and nothing else; no key is added."""
        known = list(self.ids)
        keys = [*self.drawn(data, 30), *known[:40], *known[-3:]]
        expected = [-1 if key is None else self.ids.get(key, -1) for key in keys]
        assert self.interner.find(self.codes(keys)).tolist() == expected

    @rule(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.1, 0.9, 1.0]))
    def forget(self, seed: int, share: float) -> None:
        """Keep a share of the keys; the others are as if they had never been."""
        used = np.random.default_rng(seed).random(len(self.ids)) < share
        before = self.interner
        fewer, names = before.without(used)
        kept = [key for key, keep in zip(self.ids, used, strict=True) if keep]
        assert names.tolist() == [
            kept.index(key) if keep else -1 for key, keep in zip(self.ids, used, strict=True)
        ]
        assert keys_in(before.keys()) == list(self.ids)
        self.interner, self.ids = fewer, {key: at for at, key in enumerate(kept)}

    @invariant()
    def knows_its_keys(self) -> None:
        """Hold the dictionary's keys in their order, in a table with room."""
        assert self.interner.size == len(self.ids)
        assert keys_in(self.interner.keys()) == list(self.ids)
        assert 3 * self.interner.size <= 2 * self.interner.slots + 2
        assert self.interner.nbytes >= 24 * self.interner.size


class TextInternerMachine(InternerMachine):
    """The same with byte strings."""

    words = False


TestWords: Any = InternerMachine.TestCase
TestTexts: Any = TextInternerMachine.TestCase


@pytest.mark.parametrize("words", [True, False])
def test_many_keys_in_one_call_grow_the_table_as_it_goes(words: bool) -> None:
    interner, rows = Interner(words=words), 60_000
    keys = np.random.default_rng(0).integers(0, 40_000, rows).tolist()
    codes = word_codes(keys) if words else text_codes([b"%030d" % key for key in keys])
    named: dict[int, int] = {}
    assert interner.intern(codes).tolist() == [named.setdefault(key, len(named)) for key in keys]
    assert interner.slots < 4 * len(named)
    assert interner.find(codes).tolist() == [named[key] for key in keys]


def test_a_key_longer_than_the_store_is_kept_whole() -> None:
    interner = Interner(words=False)
    keys = [b"a" * 10, b"b" * 100_000, b"", b"b" * 99_999, b"c" * 300_000]
    assert interner.intern(text_codes(keys)).tolist() == [0, 1, 2, 3, 4]
    assert keys_in(interner.keys()) == keys
    assert interner.find(text_codes([keys[4], keys[1][:-2]])).tolist() == [4, -1]


def test_tables_draw_their_multipliers_so_that_no_input_collides_everywhere() -> None:
    odds = {Interner(words=True).addresses()[2] for _ in range(20)}
    assert len(odds) == 20
    assert all(odd % 2 == 1 and LOW <= odd <= HIGH for odd in odds)


@pytest.mark.parametrize("words", [True, False])
def test_forgetting_gives_the_memory_back_and_is_worth_it_only_for_many(words: bool) -> None:
    interner = Interner(words=words)
    few = interner.nbytes
    keys = list(range(50_000))
    interner.intern(word_codes(keys) if words else text_codes([b"%d" % key for key in keys]))
    assert interner.crowded(rows=1000)
    assert not interner.crowded(rows=50_000) or interner.size > WORTH
    fewer, _ = interner.without(np.arange(interner.size) % 1000 == 0)
    assert fewer.size == 50
    assert fewer.nbytes <= few + 16 * SLOTS
    assert not fewer.crowded(rows=50)


def test_a_table_is_crowded_when_keys_are_three_times_those_of_before_or_the_rows() -> None:
    interner = Interner(words=True)
    interner.intern(word_codes(range(10_000)))
    fewer, _ = interner.without(np.ones(10_000, bool))
    assert not fewer.crowded(rows=10_000)
    assert fewer.crowded(rows=1900)
    fewer.intern(word_codes(range(20_000, 20_000 + 20_000 + WORTH)))
    assert not fewer.crowded(rows=10**6)
    fewer.intern(word_codes([-1]))
    assert fewer.crowded(rows=10**6)


def test_chosen_rows_are_copies() -> None:
    for codes in (word_codes([5, 6, 7]), text_codes([b"five", b"", b"seven"])):
        some = chosen(codes, np.array([2, 0]))
        assert keys_in(some) == [keys_in(codes)[2], keys_in(codes)[0]]
        assert not np.shares_memory(some.values, codes.values)

"""A log of chunks against a list of its rows: nothing is lost, what expired goes, few bytes are rewritten."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import weft
from tests.kernels.memory import tries
from tests.state.chunked import Keys, Row, Shelf, batch_of, codec_of, contents
from weft.indexes.run import ALL, NEVER, above
from weft.state.log import FAN, Log
from weft.state.manifest import first_manifest, read_manifest, write_manifest
from weft.types import SIDES, Side

LOW, HIGH = -(2**63), 2**63 - 1
TIMES = st.one_of(*[st.integers(0, 40)] * 6, st.sampled_from([LOW, LOW + 1, HIGH - 1, HIGH]))
KEYS = st.one_of(st.none(), st.integers(0, 5), st.integers(0, 5), st.integers(0, 400))
DRAWN = st.one_of(st.lists(st.tuples(KEYS, TIMES), max_size=3), st.lists(st.tuples(KEYS, TIMES), max_size=40))


class LogMachine(RuleBasedStateMachine):
    """A log beside two lists: rows that it must hold, and expired ones, which it may."""

    @initialize(keys=st.sampled_from(["words", "bytes", "none"]), merged=st.sampled_from([4, 60, 2**18]))
    def begin(self, keys: Keys, merged: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("weft.state.log.MERGED", merged)
        self.keys: Keys = keys
        self.codec, self.shelf = codec_of(keys), Shelf()
        self.log = Log(self.shelf)
        self.horizons: dict[Side, int] = dict.fromkeys(SIDES, ALL)
        self.living: list[Row] = []
        self.expired: list[Row] = []
        self.names = {0}
        self.serial = 0

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()

    def append(self, side: Side, drawn: Sequence[tuple[int | None, int]], horizon: int) -> None:
        """Append rows as a commit does: those from the horizon on, by whoever's turn it is."""
        now = 0 if self.horizons[side] in (ALL, NEVER) else self.horizons[side] - 10
        moved = [(key, time + now if abs(time) < 100 else time) for key, time in drawn]
        rows = [Row(side, key, time, self.serial + at) for at, (key, time) in enumerate(moved)]
        self.serial += len(rows)
        self.names |= {row.key for row in rows if row.key is not None}
        self.log.append(side, above(batch_of(rows, self.codec), horizon), self.codec)
        for row in rows:
            if row.key is not None:
                key = 0 if self.keys == "none" else row.key
                held = self.living if row.time >= horizon else self.expired
                held.append(row._replace(key=key))

    @rule(side=st.sampled_from(SIDES), drawn=DRAWN)
    def append_all(self, side: Side, drawn: Sequence[tuple[int | None, int]]) -> None:
        if self.horizons[side] != NEVER:
            self.append(side, drawn, ALL)
            self.settle()
        self.check()

    @rule(
        batches=st.lists(st.tuples(st.sampled_from(SIDES), DRAWN), max_size=6),
        further=st.tuples(*[st.sampled_from([0, 0, 1, 3, 30, NEVER])] * 2),
    )
    def commit(self, batches: Sequence[tuple[Side, Any]], further: tuple[int, int]) -> None:
        for side, by in zip(SIDES, further, strict=True):
            now = self.horizons[side]
            self.horizons[side] = NEVER if NEVER in (by, now) else by if now == ALL else now + by
        for side, drawn in batches:
            self.append(side, drawn, self.horizons[side])
        self.settle()
        self.log.tidy(self.horizons, self.codec)
        for chunk in self.log.chunks:
            assert chunk.middle >= self.horizons[chunk.side], "half of a chunk has expired"
        self.check()

    @rule()
    def restart(self) -> None:
        manifest = replace(first_manifest((1, 1)), chunks=tuple(self.log.chunks), begun=self.log.begun)
        again = read_manifest(write_manifest(manifest))
        self.codec = codec_of(self.keys)
        self.log = Log(self.shelf, again.chunks, again.begun)
        self.check()

    def settle(self) -> None:
        """Let rows below the horizon expire."""
        gone = [row for row in self.living if row.time < self.horizons[row.side]]
        self.expired += gone
        self.living = [row for row in self.living if row.time >= self.horizons[row.side]]

    def check(self) -> None:
        """Claim that every living row is there once, no other but expired ones, and that chunks are known."""
        held = contents(self.log, self.keys, sorted(self.names))
        assert not Counter(self.living) - held, "a row was lost"
        assert not held - Counter(self.living) - Counter(self.expired), "a row came twice, or from nowhere"
        assert sorted(self.shelf.chunks) == [chunk.number for chunk in self.log.chunks]
        each = codec_of(self.keys)
        for chunk, (side, batch) in zip(self.log.chunks, self.log.read(each), strict=True):
            assert (chunk.side, chunk.rows) == (side, len(batch))
            assert chunk.size == len(self.shelf.chunks[chunk.number])
            times = batch.lead.tolist()
            assert (chunk.oldest, chunk.newest) == (min(times), max(times))
            assert chunk.middle in times
            assert chunk.number < self.log.begun


TestLog = LogMachine.TestCase
TestLog.settings = tries(40)


def rows_from(first: int, count: int, side: Side = "left") -> list[Row]:
    """Return so many rows, a row a tick."""
    return [Row(side, at % 7, at, at) for at in range(first, first + count)]


def commits(sizes: Sequence[int], span: int | None = None) -> Iterator[tuple[Log, Shelf, int]]:
    """Append rows batch by batch, tidying after each; only the last `span` ticks live."""
    shelf, codec, first = Shelf(), codec_of("words"), 0
    log = Log(shelf)
    for size in sizes:
        log.append("left", batch_of(rows_from(first, size), codec), codec)
        first += size
        log.tidy({"left": ALL if span is None else first - span, "right": ALL}, codec)
        yield log, shelf, first


SIZES: dict[str, Callable[[Random], list[int]]] = {
    "one by one": lambda random: [1] * 1500,
    "a few": lambda random: [random.randint(1, 9) for _ in range(400)],
    "of any size": lambda random: [random.choice((1, 1, 20, 300)) for _ in range(200)],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=list(SIZES))
def test_chunks_and_rewritten_rows_are_of_the_order_of_log_rows(sizes: Any) -> None:
    written, numbers = 0, 0
    for log, _, rows in commits(sizes(Random(0))):
        tiers = int(math.log(rows, FAN)) + 1
        assert len(log.chunks) <= (FAN - 1) * tiers + 1
        written += sum(chunk.rows for chunk in log.chunks if chunk.number >= numbers)
        numbers = log.begun
        assert written <= rows * (tiers + 1)


def test_bytes_are_written_as_often_as_rows() -> None:
    *_, (_, shelf, rows) = commits([50] * 300)
    assert shelf.written <= sum(map(len, shelf.chunks.values())) * (math.log(rows / 50, FAN) + 3)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=list(SIZES))
def test_a_window_that_moves_holds_what_lives_and_at_most_as_much_again(sizes: Any) -> None:
    span = 300
    for log, shelf, rows in commits(sizes(Random(1)), span):
        held = sum(chunk.rows for chunk in log.chunks)
        assert min(rows, span) <= held <= 2 * span + 300
        assert len(log.chunks) <= 24
        assert len(shelf.chunks) == len(log.chunks)


@pytest.mark.parametrize("size", [30, 90, 130, 400])
def test_chunks_at_the_limit_of_merging_do_not_hold_up_the_others(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = 400
    monkeypatch.setattr("weft.state.log.MERGED", merged)
    log: Log
    codec, shelf = codec_of("words"), Shelf()
    log = Log(shelf)
    for at in range(60):  # a backlog: more of one size than one chunk may hold
        log.append("left", batch_of(rows_from(at * size, size), codec), codec)
    for at in range(60, 200):
        log.append("left", batch_of(rows_from(at * size, size), codec), codec)
        log.tidy(dict.fromkeys(SIDES, ALL), codec)
        assert all(chunk.rows <= max(merged, size) for chunk in log.chunks)
        rows = (at + 1) * size
        assert len(log.chunks) <= FAN * rows / merged + 3 * FAN


def test_what_has_expired_is_dropped_without_being_read() -> None:
    shelf, codec = Shelf(), codec_of("words")
    log = Log(shelf)
    for first in (0, 100, 200):
        log.append("left", batch_of(rows_from(first, 50), codec), codec)
    shelf.chunks[0] = b"not to be read"
    log.tidy({"left": 100, "right": ALL}, codec)
    assert [chunk.number for chunk in log.chunks] == [1, 2] == sorted(shelf.chunks)


def test_a_side_is_tidied_by_its_own_horizon() -> None:
    shelf, codec = Shelf(), codec_of("words")
    log = Log(shelf)
    for side in SIDES:
        log.append(side, batch_of(rows_from(0, 10, side), codec), codec)
    log.tidy({"left": ALL, "right": NEVER}, codec)
    assert [chunk.side for chunk in log.chunks] == ["left"]


def test_rows_without_a_key_and_batches_without_rows_leave_no_chunk() -> None:
    shelf, codec = Shelf(), codec_of("bytes")
    log = Log(shelf)
    log.append("left", batch_of([], codec), codec)
    log.append("left", batch_of([Row("left", None, 1, 1)], codec), codec)
    assert (log.chunks, log.begun, shelf.chunks) == ([], 0, {})


def two_chunks() -> tuple[Log, Shelf]:
    shelf, codec = Shelf(), codec_of("words")
    log = Log(shelf)
    for side in SIDES:
        log.append(side, batch_of(rows_from(0, 6, side), codec), codec)
    return log, shelf


def refused(log: Log) -> str:
    """Read all of a log, which must be refused; return the words."""
    with pytest.raises(weft.StateError) as caught:
        list(log.read(codec_of("words")))
    assert "checkpoint" in caught.value.hint or "version of weft" in caught.value.hint
    return caught.value.message


def test_a_chunk_that_is_not_there_is_named() -> None:
    log, shelf = two_chunks()
    del shelf.chunks[1]
    assert "chunk 1 (6 rows of the right) is not in the state" in refused(log)


def test_a_flipped_bit_is_noticed_wherever_it_is() -> None:
    log, shelf = two_chunks()
    whole = shelf.chunks[0]
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        shelf.chunks[0] = bytes(damaged)
        refused(log)


def test_a_chunk_cut_short_is_noticed() -> None:
    log, shelf = two_chunks()
    whole = shelf.chunks[0]
    for size in (*range(60), len(whole) // 2, len(whole) - 1):
        shelf.chunks[0] = whole[:size]
        refused(log)


def test_a_chunk_in_the_place_of_another_is_noticed() -> None:
    log, shelf = two_chunks()
    shelf.chunks[0], shelf.chunks[1] = shelf.chunks[1], shelf.chunks[0]
    assert "of the left) is another than the one" in refused(log)


def test_a_chunk_of_the_other_side_is_noticed() -> None:
    log, shelf = two_chunks()
    first, second = log.chunks
    log = Log(shelf, [replace(first, side="right"), second], log.begun)
    assert "of the right) is another than the one" in refused(log)


def test_tidying_refuses_damage_too() -> None:
    log, shelf = two_chunks()
    shelf.chunks[0] = shelf.chunks[0][:-1]
    with pytest.raises(weft.StateError):
        log.tidy({"left": 4, "right": ALL}, codec_of("words"))

"""A replica, a log or an emitter broken on purpose breaks the claims: what the suite would notice, tried.

Each mutation wraps one named function of the engine. Where a name moves, move it here too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.support.shard_claims import CLAIMS, Claim
from tests.support.sharded import travelling
from tests.support.streams import draw_case
from weft.edge.buckets import BUCKETS
from weft.indexes.run import ALL, NEVER

Wrap = Callable[[Any], Any]
SEEDS = 60  # cases after which a mutation counts as unnoticed; most are noticed within five


def left_rows_are_not_kept(true: Any) -> Any:
    """Let left rows meet right ones and go."""

    def step(self: Any, pack: Any, data: bytes, before: Any, horizon: int) -> Any:
        return true(self, pack, data, before, ALL if pack.side == "right" else NEVER)

    return step


def left_rows_are_kept_from_a_tick_later(true: Any) -> Any:
    """Leave out the left rows that just may meet one to come."""

    def step(self: Any, pack: Any, data: bytes, before: Any, horizon: int) -> Any:
        return true(self, pack, data, before, horizon + (pack.side == "left" and abs(horizon) < 2**62))

    return step


def left_rows_come_twice(true: Any) -> Any:
    """Take left packs twice."""

    def step(self: Any, pack: Any, *args: Any) -> Any:
        for _ in range(1 + (pack.side == "left")):
            yield from true(self, pack, *args)

    return step


def right_rows_are_not_logged(true: Any) -> Any:
    """Keep right rows in the worker only."""
    return lambda self, side, *args: None if side == "right" else true(self, side, *args)


def left_rows_are_not_logged(true: Any) -> Any:
    """Keep left rows in the worker only."""
    return lambda self, side, *args: None if side == "left" else true(self, side, *args)


def purge_by_the_watermark_before(true: Any) -> Any:
    """Hold rows for a batch longer than they are needed."""

    def commit(self: Any, progress: Any, after: Any) -> None:
        from weft.runtimes.joins import horizons

        true(self, progress, horizons(self.join.binding, self._progress))

    return commit


def judge_by_the_watermark_after(true: Any) -> Any:
    """Let a batch's own rows make others of it late."""

    def take(self: Any, packs: Any) -> Any:
        packs, newest = list(packs), dict[Any, int]()
        for pack in packs:
            self._note(replace(pack, rows=0), newest)
        self._progress = self._progress.observed(newest)
        return true(self, packs)

    return take


def tidy_a_tick_early(true: Any) -> Any:
    """Drop from the log what the watermark is about to put out of reach."""

    def tidy(self: Any, horizons: Any, codec: Any) -> None:
        true(self, {side: at + (abs(at) < 2**62) for side, at in horizons.items()}, codec)

    return tidy


def log_is_never_tidied(true: Any) -> Any:
    """Keep every row for ever."""
    return lambda self, horizons, codec: None


def every_commit_has_the_same_nonce(true: Any) -> Any:
    """Believe whatever a worker holds."""
    return lambda size: "0" * 2 * size


def clocks_without_rows_are_not_heard(true: Any) -> Any:
    """Let a shard know only of the times of tasks that sent it rows."""
    return lambda self, pack, newest: true(self, pack, newest if pack.data else {})


def times_are_taken_for_nanoseconds(true: Any) -> Any:
    """Forget the unit of an input's newest time."""

    def note(self: Any, pack: Any, newest: Any) -> None:
        tick = self._sides[pack.side].clock.tick
        told = None if pack.newest is None else pack.newest // tick
        true(self, replace(pack, newest=told), newest)

    return note


def the_last_task_tells_the_time(true: Any) -> Any:
    """Take the newest time of whatever task was heard last for an input's."""

    def note(self: Any, pack: Any, newest: Any) -> None:
        if pack.newest is not None:
            newest.pop((pack.side, pack.source), None)
        true(self, pack, newest)

    return note


def shards_without_rows_hear_nothing(true: Any) -> Any:
    """Send a word about time only with rows."""

    def rows(self: Any, packs: Any, *args: Any) -> Any:
        sent = true(self, packs, *args)
        return sent.filter(sent.column("pack").is_valid())

    return rows


def keys_are_spread_by_their_time(true: Any) -> Any:
    """Take a row's time into the hash of its key."""
    return lambda columns, families, times: moved(true(columns, families, times), times % 7)


def keys_are_spread_by_their_type(true: Any) -> Any:
    """Spread equal keys of unlike encodings apart."""

    def buckets_of(columns: Any, families: Any, times: Any) -> Any:
        return moved(true(columns, families, times), sum(len(str(column.type)) for column in columns))

    return buckets_of


def moved(buckets: Any, by: Any) -> Any:
    return ((buckets + by * 500) % BUCKETS).astype(np.int32)


def a_new_lateness_waits_for_the_next_row(true: Any) -> Any:
    """Resume with the watermark as it was."""
    return lambda self: self


def the_watermark_is_forgotten(true: Any) -> Any:
    """Resume with what is allowed now alone: the watermark may fall."""
    return lambda data: replace(true(data), watermark=None)


def merged_rows_are_lost(true: Any) -> Any:
    """Keep only the first of the chunks that are merged."""
    return lambda batches: true(batches[:1])


MUTATIONS: tuple[tuple[str, Wrap], ...] = (
    ("weft.runtimes.replica:Replica._step", left_rows_are_not_kept),
    ("weft.runtimes.replica:Replica._step", left_rows_are_kept_from_a_tick_later),
    ("weft.runtimes.replica:Replica._step", left_rows_come_twice),
    ("weft.runtimes.replica:Replica._commit", purge_by_the_watermark_before),
    ("weft.runtimes.replica:Replica.take", judge_by_the_watermark_after),
    ("weft.runtimes.replica:Replica._note", clocks_without_rows_are_not_heard),
    ("weft.runtimes.replica:Replica._note", times_are_taken_for_nanoseconds),
    ("weft.runtimes.replica:Replica._note", the_last_task_tells_the_time),
    ("weft.runtimes.replica:secrets.token_hex", every_commit_has_the_same_nonce),
    ("weft.state.log:Log.append", right_rows_are_not_logged),
    ("weft.state.log:Log.append", left_rows_are_not_logged),
    ("weft.state.log:Log.tidy", tidy_a_tick_early),
    ("weft.state.log:Log.tidy", log_is_never_tidied),
    ("weft.state.log:joined", merged_rows_are_lost),
    ("weft.spark.emitter:Emitter._rows", shards_without_rows_hear_nothing),
    ("weft.spark.emitter:buckets_of", keys_are_spread_by_their_time),
    ("weft.spark.emitter:buckets_of", keys_are_spread_by_their_type),
    ("weft.progress.watermark:Progress.resumed", a_new_lateness_waits_for_the_next_row),
    ("tests.support.sharded:read_manifest", the_watermark_is_forgotten),
)


@pytest.mark.parametrize(("place", "wrap"), MUTATIONS, ids=[wrap.__name__ for _, wrap in MUTATIONS])
def test_the_claims_notice(place: str, wrap: Wrap, monkeypatch: pytest.MonkeyPatch) -> None:
    module, path = place.split(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, importlib.import_module(module))
    monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    assert noticed_after() < SEEDS


def noticed_after() -> int:
    """Return the number of cases after which a claim fails."""
    for seed in range(SEEDS):
        for claim in CLAIMS.values():
            random = Random(seed)
            try:
                claim(travelling(draw_case(random, 12)), random)
            except (Exception, pytest.fail.Exception):
                return seed
    return SEEDS


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_the_engine_as_it_is_passes(claim: Claim) -> None:
    for seed in range(4):
        random = Random(seed)
        claim(travelling(draw_case(random, 12)), random)

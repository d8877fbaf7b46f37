"""A join in shards, without Spark: tasks emit packs, a replica a shard takes them, workers forget and fail.

What Spark does between the two ends is done here by chance: it cuts rows into tasks and record batches, hands
packs on in any order, puts a shard on any worker, runs attempts whose work it throws away, and starts anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.cases import Case
from tests.support.cases import Side as Sides
from tests.support.families import Column
from tests.support.feeds import Order, draw_feed, parts_of, times_of
from tests.support.oracle import Exact
from tests.support.players import SIDES, Foreseen, Settings
from tests.support.streams import relaid
from tests.support.watermark import Side, watermark_of
from weft.edge.binding import bind, bind_side
from weft.runtimes.joins import Join
from weft.runtimes.replica import Pack, Replica, caught_up
from weft.spark.emitter import Emitter
from weft.spark.plan import ShardPlan, narrowed
from weft.spark.shards import shard_keys
from weft.spark.workers import settle_in
from weft.spec import JoinSpec, join_spec
from weft.state.manifest import Manifest, first_manifest, read_manifest, write_manifest

with pytest.MonkeyPatch.context() as once:
    once.setattr("gc.freeze", lambda: None)
    settle_in()  # done once a process; this one is no worker, what it holds is not to be frozen


@dataclass(frozen=True, slots=True)
class Task:
    """What one task reads of one input: the positions of rows, record batch by record batch."""

    side: Side
    source: int
    batches: tuple[tuple[int, ...], ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """Return all positions."""
        return tuple(at for batch in self.batches for at in batch)


MicroBatch = tuple[Task, ...]


def travelling(case: Case) -> Case:
    """Return a case without views: Spark has none, and Arrow 18 dies of writing them compressed."""
    sides = [
        Sides({name: _without_views(column) for name, column in side.columns.items()})
        for side in (case.left, case.right)
    ]
    return replace(case, left=sides[0], right=sides[1])


def _without_views(column: Column) -> Column:
    kind = {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(column.kind), column.kind)
    return Column(kind, column.values)


def draw_batches(
    random: Random,
    case: Case,
    sources: tuple[int, int] = (1, 1),
    order: Order = "any",
    sizes: Sequence[int] | None = None,
) -> list[MicroBatch]:
    """Draw an order of arrival, cut it into micro-batches, and those into tasks; some have no rows."""
    feed = draw_feed(random, case, sources, order, sizes)
    batches: list[MicroBatch] = []
    together = random.choice((1, 3, 10))
    while feed:
        count = random.randint(1, together)
        tasks = [
            task
            for push in feed[:count]
            for side, rows in parts_of(push)
            for task in _tasks(random, side, push.source, rows)
        ]
        random.shuffle(tasks)
        batches.append(tuple(tasks))
        feed = feed[count:]
    return batches


def _tasks(random: Random, side: Side, source: int, rows: tuple[int, ...]) -> list[Task]:
    parts = _cut(random, rows)
    return [Task(side, source, tuple(_cut(random, part))) for part in parts]


def _cut(random: Random, rows: tuple[int, ...]) -> list[tuple[int, ...]]:
    cuts = sorted(random.randint(0, len(rows)) for _ in range(random.choice((0, 0, 1, 2))))
    return [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def rows_in(batch: MicroBatch, side: Side) -> tuple[int, ...]:
    """Return the positions of a side's rows in a micro-batch."""
    return tuple(at for task in batch if task.side == side for at in task.rows)


def foresee(case: Case, batches: Sequence[MicroBatch], settings: Settings | Sequence[Settings]) -> Foreseen:
    """Play micro-batches through the model; settings may differ from batch to batch, as between runs."""
    each = [settings] * len(batches) if isinstance(settings, Settings) else settings
    first = each[0] if each else Settings((0, 0))
    watermark = watermark_of(first.lateness, first.idle, first.sources)
    times = {side: times_of(case, side) for side in SIDES}
    foreseen = Foreseen()
    for batch, chosen in zip(batches, each, strict=True):
        if not any(task.rows for task in batch):  # no shard hears of it
            foreseen.watermarks.append(watermark.value)
            continue
        for one in watermark.inputs:
            at = SIDES.index(one.side)
            one.lateness, one.idle = chosen.lateness[at], chosen.idle[at]
        watermark.settle()
        for task in batch:
            for at in task.rows:
                time = times[task.side][at]
                if time is not None and watermark.value is not None and watermark.is_late(time):
                    foreseen.late[task.side].append((task.source, at, watermark.value - time))
                else:
                    foreseen.kept[task.side].append(at)
        for task in batch:
            watermark.see(task.side, task.source, [times[task.side][at] for at in task.rows])
        watermark.settle()
        foreseen.watermarks.append(watermark.value)
    return foreseen


def spec_of(case: Case, settings: Settings) -> JoinSpec:
    """Return what a call with these arguments means."""
    idle: Any = tuple(None if one is None else case.span(one) for one in settings.idle)
    return join_spec(
        **case.arguments(),
        lateness=(case.span(settings.lateness[0]), case.span(settings.lateness[1])),
        idle=idle,
        late=settings.late,
        sources=settings.sources,
    )


def plan_of(case: Case, settings: Settings, shards: int) -> tuple[ShardPlan, dict[Side, tuple[int, ...]]]:
    """Return what the workers of a join know, and which columns they are sent."""
    spec = spec_of(case, settings)
    left, right = bind_side(spec, "left", case.left.schema), bind_side(spec, "right", case.right.schema)
    binding, needed = narrowed(bind(spec, left, right))
    return ShardPlan(spec, binding, shards), needed


@dataclass(slots=True)
class State:
    """What Spark keeps for a shard: chunks by number, and a manifest as read from its bytes."""

    manifest: Manifest
    chunks: dict[int, bytes] = field(default_factory=dict)
    identity: bytes | None = None
    told: Counter[str] = field(default_factory=Counter)  # what was counted in all committed batches

    def copy(self) -> State:
        """Return a state that an attempt may change."""
        return State(self.manifest, self.chunks.copy(), self.identity, self.told.copy())

    def get(self, number: int) -> bytes | None:
        """Return a chunk."""
        return self.chunks.get(number)

    def put(self, number: int, data: bytes) -> None:
        """Keep a chunk; none is ever written twice."""
        assert number not in self.chunks
        self.chunks[number] = data

    def drop(self, number: int) -> None:
        """Forget a chunk, which must be there."""
        del self.chunks[number]


Worker = dict[Any, Any]  # by shard: the nonce of the commit that a join is of, and the join
Results = list[pa.Table]


@dataclass(slots=True)
class Cluster:
    """All shards of a join, and workers that take them in turn."""

    case: Case
    settings: Settings
    shards: int
    random: Random
    reliable: bool = False  # nothing fails, and shards stay where they are
    states: dict[int, State] = field(init=False)
    workers: list[Worker] = field(init=False)
    plan: ShardPlan = field(init=False)
    needed: dict[Side, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        none = first_manifest(self.settings.sources)
        self.states = {key: State(none) for key in shard_keys(self.shards)}
        self.start(self.settings)

    def start(self, settings: Settings) -> None:
        """Start the query, anew or from its checkpoint, with settings that may have changed."""
        self.settings = settings
        self.workers = [{} for _ in range(1 if self.reliable else self.random.choice((1, 2, 2, 3)))]
        self.plan, self.needed = plan_of(self.case, settings, self.shards)

    def take(self, batch: MicroBatch) -> Results:
        """Run one micro-batch to its commit; what else happened leaves nothing but stale residents."""
        chance = 1.0 if self.reliable else self.random.random()
        if chance < 0.1:
            self.start(self.settings)
        elif chance < 0.2:  # all of it was done, none of it committed: the same batch comes again
            self._all(self.emitted(batch))
        self.states, results = self._all(self.emitted(batch))
        return results

    def emitted(self, batch: MicroBatch) -> dict[int, list[Pack]]:
        """Return what every shard is sent, in any order."""
        packs: dict[int, list[Pack]] = {key: [] for key in self.states}
        for task in batch:
            number = task.source + (self.settings.sources[0] if task.side == "right" else 0)
            for rows in Emitter(self.plan, number)(self.read(task)):
                for row in rows.to_pylist():
                    side, source = self.plan.input_of(row["input"])
                    newest = row["newest"] if row["told"] else None
                    packs[row["shard"]].append(Pack(side, source, newest, row["rows"], row["pack"]))
        for each in packs.values():
            self.random.shuffle(each)
        return {key: each for key, each in packs.items() if each}

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Return the rows of a task as record batches, only the columns that the join needs."""
        one = self.case.left if task.side == "left" else self.case.right
        names = [one.schema.names[place] for place in self.needed[task.side]]
        for rows in task.batches:
            columns = [one.columns[name].array(rows) for name in names]
            whole = pa.RecordBatch.from_arrays(columns, names=names)
            cut = relaid(self.random, pa.Table.from_batches([whole])).to_batches()
            yield from cut or [whole]

    def _all(self, packs: Mapping[int, list[Pack]]) -> tuple[dict[int, State], Results]:
        """Run every shard that was sent something; return what the states become, and the pairs."""
        states, results = self.states.copy(), Results()
        for key in self.random.sample(sorted(packs), len(packs)):
            while not self.reliable and self.random.random() < 0.15:  # attempts that fail on the way
                self._attempt(key, packs[key], stop=self.random.choice((0, 1, 2, None)))
            states[key], pairs = self._attempt(key, packs[key])
            results += pairs
        return states, results

    def _attempt(self, key: int, packs: list[Pack], stop: int | None = None) -> tuple[State, Results]:
        """Run one shard on some worker as Spark would; `stop` after so many tables."""
        state, worker = self.states[key].copy(), self.random.choice(self.workers)
        nonce, resident = worker.pop(key, ("", None))
        if resident is None or nonce != state.manifest.nonce:
            resident = self._caught_up(state)
        replica = Replica(self.plan.spec, self.plan.binding, resident, state.manifest, state)
        taking, results = replica.take(iter(packs)), Results()
        for table in taking:
            if stop is not None and len(results) >= stop:
                break
            results.append(table)
        else:
            state.manifest = read_manifest(write_manifest(replica.manifest))
            worker[key] = replica.manifest.nonce, resident
        return state, results

    def _caught_up(self, state: State) -> Join:
        return caught_up(self.plan.spec, self.plan.binding, state.manifest, state)

    def counted(self, name: str) -> int:
        """Return a count over all shards."""
        return sum(state.manifest.counts.get(name, 0) for state in self.states.values())

    @property
    def watermark(self) -> Exact | None:
        """Return the watermark, which must be the same on all shards."""
        (one,) = {state.manifest.watermark for state in self.states.values()}
        return one

    def read_back(self, key: int) -> Join:
        """Return a shard's join as a worker that has never seen it gets it."""
        return self._caught_up(self.states[key])

    def joins(self, key: int) -> list[Join]:
        """Return every resident join of a shard that is of its last commit, and one read back."""
        nonce = self.states[key].manifest.nonce
        held = [worker[key] for worker in self.workers if key in worker]
        return [self.read_back(key), *(join for seen, join in held if seen == nonce)]


@dataclass(frozen=True, slots=True)
class Limits:
    """How small everything is that has a limit; the defaults are the engine's own."""

    pack: int = 1 << 25
    pairs: int = 1 << 17
    merged: int = 1 << 18
    tiny: bool = False  # runs of a few rows, keys forgotten once there are a few

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let the engine keep to these limits, so that few rows meet all of them."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("weft.spark.emitter.PACK", self.pack)
            patch.setattr("weft.runtimes.replica.MOST_PAIRS", self.pairs)
            patch.setattr("weft.state.log.MERGED", self.merged)
            for name, value in TINY.items() if self.tiny else ():
                patch.setattr(f"weft.{name}", value)
            yield


TINY = {
    "indexes.runs.LARGE": 3,
    "indexes.runs.CAPACITY": 5,
    "indexes.memtable.FEWEST": 2,
    "edge.interner.WORTH": 2,
}


def eased(settings: Settings) -> Settings:
    """Return settings with which a query that stopped on a late row goes on."""
    return replace(settings, late="drop")

"""What must hold of a join in shards, as plain functions of a case and a source of chance.

Hypothesis calls them with drawn chance, the mutation checks with seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.support.cases import Case
from tests.support.duck import duck_pairs
from tests.support.feeds import Order, lateness_needed
from tests.support.feeds import Push as Pushed
from tests.support.oracle import Exact
from tests.support.players import SIDES, Foreseen, Settings
from tests.support.rows import multiset, pairs_of, rows_of, tick_of
from tests.support.sharded import (
    Cluster,
    Limits,
    MicroBatch,
    Results,
    draw_batches,
    eased,
    foresee,
    rows_in,
    spec_of,
)
from tests.support.streams import draw_edge_case
from tests.support.watermark import Side
from weft.progress.late import python_value
from weft.progress.watermark import Progress
from weft.runtimes.inline import Inline
from weft.runtimes.joins import Join, allowances, horizons
from weft.runtimes.replica import codec_of
from weft.state.chunks import encode, read_table

Claim = Callable[[Case, Random], None]
Horizons = dict[Side, int]
Late = dict[Side, list[tuple[int, int, Exact]]]


def draw_limits(random: Random) -> AbstractContextManager[None]:
    """Draw how small packs, delivered tables, chunks and runs are."""
    pack, pairs = random.choice((1 << 25, 1 << 25, 300, 40)), random.choice((1 << 17, 3))
    return Limits(pack, pairs, random.choice((1 << 18, 6)), random.random() < 0.5).kept()


def draw_shards(random: Random) -> int:
    """Draw a number of shards."""
    return random.choice((1,) * 10 + (2,) * 14 + (3,) * 14 + (7,) * 8 + (64,))


def needed(case: Case, batches: Sequence[MicroBatch]) -> tuple[int, int]:
    """Return the smallest lateness of each side with which no row is late."""
    tasks = [task for batch in batches for task in batch]
    return lateness_needed(
        case,
        [
            Pushed(task.rows, None, task.source)
            if task.side == "left"
            else Pushed(None, task.rows, task.source)
            for task in tasks
        ],
    )


def table_of(case: Case, results: Results) -> pa.Table:
    """Return results as one table, which must have the result's columns."""
    for table in results:
        assert [(one.name, one.type) for one in table.schema] == case.fields()
        table.validate(full=True)
        assert table.num_rows
    return pa.concat_tables(results) if results else pa.table({})


def play(cluster: Cluster, batches: Sequence[MicroBatch]) -> Results:
    """Run micro-batches, and look at the state after each."""
    results = Results()
    for batch in batches:
        results += cluster.take(batch)
        check(cluster)
    return results


def check(cluster: Cluster) -> None:
    """Claim that the state is what may still match, the same for whoever holds it, and no more."""
    first = expired_below(cluster.case, cluster.watermark)
    for state in cluster.states.values():
        assert sorted(state.chunks) == [chunk.number for chunk in state.manifest.chunks]
        for chunk in state.manifest.chunks:
            assert chunk.middle >= first[chunk.side], "half of a chunk has expired"
            assert chunk.size == len(state.chunks[chunk.number])
    key = cluster.random.choice([*cluster.states])
    at = horizons_of(cluster, key)
    told, *others = (held(join, at) for join in cluster.joins(key))
    assert all(other == told for other in others)


def expired_below(case: Case, watermark: Exact | None) -> dict[Side, Exact]:
    """Return, for each side in its own unit, a time below which no row can meet one to come."""
    if watermark is None:
        return dict.fromkeys(SIDES, -(10**99))
    left, right = (_tick(case, side) for side in SIDES)
    return {"left": -(-(watermark - case.upper) // left), "right": -(-(watermark + case.lower) // right)}


def _tick(case: Case, side: Side) -> int:
    one, name = (case.left, case.left_time) if side == "left" else (case.right, case.right_time)
    return tick_of(one.columns[name].kind)


def horizons_of(cluster: Cluster, key: int) -> Horizons:
    """Return the first times that a shard has to hold after its last commit."""
    manifest = cluster.states[key].manifest
    progress = Progress(allowances(cluster.plan.spec), manifest.inputs, manifest.watermark)
    return horizons(cluster.plan.binding, progress)


def held(join: Join, at: Horizons) -> Counter[Any]:
    """Return the rows of a join that it has to hold: side, key, time and payload."""
    join.operator.check()
    codec, rows = codec_of(join), Counter[Any]()
    for side, window in join.operator.windows.items():
        for batch in window.contents():
            for row in rows_of(read_table(encode(batch, codec.interner, codec.payload[side]))):
                rows[side, *row.items()] += row["time"] >= at[side]
    return +rows


def shards_give_the_oracles_rows(case: Case, random: Random) -> None:
    """Whatever the shards, cuts, failures and restarts: the oracle's rows, and every row counted."""
    sources = random.choice(((1, 1), (2, 1), (1, 3)))
    batches = draw_batches(random, case, sources, random.choice(("any", "near")))
    settings = Settings(needed(case, batches), sources=sources, late="fail")
    cluster = Cluster(case, settings, draw_shards(random), random)
    with draw_limits(random):
        result = table_of(case, play(cluster, batches))
    assert multiset(rows_of(result)) == multiset(case.expected())
    assert cluster.counted("pairs") == result.num_rows
    assert cluster.counted("late_left") == cluster.counted("late_right") == 0
    assert (cluster.counted("rows_left"), cluster.counted("rows_right")) == (len(case.left), len(case.right))
    assert_watermarks(cluster, foresee(case, batches, settings))


def assert_watermarks(cluster: Cluster, foreseen: Foreseen) -> None:
    """Claim that the last watermark is the model's."""
    assert cluster.watermark == (foreseen.watermarks[-1] if foreseen.watermarks else None)


def partners_at_the_edge_of_reach_are_met(case: Case, random: Random) -> None:
    """In sorted streams without lateness, rows still meet a partner that comes at the watermark itself."""
    case = draw_edge_case(random, 12)
    batches = draw_batches(random, case, (1, 1), "sorted", (1, 1, 2, 7))
    chosen = Settings(needed(case, batches), late="fail")
    cluster = Cluster(case, chosen, random.choice((1, 2)), random, reliable=random.random() < 0.6)
    with draw_limits(random):
        assert multiset(rows_of(table_of(case, play(cluster, batches)))) == multiset(case.expected())


def draw_settings(random: Random, case: Case, batches: Sequence[MicroBatch]) -> Settings:
    """Draw a lateness below, at or above what the order needs, and at times an idle."""
    left, right = needed(case, batches)
    lateness = random.choice((0, left // 2, left, left + 1)), random.choice((0, right // 3, right))
    more = abs(case.upper - case.lower) % 10**12
    idle = tuple(random.choice((None, None, one, one + more)) for one in lateness)
    return Settings(lateness, (idle[0], idle[1]))


def the_model_says_which_rows_are_late(case: Case, random: Random) -> None:
    """Late rows, silent inputs, other settings in a later run: kept and counted as the model says."""
    sources = random.choice(((1, 1), (2, 1), (1, 3)))
    batches = draw_batches(random, case, sources, random.choice(("any", "near")))
    each = [replace(draw_settings(random, case, batches), sources=sources)]
    cluster, results = Cluster(case, each[0], draw_shards(random), random), Results()
    with draw_limits(random):
        for at, batch in enumerate(batches):
            if at and random.random() < 0.1:
                each.append(replace(draw_settings(random, case, batches), sources=sources))
                cluster.start(each[-1])
            elif at:
                each.append(each[-1])
            results += play(cluster, [batch])
            foreseen = foresee(case, batches[: at + 1], each)
            assert_watermarks(cluster, foreseen)
            for side in SIDES:
                assert cluster.counted(f"late_{side}") == len(foreseen.late[side])
    kept = foresee(case, batches, each[: len(batches)]).kept
    expected = case.expected(kept["left"], kept["right"])
    assert multiset(rows_of(table_of(case, results))) == multiset(expected)


def one_process_tells_the_same(case: Case, random: Random) -> None:
    """Batch by batch: the pairs, counts, watermark and rows that an operator in one process has."""
    batches = draw_batches(random, case, order=random.choice(("any", "near")))
    settings = draw_settings(random, case, batches)
    cluster = Cluster(case, settings, draw_shards(random), random)
    alone = Inline(spec_of(case, settings))
    alone.learn({"left": case.left.schema, "right": case.right.schema})
    for batch in batches:
        pushed = [(side, 0, _table(case, side, batch)) for side in SIDES if rows_in(batch, side)]
        told = alone.push(pushed) if pushed else pa.table({})
        given = table_of(case, play(cluster, [batch]))
        assert multiset(rows_of(given)) == multiset(rows_of(told))
        assert cluster.watermark == alone.progress.watermark
        for side in SIDES:
            assert cluster.counted(f"rows_{side}") == alone.counts.rows_in[side]
            assert cluster.counted(f"late_{side}") == sum(alone.counts.late[side])
        assert cluster.counted("pairs") == alone.counts.pairs_out
        if alone.join is not None and pushed and random.random() < 0.3:
            at = horizons(alone.join.binding, alone.progress)
            shards = (held(cluster.read_back(key), at) for key in cluster.states)
            assert sum(shards, Counter()) == held(alone.join, at)


def _table(case: Case, side: Side, batch: MicroBatch) -> pa.Table:
    return (case.left if side == "left" else case.right).table(rows_in(batch, side))


def fail_refuses_whole_batches(case: Case, random: Random) -> None:
    """`late="fail"` stops at a batch with a late row, which it names; nothing of it stays."""
    batches = draw_batches(random, case, order=random.choice(("any", "near")))
    settings = replace(draw_settings(random, case, batches), late="fail")
    cluster = Cluster(case, settings, draw_shards(random), random)
    taken: list[MicroBatch] = []
    results = Results()
    for batch in batches:
        late = late_in(batch, foresee(case, [*taken, batch], settings))
        refused = bool(late["left"] or late["right"])
        if refused:
            before = cluster.states
            with pytest.raises(weft.LateRowError) as caught:
                cluster.take(batch)
            assert cluster.states is before
            _assert_named(case, caught.value, late)
        if refused and random.random() < 0.5:
            continue  # the batch never comes again
        if refused:
            cluster.start(eased(settings))
        results += play(cluster, [batch])
        taken.append(batch)
        if refused:
            cluster.start(settings)
    kept = foresee(case, taken, settings).kept
    expected = case.expected(kept["left"], kept["right"])
    assert multiset(rows_of(table_of(case, results))) == multiset(expected)


def late_in(batch: MicroBatch, foreseen: Foreseen) -> Late:
    """Return the late rows of one batch: source, position, and by how much."""
    return {side: [row for row in foreseen.late[side] if row[1] in rows_in(batch, side)] for side in SIDES}


def _assert_named(case: Case, error: weft.LateRowError, late: Late) -> None:
    """Claim that the error is of a late row: side, input, key, time, and by how much."""
    side: Side = "left" if error.side == "left" else "right"
    one, time = (case.left, case.left_time) if side == "left" else (case.right, case.right_time)
    keys = [pair[SIDES.index(side)] for pair in case.on]
    table, tick = one.table(), _tick(case, side)
    told = [
        (
            source,
            tuple(python_value(table[key][at]) for key in keys),
            python_value(table[time][at]),
            -(-apart // tick),
        )
        for source, at, apart in late[side]
    ]
    said = error.source, error.key, error.time, error.lateness
    assert str(said) in [str(one) for one in told]  # of which numpy calls one "not a time"


def long_streams_give_duckdbs_pairs(case: Case, random: Random, sizes: Sequence[int]) -> None:
    """A long stream in micro-batches of these sizes gives the pairs DuckDB gives."""
    order: Order = "near"
    batches = draw_batches(random, case, (1, 1), order, sizes)
    settings = Settings(needed(case, batches), late="fail")
    cluster = Cluster(case, settings, random.choice((1, 1, 2, 3)), random)
    results = Results()
    with Limits(random.choice((1 << 25, 60_000)), random.choice((1 << 17, 1000))).kept():
        for batch in batches:
            results += cluster.take(batch)
    check(cluster)
    assert pairs_of(table_of(case, results)) == duck_pairs(case)


CLAIMS: dict[str, Claim] = {
    "shards give the oracle's rows": shards_give_the_oracles_rows,
    "partners at the edge of reach are met": partners_at_the_edge_of_reach_are_met,
    "the model says which rows are late": the_model_says_which_rows_are_late,
    "one process tells the same": one_process_tells_the_same,
    "fail refuses whole batches": fail_refuses_whole_batches,
}

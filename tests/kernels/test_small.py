"""Small pushes: one kernel call gives what the general way gives, and hands over what it can't take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import weft
from tests.kernels.memory import SEEDS, tries
from tests.kernels.two_ways import HIGH, KEYS, LOW, PAYLOADS, TS, Event, Layout, assert_same, play
from tests.support.rows import multiset, rows_of
from weft.indexes.tails import CAPACITY
from weft.kernels import small as small_kernel
from weft.progress.watermark import Progress

SIDES = ("left", "right")


def plain(key: str = "int64", lower: int = -5, upper: int = 5, **more: Any) -> Layout:
    return Layout(key, pa.int64(), ([pa.float64()], [pa.int8()]), lower, upper, more)


def drawn_layout(random: Random, key: str) -> Layout:
    """Draw a join: any payloads, bounds on both sides of zero or not, some columns left out."""
    lower, upper = sorted((random.randint(-8, 8), random.randint(-8, 8)))
    kinds = [random.sample(PAYLOADS, random.randint(0, 4)) for _ in SIDES]
    more = {"lateness": random.choice((0, 3, 50)), "keys": random.choice((1, 3, 30))}
    layout = Layout(key, random.choice((pa.int64(), TS)), (kinds[0], kinds[1]), lower, upper, more)
    names = ["id", "id_right", *(["p0"] if kinds[0] and not kinds[1] else [])]
    if random.random() < 0.3:
        more["columns"] = random.sample(names, random.randint(1, len(names)))
    more["closed"] = random.choice(("both", "both", "left", "right", "none"))
    return layout


def laid(random: Random, table: pa.Table, other: pa.Table) -> Any:
    """Return a batch as a record batch or a table, whole or sliced out of something longer."""
    longer = pa.concat_tables([other, table, other]).combine_chunks()
    sliced = longer.slice(other.num_rows, table.num_rows)
    return random.choice((sliced, table, sliced.to_batches()[0], sliced.to_batches()[0]))


def drawn_events(random: Random, layout: Layout, count: int, base: int) -> list[Event]:
    """Draw pushes of both sides, a few rows each, near in time; nulls, late rows and restarts come midway."""
    events: list[Event] = []
    now, ids = 0, 0
    for at in range(count):
        if random.random() < 0.06:
            events.append(("snapshot", None))
        side = random.choice(SIDES)
        rows = random.choice((1, 1, 1, 2, 5, 20))
        nulls = ""
        if at > count // 2 and random.random() < 0.15:
            nulls = random.choice(("ts", "key", "id", "p0", "p1"))
        spread = random.choice((0, 3, 60))
        times = [base + now - random.randint(0, spread) for _ in range(rows)]
        times = [max(LOW, min(HIGH, time)) for time in times]
        batch = layout.batch(random, side, range(ids, ids + rows), times, nulls)
        now, ids = now + random.choice((0, 1, 1, 4)), ids + rows
        beside = layout.batch(random, side, range(-7, 0), [base] * 7)
        events.append((side, laid(random, batch, beside)))
    return events


@pytest.mark.parametrize("key", KEYS)
@given(SEEDS)
@tries(8)
def test_both_ways_give_the_same_pairs_push_by_push(key: str, seed: int) -> None:
    random = Random(seed)
    layout = drawn_layout(random, key)
    assert_same(layout, drawn_events(random, layout, 40, base=0))


FAR = ((LOW + 1, HIGH - 1), (-(2**62), 2**62), (HIGH - 1, HIGH - 1), (LOW + 1, LOW + 1))


@pytest.mark.parametrize("base", [LOW, LOW + 10, HIGH - 30, HIGH])
@given(SEEDS)
@tries(8)
def test_both_ways_give_the_same_at_the_ends_of_int64(base: int, seed: int) -> None:
    random = Random(seed)
    layout = drawn_layout(random, random.choice(("int64", "no key", "uint8")))
    if random.random() < 0.2:
        layout.lower, layout.upper = random.choice(
            ((LOW + 1, HIGH - 1), (-(2**62), 2**62), (HIGH - 1, HIGH - 1))
        )
        layout.time = pa.int64()
    layout.more["lateness"] = random.choice((0, 40, HIGH))
    assert_same(layout, drawn_events(random, layout, 25, base))


@pytest.fixture
def narrow() -> Iterator[None]:
    """Little room everywhere: arenas, hits, the mutable part, and a look at what expired every few pushes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST_ARENA", 8), ("ARENA", 40), ("MOST_HITS", 25)):
            patch.setattr(f"weft.runtimes.small.{name}", value)
        patch.setattr("weft.runtimes.inline.TIDY", 5)
        patch.setattr("weft.indexes.runs.CAPACITY", 60)
        patch.setattr("weft.indexes.memtable.FEWEST", 10)
        patch.setattr("weft.edge.interner.SLOTS", 4)
        patch.setattr("weft.edge.interner.WORTH", 6)
        yield


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("key", ["int64", "int8 and uint8", "no key"])
@given(SEEDS)
@tries(12)
def test_both_ways_give_the_same_where_everything_runs_out_of_room(key: str, seed: int) -> None:
    random = Random(seed)
    layout = drawn_layout(random, key)
    events = drawn_events(random, layout, 60, base=0)
    if random.random() < 0.3:
        events.insert(
            random.randrange(len(events)), ("advance", 10) if layout.time != TS else ("snapshot", None)
        )
    assert_same(layout, events)


def in_turn(layout: Layout, times: Sequence[int], rows: int = 1, nulls: str = "") -> list[Event]:
    """Return pushes of rows of one time each, sides in turn; one in the middle has nulls in a column."""
    random, events = Random(len(times)), []
    for at, time in enumerate(times):
        side, ids = SIDES[at % 2], range(at * rows, (at + 1) * rows)
        named = nulls if at == len(times) // 2 else ""
        events.append((side, layout.batch(random, side, ids, [time] * rows, named)))
    return events


@pytest.mark.parametrize("key", KEYS)
def test_a_stream_of_plain_rows_goes_the_fast_way(key: str) -> None:
    layout = Layout(key, TS, (PAYLOADS[:7], PAYLOADS[7:]), -50, 50, {"keys": 3})
    told = assert_same(layout, in_turn(layout, range(120)))
    assert told.fast == 120
    assert sum(map(len, told.results)) > 100


def test_results_stay_what_they_were_through_every_arena() -> None:
    layout = plain(lower=-(10**6), upper=10**6, keys=1)
    told = assert_same(layout, in_turn(layout, range(160), rows=3))
    pairs = sum(rows.total() for rows in told.results)
    assert pairs > 8000  # arenas begin with 1024 rows
    assert told.fast >= 155


def numbered(side: str, first: int, rows: int, time: int, keys: int = 1) -> Event:
    """Return a push of many rows at one time."""
    ids = np.arange(first, first + rows)
    columns = {"id": ids.astype(np.int32), "ts": np.full(rows, time), "key": ids % keys}
    p0 = np.zeros(rows, np.float64 if side == "left" else np.int8)
    columns = {**columns, "p0": p0}
    return side, pa.table(dict(reversed(columns.items())) if side == "right" else columns)


def test_a_full_mutable_part_becomes_a_run_and_pushes_stay_fast() -> None:
    layout = plain(lower=-2, upper=2, keys=997)
    pushes = 2 * (CAPACITY // 700 + 4)
    events = [numbered(SIDES[at % 2], at // 2 * 700, 700, at // 2, keys=997) for at in range(pushes)]
    told = assert_same(layout, events)
    assert len(events) - 8 <= told.fast < len(events)
    assert told.counts[-1][1] > 20_000


def test_the_mutable_part_is_filled_to_its_last_row_and_not_beyond() -> None:
    layout = plain(lower=0, upper=0)
    sizes = [*[1000] * (CAPACITY // 1000), CAPACITY % 1000]
    events = [numbered("left", 0, size, at, keys=9) for at, size in enumerate(sizes)]
    assert assert_same(layout, events).fast == len(events)
    assert assert_same(layout, [*events, numbered("left", 0, 1, 10)]).fast == len(events)


@pytest.mark.parametrize("runs", [0, 1])
def test_more_hits_or_pairs_than_there_is_room_for_go_the_general_way(runs: int) -> None:
    layout = plain(keys=1)
    stored = [numbered("right", at * 1000, 1000, 0) for at in range(8)]
    if runs:
        stored = [numbered("right", 0, 17_000, 0)]
    rows = 1 if runs else 3
    told = assert_same(layout, [*stored, numbered("left", 0, rows, 0), numbered("left", 3, 1, 6)])
    assert told.counts[-1][1] == (17_000 if runs else 24_000)
    assert told.fast == (1 if runs else 9)


@pytest.mark.parametrize("rows", [1, 40])
def test_new_keys_with_every_push_grow_the_table_and_old_ones_are_forgotten(rows: int) -> None:
    layout = plain(lower=0, upper=3)
    events: list[Event] = []
    for at in range(400 if rows > 1 else 900):
        columns = {
            "id": np.arange(rows, dtype=np.int32),
            "ts": np.full(rows, at),
            "key": np.arange(at // 2 * rows, at // 2 * rows + rows),
            "p0": np.zeros(rows, np.float64 if at % 2 == 0 else np.int8),
        }
        table = pa.table(columns if at % 2 == 0 else dict(reversed(columns.items())))
        events.append((SIDES[at % 2], table))
    told = assert_same(layout, events)
    assert sum(rows.total() for rows in told.results) == len(events) // 2 * rows
    assert told.fast > 0.8 * len(events)


def test_late_rows_are_found_and_given_back_the_general_way() -> None:
    layout = plain(lateness=3)
    events = in_turn(layout, [at if at % 5 else at - 20 for at in range(60)])
    told = assert_same(layout, events)
    assert sum(map(len, told.late.values())) == sum(at % 5 == 0 and at > 3 for at in range(60))
    assert told.fast == 60 - sum(map(len, told.late.values()))


@pytest.mark.parametrize("column", ["ts", "key", "id", "p0"])
def test_nulls_send_a_push_the_general_way_and_come_out_as_nulls(column: str) -> None:
    layout = plain(keys=2)
    events = in_turn(layout, range(40), rows=3, nulls=column)
    told = assert_same(layout, events)
    assert 20 <= told.fast < 40
    nulls = any(value is None for rows in told.results for row in rows for _, value in row)
    assert nulls == (column in ("id", "p0"))


def test_nulls_in_a_column_that_nobody_asked_for_do_not_slow_a_push() -> None:
    layout, random = plain(columns=["id", "id_right"]), Random(6)
    events = [
        (side, layout.batch(random, side, range(at, at + 2), [at] * 2, "p0"))
        for at, side in enumerate(SIDES * 10)
    ]
    assert assert_same(layout, events).fast == 20


def test_after_the_end_of_a_side_both_ways_give_the_same() -> None:
    layout = plain(keys=1, lower=-30, upper=30)
    events = in_turn(layout, range(60))
    rest = [event for event in events[20:] if event[0] == "right"]
    told = assert_same(layout, [*events[:20], ("finish", "left"), *rest])
    assert told.counts[-1][1] > told.counts[20][1]


def test_empty_pushes_between_change_nothing() -> None:
    layout = plain(keys=1)
    events = in_turn(layout, range(20))
    empty = [(side, layout.schema(side).empty_table()) for side in SIDES]
    mixed = [one for event in events for one in (*empty, event)]
    told = assert_same(layout, mixed)
    assert [rows for rows in told.results if rows] == [rows for rows in play(layout, events).results if rows]


def counted_out(desk: Any, real: Any = small_kernel.push_small) -> int:
    """Do the kernel's work, then fail before anybody has counted what it wrote."""
    real(desk)
    raise KeyboardInterrupt


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("owner", "name", "broken"),
    [(small_kernel, "push_small", counted_out), (Progress, "observed", interrupted)],
    ids=["uncounted", "counted"],
)
def test_a_push_that_fails_after_its_kernel_wrote_leaves_nothing(owner: Any, name: str, broken: Any) -> None:
    layout = plain(keys=2, lower=-100, upper=100)
    op, again = (weft.stream.IntervalJoin(**layout.spec()) for _ in range(2))
    given: list[tuple[pa.Table, Any]] = []
    for at, (side, batch) in enumerate(in_turn(layout, range(30))):
        if at % 3 == 1:
            place = batch.schema.get_field_index("key")
            failing = batch.set_column(place, batch.schema.field("key"), pa.array([at % 2 * 1000]))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(owner, name, broken)
                with pytest.raises(KeyboardInterrupt):
                    op.push(side, failing)
        result, expected = op.push(side, batch), again.push(side, batch)
        assert multiset(rows_of(result)) == multiset(rows_of(expected))
        given.append((result, rows_of(expected)))
    assert (op.metrics.rows_in, op.metrics.rows) == (again.metrics.rows_in, again.metrics.rows)
    assert sum(result.num_rows for result, _ in given) == op.metrics.pairs_out == again.metrics.pairs_out
    for result, rows in given:
        assert multiset(rows_of(result)) == multiset(rows)

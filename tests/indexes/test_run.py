"""A run: rows by key, then lead, ties by position; what a row matches is one slice of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.indexes.rows import (
    HIGH,
    IDS,
    LEAD_PLACE,
    LEADS,
    LOW,
    NEAR_WANTED,
    WANTED,
    Row,
    Wanted,
    batch_of,
    met_by,
    met_in,
    probe_of,
    rows_in,
)
from weft.columns import Cells
from weft.indexes.pairs import Pairs
from weft.indexes.run import (
    ALL,
    NEVER,
    Batch,
    Run,
    above,
    build,
    check_run,
    cut,
    probe,
    renamed,
    rows_of,
    settled,
)

ROWS = st.lists(st.tuples(IDS, LEADS), max_size=60).map(
    lambda rows: [Row(id_, lead, 100 + at) for at, (id_, lead) in enumerate(rows)]
)
HORIZONS = st.one_of(LEADS, st.just(ALL), st.just(NEVER))
KEYS = 151


def ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted((row for row in rows if row.id >= 0), key=lambda row: (row.id, row.lead))


def contents(run: Run, rows: Sequence[Row]) -> list[Row]:
    run = settled(run, LEAD_PLACE)
    check_run(run)
    return rows_in(rows_of([run], ALL), rows)


@given(ROWS, st.integers(KEYS, KEYS + 200))
def test_a_run_has_the_rows_with_a_key_in_order(rows: list[Row], keys: int) -> None:
    run = build(batch_of(rows), keys)
    there = ordered(rows)
    assert run.keys.tolist() == sorted({row.id for row in there})
    assert run.lead.tolist() == [row.lead for row in there]
    assert len(run) == len(there)
    if there:
        assert (run.oldest, run.newest) == (min(run.lead), max(run.lead))
        assert run.oldest <= run.middle <= run.newest
        assert contents(run, rows) == there


@given(ROWS)
def test_a_full_sort_gives_the_run_that_insertion_gives(rows: list[Row]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.indexes.run.MOVES", -1)
        run = build(batch_of(rows), KEYS)
    assert run.lead.tolist() == [row.lead for row in ordered(rows)]
    if len(run):
        assert contents(run, rows) == ordered(rows)


@given(ROWS, st.one_of(WANTED, NEAR_WANTED), st.booleans(), st.sampled_from([(0, 0), (8, 4), (10**6, 10**6)]))
def test_a_probe_meets_what_two_loops_meet(
    rows: list[Row], wanted: list[Wanted], sorted_payload: bool, ways: tuple[int, int]
) -> None:
    run = build(batch_of(rows), KEYS)
    run = settled(run, LEAD_PLACE) if sorted_payload else run
    asked, reach = probe_of(wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.indexes.run.FEW", ways[0])
        patch.setattr("weft.indexes.run.SHORT", ways[1])
        hits, count = probe(run, asked.ids, reach)
    pairs = [Pairs(hits, count, "left", asked.columns, run.columns, run.order)]
    assert met_in(pairs, rows) == met_by(wanted, rows)


@given(ROWS, HORIZONS, st.booleans())
def test_cut_leaves_what_is_not_below_the_horizon(
    rows: list[Row], horizon: int, sorted_payload: bool
) -> None:
    run = build(batch_of(rows), KEYS)
    run = settled(run, LEAD_PLACE) if sorted_payload else run
    horizon = min(horizon, HIGH)
    left = cut(run, horizon)
    assert rows_in(left, rows) == [row for row in ordered(rows) if row.lead >= horizon]


@given(ROWS, HORIZONS, st.sampled_from([0.0, 0.5, 1.0]))
def test_above_leaves_the_living_rows_or_all_where_enough_live(
    rows: list[Row], horizon: int, spare: float
) -> None:
    living = [row for row in rows if row.id >= 0 and row.lead >= horizon]
    found = rows_in(above(batch_of(rows), horizon, spare), rows)
    assert found == (rows if horizon != NEVER and len(living) >= spare * len(rows) else living)


@given(ROWS, ROWS, HORIZONS)
def test_rows_of_runs_come_run_by_run(one: list[Row], two: list[Row], horizon: int) -> None:
    two = [Row(row.id, row.lead, row.serial + 500) for row in two]
    runs = [settled(build(batch_of(rows), KEYS), LEAD_PLACE) for rows in (one, two)]
    both = [*ordered(one), *ordered(two)]
    expected = [row for row in both if row.lead >= horizon]
    assert rows_in(rows_of(runs, horizon), [*one, *two]) == expected


@given(ROWS, st.data())
def test_renamed_keys_keep_their_rows(rows: list[Row], data: st.DataObject) -> None:
    run = settled(build(batch_of(rows), KEYS), LEAD_PLACE)
    used = np.zeros(KEYS, bool)
    used[run.keys] = True
    used[data.draw(st.lists(st.integers(0, KEYS - 1)))] = True
    names = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    fresh = renamed(run, names, int(used.sum()))
    called = [Row(int(names[row.id]), row.lead, row.serial) for row in ordered(rows)]
    assert contents(fresh, called) == called


def test_the_lead_column_is_its_own_payload_and_counted_once() -> None:
    rows = [Row(at % 3, 50 - at, at) for at in range(50)]
    apart, shared = (settled(build(batch_of(rows), 3), place) for place in (None, LEAD_PLACE))
    column = shared.columns[LEAD_PLACE]
    assert isinstance(column, Cells)
    assert np.shares_memory(column.values, shared.lead)
    assert apart.nbytes - shared.nbytes == 50 * 8


def test_a_settled_run_keeps_nothing_of_its_batch() -> None:
    rows = [Row(at % 3, at, at) for at in range(50)]
    batch = batch_of(rows)
    run = settled(build(batch, 3), LEAD_PLACE)
    for column, source in zip(run.columns, batch.columns, strict=True):
        if isinstance(column, Cells) and isinstance(source, Cells):
            assert not np.shares_memory(column.values, source.values)


def random_times(random: np.random.Generator, rows: int) -> np.ndarray:
    return random.integers(LOW, HIGH, rows)


@pytest.mark.parametrize("keys", [1, 3, 1000])
@pytest.mark.parametrize("order", ["reversed", "random"])
def test_a_batch_out_of_order_is_sorted_as_fast_as_any(keys: int, order: str) -> None:
    rows = 200_000
    random = np.random.default_rng(keys)
    lead = np.arange(rows)[::-1].copy() if order == "reversed" else random_times(random, rows)
    ids = random.integers(-1, keys, rows).astype(np.int32)
    build(Batch(ids[:100], lead[:100], ()), keys)
    start = time.perf_counter()
    run = build(Batch(ids, lead, ()), keys)
    assert time.perf_counter() - start < 2
    assert run.order is not None
    assert (run.order == np.lexsort((lead, ids))[np.count_nonzero(ids < 0) :]).all()
    check_run(run)


def test_a_run_without_rows_is_a_run() -> None:
    for rows in ([], [Row(-1, 5, 1)]):
        run = settled(build(batch_of(rows), 1), LEAD_PLACE)
        check_run(run)
        assert len(run) == 0
        asked, reach = probe_of([(0, LOW, HIGH), (-1, LOW, HIGH), (70, LOW, HIGH)])
        assert probe(run, asked.ids, reach)[1] == 0

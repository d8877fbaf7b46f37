"""The properties as plain functions of a case and a source of chance.

Hypothesis calls them with drawn chance (and shrinks what fails), the long runs with seeds, the mutation
checks to see that a broken engine breaks at least one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest

import weft
from tests.support.cases import Case, assert_joined
from tests.support.duck import duck_pairs
from tests.support.feeds import (
    Event,
    Finish,
    Push,
    Reload,
    draw_events,
    draw_feed,
    lateness_needed,
)
from tests.support.players import SIDES, Foreseen, Player, Settings, fine_tick, foresee, player
from tests.support.rows import multiset, pairs_of, rows_of
from tests.support.runtimes import AsStream, AsTable, Runtime
from tests.support.streams import draw_edge_case

Property = Callable[[Case, Random], None]
INT64 = (-(2**63), 2**63 - 1)


def rows_equal_the_oracles(runtime: Runtime, case: Case, random: Random) -> None:
    """A runtime gives the oracle's rows, whatever the layout, order, cuts and inputs."""
    assert_joined(case, runtime.join(case, random))


def order_and_cuts_do_not_matter(case: Case, random: Random) -> None:
    """Two orders within their lateness, in two sequences of cuts, give the same multiset: the oracle's."""
    expected = multiset(case.expected())
    for order in ("any", "near"):
        feed = draw_feed(random, case, (2, 1), order)
        stage = player(case, Settings(lateness_needed(case, feed), sources=(2, 1), late="fail"), random)
        stage.play([*feed, Push((), ())])
        assert multiset(rows_of(stage.result())) == expected


def partners_at_the_edge_of_reach_are_met(random: Random) -> None:
    """In sorted streams without lateness, rows still meet a partner that comes at the watermark itself."""
    case = draw_edge_case(random, 12)
    feed = draw_feed(random, case, (1, 1), "sorted", (1, 1, 2, 7))
    stage = player(case, Settings((0, 0), late="fail"), random)
    stage.play([*feed, Push((), ())])
    assert multiset(rows_of(stage.result())) == multiset(case.expected())


def sides_can_be_swapped(runtime: Runtime, case: Case, random: Random) -> None:
    """Swapped sides with mirrored bounds give the same pairs."""
    case = replace(case, columns=None)
    straight = pairs_of(runtime.join(case, random))
    turned = pairs_of(runtime.join(case.mirrored(), random))
    assert straight == {(left, right): count for (right, left), count in turned.items()}


def batches_come_in_order(case: Case, random: Random) -> None:
    """A call on tables gives its rows by left position, then right time."""
    time = case.right_time + ("_right" if case.left_time == case.right_time else "")
    case = replace(case, columns=("id", time))
    left, right = case.left.table(), case.right.table()
    assert rows_of(weft.interval_join(left, right, **case.arguments())) == case.expected()


def draw_settings(random: Random, case: Case, sources: tuple[int, int], feed: Sequence[Event]) -> Settings:
    """Draw a lateness below, at or above what the order needs, and at times an idle."""
    left, right = lateness_needed(case, feed)
    lateness = random.choice((0, left // 2, left, left + 1)), random.choice((0, right // 3, right))
    more = abs(case.upper - case.lower) % 10**12
    idle = tuple(random.choice((None, None, one, one + more)) for one in lateness)
    return Settings(lateness, (idle[0], idle[1]), sources, "route")


def begun(case: Case, chosen: Settings, random: Random) -> Player:
    """Return a stream that knows both schemas."""
    return player(case, chosen, random, left_schema=case.left.schema, right_schema=case.right.schema)


def the_model_says_which_rows_are_late(case: Case, random: Random) -> None:
    """Late rows, silent inputs, promises, ends, restarts: kept, counted, routed as the model says."""
    sources = random.choice(((1, 1), (2, 1), (1, 3)))
    events = draw_events(random, case, sources)
    chosen = draw_settings(random, case, sources, events)
    stage = begun(case, chosen, random)
    for event in events:
        stage.play([event])
        if random.random() < 0.1:
            stage.fetch_late()
    _assert_as_foreseen(stage, foresee(case, events, chosen))


def _assert_as_foreseen(stage: Player, foreseen: Foreseen) -> None:
    case = stage.case
    expected = case.expected(foreseen.kept["left"], foreseen.kept["right"])
    assert multiset(rows_of(stage.result())) == multiset(expected)
    assert stage.op.metrics.late == foreseen.late_counts(stage.settings.sources)
    stage.fetch_late()
    for side in SIDES:
        ids = (case.left if side == "left" else case.right).columns["id"].values
        got = [(row["_weft_source"], row["id"]) for table in stage.late[side] for row in rows_of(table)]
        assert sorted(got) == sorted((source, ids[at]) for source, at, _ in foreseen.late[side])


def fail_refuses_whole_pushes(case: Case, random: Random) -> None:
    """`late="fail"` refuses exactly the pushes with a late row, and takes nothing of them."""
    events = draw_events(random, case, (1, 1))
    chosen = replace(draw_settings(random, case, (1, 1), events), late="fail")
    stage = begun(case, chosen, random)
    taken: list[Event] = []
    for event in events:
        late = foresee(case, [*taken, event], chosen).late
        if late["left"] or late["right"]:
            with pytest.raises(weft.LateRowError):
                stage.play([event])
        else:
            stage.play([event])
            taken.append(event)
    kept = foresee(case, taken, chosen).kept
    assert multiset(rows_of(stage.result())) == multiset(case.expected(kept["left"], kept["right"]))


def the_watermark_is_the_models(case: Case, random: Random) -> None:
    """`metrics.watermark` is the model's after every event."""
    sources = (2, 1)
    events = [one for one in draw_events(random, case, sources) if not isinstance(one, Finish | Reload)]
    chosen = draw_settings(random, case, sources, events)
    stage = begun(case, chosen, random)
    stage.play(events)
    tick = fine_tick(case)
    for got, told in zip(stage.watermarks, foresee(case, events, chosen).watermarks, strict=True):
        # Times are whole ticks: a watermark between two of them means the upper one.
        whole = None if told is None else -(-told // tick)
        if whole is None or INT64[0] < whole < INT64[1]:
            assert got == (None if whole is None else whole * tick)


def long_streams_give_duckdbs_pairs(case: Case, random: Random, sizes: Sequence[int]) -> None:
    """A long stream in pushes of these sizes, restarted once, gives the pairs DuckDB gives."""
    feed = draw_feed(random, case, (1, 1), "near", sizes)
    stage = player(case, Settings(lateness_needed(case, feed), late="fail"), random)
    restart = random.randrange(len(feed))
    stage.play([*feed[:restart], Reload(), *feed[restart:], Push((), ())])
    expected = duck_pairs(case)
    assert pairs_of(stage.result()) == expected
    assert stage.op.metrics.pairs_out == expected.total()


def _on_streams(case: Case, random: Random) -> None:
    rows_equal_the_oracles(AsStream(), case, random)


def _on_tables(case: Case, random: Random) -> None:
    rows_equal_the_oracles(AsTable(), case, random)


# What the long runs and the mutation checks try, by the name a failure is reported with.
PROPERTIES: dict[str, Property] = {
    "tables equal the oracle": _on_tables,
    "streams equal the oracle": _on_streams,
    "order and cuts do not matter": order_and_cuts_do_not_matter,
    "partners at the edge of reach are met": lambda _, random: partners_at_the_edge_of_reach_are_met(random),
    "the model says which rows are late": the_model_says_which_rows_are_late,
    "fail refuses whole pushes": fail_refuses_whole_pushes,
    "the watermark is the model's": the_watermark_is_the_models,
    "batches come in order": batches_come_in_order,
}

"""Several physical inputs of one logical stream: each has its own share in the watermark, silent or ended."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.support.drawing import drawn, pairs
from tests.support.stage import push_all

WIDE: dict[str, Any] = {"on": "key", "time": "ts", "lower": -1000, "upper": 1000}

THREE = drawn("""
    side  | source | id | key | ts
    left  | 0      | l1 | 1   | 100
    ---------------------------------
    left  | 1      | l2 | 1   | 60
    ---------------------------------
    right | 0      | r1 | 1   | 80
    ---------------------------------
    left  | 1      | l3 | 1   | 61
    ---------------------------------
    left  | 0      | l4 | 1   | 60
    ---------------------------------
    left  | 0      | l5 | 1   | 59
""")


def test_each_input_of_a_side_holds_the_watermark_back_by_itself() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0, sources=(2, 1))
    told = THREE
    results = push_all(op, told)
    # l3 raises input 1 to 61, so that l4 is late too: the least share is what counts.
    assert results == [pairs(""), pairs(""), pairs("l1 r1, l2 r1"), pairs("l3 r1"), pairs(""), pairs("")]
    assert op.metrics.watermark == 61
    assert op.metrics.late == {"left": (2, 0), "right": (0,)}


def test_late_rows_are_counted_on_the_input_they_came_from() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0, sources=(2, 3))
    row = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 5
        right | r1 | 1   | 5
    """)
    op.advance(6)
    for source, times in ((0, 1), (1, 2)):
        for _ in range(times):
            op.push("left", row.left.table(), source=source)
    op.push("right", row.right.table(), source=2)
    assert op.metrics.late == {"left": (1, 2), "right": (0, 0, 1)}


def test_a_silent_input_holds_the_others_back_by_at_most_its_idle() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 100
        ----------------------
        left  | l2 | 1   | 90
        right | r1 | 1   | 89
    """)
    op = weft.stream.IntervalJoin(**WIDE, lateness=0, idle=(None, 10))
    first, second = push_all(op, told)
    assert (first, second) == (pairs(""), pairs(""))
    assert op.metrics.late == {"left": (0,), "right": (1,)}
    # The left side is the slower one in no sense: its own share is 100, the right's is 90.
    assert op.metrics.watermark == 90


def test_without_idle_a_silent_input_holds_everything_back() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 1000000
        --------------------------
        right | r1 | 1   | 999500
    """)
    assert push_all(op, told) == [pairs(""), pairs("l1 r1")]


def test_idle_is_replayable_event_time_counted_from_all_inputs() -> None:
    told = drawn("""
        side  | source | id | key | ts
        left  | 0      | l1 | 1   | 50
        -------------------------------
        right | 0      | r1 | 1   | 200
        -------------------------------
        left  | 1      | l2 | 1   | 170
        -------------------------------
        left  | 0      | l3 | 1   | 169
        left  | 0      | l4 | 1   | 180
    """)
    op = weft.stream.IntervalJoin(**WIDE, lateness=5, idle=30, sources=(2, 1))
    results = push_all(op, told)
    assert results[-1] == pairs("l4 r1")
    assert op.metrics.watermark == 170
    assert op.metrics.late == {"left": (1, 0), "right": (0,)}


def test_the_end_of_an_input_releases_the_watermark() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0, sources=(2, 1))
    push_all(
        op,
        drawn("""
        side  | source | id | key | ts
        left  | 0      | l1 | 1   | 100
        -------------------------------
        right | 0      | r1 | 1   | 90
    """),
    )
    assert op.metrics.watermark is None
    assert op.finish(side="left", source=1).num_rows == 0
    assert op.metrics.watermark == 90


def test_the_end_of_a_side_releases_the_watermark() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    push_all(
        op,
        drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 100
        ----------------------
        right | r1 | 1   | 10
    """),
    )
    assert op.metrics.watermark == 10
    op.finish(side="right")
    assert op.metrics.watermark == 100


def test_rows_of_an_ended_side_still_meet_rows_of_the_other() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 10
        ---------------------
        right | r1 | 1   | 5
        ---------------------
        right | r2 | 1   | 900
    """)
    push = told.pushes
    op.push("left", told.left.table(push[0].left))
    op.finish("left")
    results = [op.push("right", told.right.table(push[at].right)) for at in (1, 2)]
    assert [table.num_rows for table in results] == [1, 1]


def test_a_row_at_the_edge_of_reach_still_meets_its_partner_and_then_goes() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 10
        right | r1 | 1   | 10
        ---------------------
        left  | l2 | 2   | 15
        right | r2 | 2   | 15
        ---------------------
        left  | l3 | 1   | 15
        right | r3 | 1   | 15
    """)
    for lower, upper, expected in (
        (-5, 5, "l1 r3, l3 r1, l3 r3"),
        (0, 5, "l1 r3, l3 r3"),
        (-5, 4, "l3 r1, l3 r3"),
    ):
        op = weft.stream.IntervalJoin(on="key", time="ts", lower=lower, upper=upper, lateness=0)
        assert push_all(op, told)[-1] == pairs(expected)


@pytest.mark.parametrize("sources", [(2, 1), (1, 2), (3, 3)])
def test_lists_of_tables_are_several_inputs_of_one_batch_call(sources: tuple[int, int]) -> None:
    row = {"id": [1], "key": [1], "ts": [0]}
    left, right = ([pa.table(row)] * count for count in sources)
    result = weft.interval_join(left, right, on="key", time="ts", lower=0, upper=0)
    assert result.num_rows == sources[0] * sources[1]


def test_batch_calls_know_no_late_rows_whatever_lateness_says() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 100
        left  | l2 | 1   | 0
        right | r1 | 1   | 100
        right | r2 | 1   | 0
    """)
    plain: dict[str, Any] = {"on": "key", "time": "ts", "lower": 0, "upper": 0}
    settings: tuple[dict[str, Any], ...] = (
        {"lateness": 0, "late": "fail"},
        {"lateness": (0, 5), "late": "route", "idle": 7},
    )
    for more in settings:
        result = weft.interval_join(told.left.table(), told.right.table(), **plain, **more)
        assert result.num_rows == 2

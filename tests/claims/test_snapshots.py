"""A snapshot holds all that later results depend on; one that is not whole and of this join is refused."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from tests.support.cases import Case, assert_joined, side_of
from tests.support.drawing import drawn, pairs
from tests.support.families import PAYLOADS
from tests.support.feeds import Event, Push, Reload, draw_feed, lateness_needed
from tests.support.players import Settings, player
from tests.support.rows import pairs_of
from tests.support.streams import cases

SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": -5, "upper": 5, "lateness": 10}

TOLD = drawn("""
    side  | id | key | ts
    left  | l1 | a   | 10
    right | r1 | b   | 12
    left  | l2 | .   | 10
    ---------------------
    left  | l3 | b   | 11
    right | r2 | a   | 11
""")


def begun(**more: Any) -> Any:
    """Return a stream with a little state."""
    op = weft.stream.IntervalJoin(**SPEC | more)
    op.push(left=TOLD.left.table([0, 1]), right=TOLD.right.table([0]))
    return op


def test_a_restored_stream_goes_on_where_the_other_stood() -> None:
    op = begun()
    other = weft.stream.IntervalJoin(**SPEC)
    other.restore(op.snapshot())
    for one in (op, other):
        assert pairs_of(one.push(left=TOLD.left.table([2]), right=TOLD.right.table([1]))) == pairs(
            "l1 r2, l3 r1"
        )
    assert op.metrics.watermark == other.metrics.watermark


def test_a_restored_stream_replaces_what_was_there() -> None:
    op, other = begun(), begun()
    other.push("right", TOLD.right.table([1]))
    other.restore(op.snapshot())
    assert pairs_of(other.push(left=TOLD.left.table([0]))) == pairs("")


def test_a_snapshot_of_nothing_yet_restores_to_nothing_yet() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    op.restore(weft.stream.IntervalJoin(**SPEC).snapshot())
    assert op.metrics.watermark is None
    assert pairs_of(op.push(left=TOLD.left.table(), right=TOLD.right.table())) == pairs("l1 r2, l3 r1")


def test_a_restored_stream_knows_which_inputs_have_ended() -> None:
    op = begun()
    op.finish("left")
    other = weft.stream.IntervalJoin(**SPEC)
    other.restore(op.snapshot())
    with pytest.raises(weft.FinishedError):
        other.push("left", TOLD.left.table())
    assert pairs_of(other.push("right", TOLD.right.table([1]))) == pairs("l1 r2")


def test_a_restored_stream_keeps_its_counts() -> None:
    op = begun()
    op.advance(30)
    op.push("left", TOLD.left.table([0]))
    other = weft.stream.IntervalJoin(**SPEC)
    other.restore(op.snapshot())
    for name in ("rows_in", "pairs_out", "late", "watermark"):
        assert getattr(other.metrics, name) == getattr(op.metrics, name), name


@given(case=cases(rows=8), random=st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_a_restart_at_every_cut_changes_no_result(case: Case, random: Random) -> None:
    feed = draw_feed(random, case)
    stage = player(case, Settings(lateness_needed(case, feed)), random)
    stage.play([event for push in feed for event in (push, Reload())])
    stage.play([Push((), ())])
    assert_joined(case, stage.result())


def test_every_type_of_payload_survives_a_restart() -> None:
    columns = {"id": (pa.int64(), range(6)), "key": (pa.int8(), [1] * 6), "ts": (pa.int64(), range(6))}
    columns |= {
        f"p{at}": (kind, [(None, *pool)[row % (len(pool) + 1)] for row in range(6)])
        for at, (kind, pool) in enumerate(PAYLOADS)
    }
    case = Case(side_of(columns), side_of(columns), -2, 2)
    feed: list[Event] = [
        Push((0, 1, 2), None),
        Reload(),
        Push(None, (0, 1, 2)),
        Reload(),
        Reload(),
        Push((3, 4, 5), (3, 4, 5)),
    ]
    stage = player(case, Settings((10, 10)), Random(0))
    stage.play(feed)
    assert_joined(case, stage.result())


@pytest.mark.parametrize(
    "other",
    [
        {"lower": -4},
        {"upper": 6},
        {"closed": "left"},
        {"on": None},
        {"on": ["key", "id"]},
        {"suffixes": ("_a", "_b")},
        {"columns": ["id", "key"]},
        {"sources": (2, 1)},
        {"time": None, "left_time": "ts", "right_time": "key"},
    ],
    ids=str,
)
def test_a_snapshot_of_another_join_is_refused(other: dict[str, Any]) -> None:
    blob = begun().snapshot()
    op = weft.stream.IntervalJoin(**SPEC | other)
    with pytest.raises(weft.StateError):
        op.restore(blob)
    assert op.metrics.rows_in == {"left": 0, "right": 0}


@pytest.mark.parametrize(
    "other",
    [{"lateness": 3}, {"lateness": (1, 20)}, {"late": "fail"}, {"late": "route"}, {"idle": 50}],
    ids=str,
)
def test_lateness_late_and_idle_may_change_at_a_restore(other: dict[str, Any]) -> None:
    blob = begun().snapshot()
    op = weft.stream.IntervalJoin(**SPEC | other)
    op.restore(blob)
    assert pairs_of(op.push(left=TOLD.left.table([2]), right=TOLD.right.table([1]))) == pairs("l1 r2, l3 r1")


def test_a_larger_lateness_after_a_restore_does_not_bring_the_watermark_down() -> None:
    op = begun()
    op.advance(11)
    other = weft.stream.IntervalJoin(**SPEC | {"lateness": 1000})
    other.restore(op.snapshot())
    assert other.metrics.watermark == 11
    other.push("left", TOLD.left.table([0]))
    assert other.metrics.late == {"left": (1,), "right": (0,)}


def test_a_snapshot_with_any_byte_flipped_is_refused() -> None:
    blob = begun(late="route").snapshot()
    op = weft.stream.IntervalJoin(**SPEC)
    for at in range(len(blob)):
        with pytest.raises(weft.StateError):
            op.restore(blob[:at] + bytes([blob[at] ^ (1 << at % 8)]) + blob[at + 1 :])
    op.restore(blob)


def test_a_snapshot_cut_short_or_too_long_is_refused() -> None:
    blob = begun().snapshot()
    op = weft.stream.IntervalJoin(**SPEC)
    for at in range(len(blob)):
        with pytest.raises(weft.StateError):
            op.restore(blob[:at])
    with pytest.raises(weft.StateError):
        op.restore(blob + b"\0")
    with pytest.raises(weft.StateError):
        op.restore(blob + blob)
    op.restore(blob)


def test_a_snapshot_of_another_version_is_refused_by_its_number() -> None:
    blob = begun().snapshot()
    version = int.from_bytes(blob[4:8], "big")
    other = blob[:4] + (version + 1).to_bytes(4, "big") + blob[8:]
    with pytest.raises(weft.StateError, match=f"{version + 1}.*{version}"):
        begun().restore(other)


def test_a_snapshot_of_other_columns_is_refused() -> None:
    narrow = TOLD.left.table().drop_columns(["id"]).schema
    for blob in (begun().snapshot(), begun_on_the_left().snapshot()):
        op = weft.stream.IntervalJoin(**SPEC, left_schema=narrow)
        with pytest.raises(weft.StateError):
            op.restore(blob)


def test_a_restored_stream_knows_its_columns() -> None:
    for blob in (begun().snapshot(), begun_on_the_left().snapshot()):
        op = weft.stream.IntervalJoin(**SPEC)
        op.restore(blob)
        with pytest.raises(weft.InputError):
            op.push("left", TOLD.left.table().drop_columns(["id"]))
        result = op.push("right", TOLD.right.table([1]))
        assert result.column_names == ["id", "key", "ts", "id_right", "ts_right"]
        assert pairs_of(result) == pairs("l1 r2")


def begun_on_the_left() -> Any:
    """Return a stream that knows one side only."""
    op = weft.stream.IntervalJoin(**SPEC)
    op.push("left", TOLD.left.table([0, 1]))
    return op


def test_a_refused_restore_leaves_the_stream_as_it_was() -> None:
    op = begun()
    blob = op.snapshot()
    with pytest.raises(weft.StateError):
        op.restore(blob[:-1])
    assert op.snapshot() == blob
    assert pairs_of(op.push("right", TOLD.right.table([1]))) == pairs("l1 r2")


def test_what_is_no_bytes_is_refused_as_such() -> None:
    op = begun()
    for blob in ("text", None, 42):
        with pytest.raises(weft.WeftError):
            op.restore(blob)


def test_a_snapshot_does_not_change_what_is_pushed_after_it() -> None:
    op = begun()
    blob = op.snapshot()
    op.push("right", TOLD.right.table([1]))
    other = weft.stream.IntervalJoin(**SPEC)
    other.restore(blob)
    assert pairs_of(other.push("left", TOLD.left.table([0]))) == pairs("")


def test_equal_states_reached_in_equal_ways_give_equal_snapshots() -> None:
    assert begun().snapshot() == begun().snapshot()


def test_rows_that_waited_for_the_other_schema_meet_it_after_a_restore() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    op.push("left", TOLD.left.table())
    other = weft.stream.IntervalJoin(**SPEC, right_schema=TOLD.right.schema)
    other.restore(op.snapshot())
    again = weft.stream.IntervalJoin(**SPEC)
    again.restore(other.snapshot())
    for one in (op, other, again):
        assert pairs_of(one.push("right", TOLD.right.table())) == pairs("l1 r2, l3 r1")


def test_a_smaller_lateness_after_a_restore_moves_the_watermark_at_once() -> None:
    op = begun(lateness=100)
    other = weft.stream.IntervalJoin(**SPEC | {"lateness": 0})
    other.restore(op.snapshot())
    assert other.metrics.watermark == 10

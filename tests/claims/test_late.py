"""Late rows: `drop` counts them, `fail` takes nothing of the batch, `route` hands each back once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import weft
from tests.support.drawing import drawn, pairs
from tests.support.rows import pairs_of, rows_of
from tests.support.stage import names_in, push_all, push_one
from tests.support.watermark import Side

WIDE: dict[str, Any] = {"on": "key", "time": "ts", "lower": -1000, "upper": 1000, "lateness": 5}

# After the first push the watermark is 95.
TOLD = drawn("""
    side  | id | key | ts
    left  | l1 | a   | 100
    right | r1 | a   | 100
    ----------------------
    left  | l2 | b   | 95
    left  | l3 | a   | 94
    left  | l4 | a   | 97
    left  | l5 | a   | 60
    ----------------------
    right | r2 | a   | 93
    right | r3 | a   | 96
""")


def test_dropped_rows_meet_nothing_and_are_counted() -> None:
    op = weft.stream.IntervalJoin(**WIDE, late="drop")
    assert push_all(op, TOLD) == [pairs("l1 r1"), pairs("l4 r1"), pairs("l1 r3, l4 r3")]
    assert op.metrics.late == {"left": (2,), "right": (1,)}


def test_dropping_is_the_default() -> None:
    op = weft.stream.IntervalJoin(**WIDE)
    push_all(op, TOLD)
    assert op.metrics.late == {"left": (2,), "right": (1,)}


def test_late_rows_count_as_rows_that_came_in() -> None:
    op = weft.stream.IntervalJoin(**WIDE)
    push_all(op, TOLD)
    assert op.metrics.rows_in == {"left": 5, "right": 3}


def test_fail_says_side_input_key_time_and_by_how_much() -> None:
    op = weft.stream.IntervalJoin(**WIDE, late="fail", sources=(1, 2))
    op.push("left", TOLD.left.table([0]))
    op.push("right", TOLD.right.table([0]), source=0)
    op.push("right", TOLD.right.table([0]), source=1)
    with pytest.raises(weft.LateRowError) as caught:
        op.push("right", TOLD.right.table([2, 1]), source=1)
    error = caught.value
    assert (error.side, error.source) == ("right", 1)
    message = str(error)
    for part in ("right", "1", "93", '"a"', "by 2"):
        assert part in message
    assert "Hint:" in message


def test_fail_takes_nothing_of_the_batch_and_the_stream_goes_on() -> None:
    op = weft.stream.IntervalJoin(**WIDE, late="fail")
    assert pairs_of(push_one(op, TOLD, 0)) == pairs("l1 r1")
    before = op.metrics
    with pytest.raises(weft.LateRowError):
        push_one(op, TOLD, 1)
    assert op.metrics == before
    with pytest.raises(weft.LateRowError):
        op.push(left=TOLD.left.table([3]), right=TOLD.right.table([1]))
    assert op.metrics == before
    assert pairs_of(op.push(right=TOLD.right.table([2]))) == pairs("l1 r3")
    assert op.metrics.late == {"left": (0,), "right": (0,)}


def test_route_hands_late_rows_back_whole_with_source_and_lateness() -> None:
    op = weft.stream.IntervalJoin(**WIDE, late="route")
    push_all(op, TOLD)
    late = op.late()
    assert sorted(late) == ["left", "right"]
    added = [("_weft_source", pa.int32()), ("_weft_lateness", pa.int64())]
    sides: tuple[tuple[Side, Any], ...] = (("left", TOLD.left), ("right", TOLD.right))
    for side, one in sides:
        assert [(field.name, field.type) for field in late[side].schema] == [
            *((field.name, field.type) for field in one.schema),
            *added,
        ]
    assert rows_of(late["left"]) == [
        {"id": "l3", "key": "a", "ts": 94, "_weft_source": 0, "_weft_lateness": 1},
        {"id": "l5", "key": "a", "ts": 60, "_weft_source": 0, "_weft_lateness": 35},
    ]
    assert rows_of(late["right"]) == [
        {"id": "r2", "key": "a", "ts": 93, "_weft_source": 0, "_weft_lateness": 2}
    ]
    assert op.metrics.late == {"left": (2,), "right": (1,)}


def test_each_late_row_is_handed_back_once() -> None:
    op = weft.stream.IntervalJoin(**WIDE, late="route")
    push_all(op, TOLD)
    op.late()
    again = op.late()
    assert {side: table.num_rows for side, table in again.items()} == {"left": 0, "right": 0}
    assert again["left"].column_names == ["id", "key", "ts", "_weft_source", "_weft_lateness"]
    op.push("left", TOLD.left.table([4]))
    assert names_in(op.late()["left"]) == ["l5"]


def test_late_rows_not_yet_fetched_are_in_the_snapshot() -> None:
    op = weft.stream.IntervalJoin(**WIDE, late="route", sources=(2, 1))
    op.advance(95)
    op.push("left", TOLD.left.table([3, 4]), source=1)
    op.push("right", TOLD.right.table([0]))
    other = weft.stream.IntervalJoin(**WIDE, late="route", sources=(2, 1))
    other.restore(op.snapshot())
    late = other.late()["left"]
    assert names_in(late) == ["l5"]
    assert late["_weft_source"].to_pylist() == [1]
    assert late["_weft_lateness"].to_pylist() == [35]
    assert names_in(op.late()["left"]) == ["l5"]  # a snapshot takes nothing away


@pytest.mark.parametrize("late", ["drop", "fail"])
def test_nothing_is_routed_unless_asked_for(late: Any) -> None:
    op = weft.stream.IntervalJoin(**WIDE, late=late)
    push_one(op, TOLD, 0)
    assert all(table.num_rows == 0 for table in op.late().values())


def test_the_lateness_of_a_routed_row_is_in_the_unit_of_its_own_column() -> None:
    told = drawn(
        """
        side  | id | key | ts
        left  | l1 | 1   | 100
        right | r1 | 1   | 100000
        -------------------------
        left  | l2 | 1   | 97
        right | r2 | 1   | 97000
        """,
        left={"ts": pa.timestamp("s", "UTC")},
        right={"ts": pa.timestamp("ms", "Europe/Rome")},
    )
    op = weft.stream.IntervalJoin(on="key", time="ts", lower="-1h", upper="1h", lateness="1s", late="route")
    push_all(op, told)
    late = op.late()
    assert late["left"]["_weft_lateness"].to_pylist() == [2]
    assert late["right"]["_weft_lateness"].to_pylist() == [2000]


def test_a_row_late_by_less_than_its_own_tick_is_late_by_one() -> None:
    told = drawn(
        """
        side  | id | key | ts
        left  | l1 | 1   | 100
        right | r1 | 1   | 99500
        ------------------------
        left  | l2 | 1   | 99
        """,
        left={"ts": pa.timestamp("s")},
        right={"ts": pa.timestamp("ms")},
    )
    op = weft.stream.IntervalJoin(on="key", time="ts", lower="-1h", upper="1h", lateness="0s", late="route")
    push_all(op, told)
    assert op.late()["left"]["_weft_lateness"].to_pylist() == [1]  # half a second


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.timestamp("ns")], ids=str
)
@pytest.mark.parametrize("end", ["first", "last"])
def test_fail_names_also_a_time_that_pythons_calendar_does_not_have(kind: pa.DataType, end: str) -> None:
    reach = 2 ** (kind.bit_width - 1)
    late = -reach + 1 if end == "first" else reach - 2
    told = drawn(
        f"""
        side  | id | key | ts
        left  | l1 | a   | {late + 1}
        right | r1 | a   | {late + 1}
        ------------------------------
        left  | l2 | a   | {late}
        """,
        {"ts": kind},
    )
    op = weft.stream.IntervalJoin(on="key", time="ts", lower="0s", upper="0s", lateness="0s", late="fail")
    push_one(op, told, 0)
    with pytest.raises(weft.LateRowError, match="by 1"):
        push_one(op, told, 1)


def test_two_inputs_whose_disorder_is_within_the_lateness_lose_nothing() -> None:
    told = drawn("""
        side  | source | id | key | ts
        left  | 0      | l1 | 1   | 10
        ------------------------------
        left  | 1      | l2 | 1   | 3
        ------------------------------
        right | 0      | r1 | 1   | 12
        ------------------------------
        left  | 0      | l3 | 1   | 5
        ------------------------------
        left  | 1      | l4 | 1   | 3
        ------------------------------
        right | 0      | r2 | 1   | 7
    """)
    op = weft.stream.IntervalJoin(**WIDE | {"lateness": (5, 5)}, late="fail", sources=(2, 1))
    results = push_all(op, told)
    assert sum(results[1:], results[0]) == pairs("l1 r1, l2 r1, l3 r1, l4 r1, l1 r2, l2 r2, l3 r2, l4 r2")

"""The watermark: the least, over unfinished inputs, of largest time - lateness; below it a row is late."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import weft
from tests.support.drawing import Kinds, drawn, pairs
from tests.support.stage import push_all

WIDE: dict[str, Any] = {"on": "key", "time": "ts", "lower": -100, "upper": 100}
ROW = """
    side  | id | key | ts
    left  | l1 | 1   | 10
    right | r1 | 1   | 10
"""


def test_there_is_no_watermark_before_every_input_has_spoken() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    assert op.metrics.watermark is None
    told = drawn(ROW)
    op.push("left", told.left.table())
    assert op.metrics.watermark is None
    op.push("right", told.right.table())
    assert op.metrics.watermark == 10


def test_the_slower_side_and_the_larger_lateness_hold_the_watermark_back() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 100
        right | r1 | 1   | 90
    """)
    op = weft.stream.IntervalJoin(**WIDE, lateness=(30, 5))
    push_all(op, told)
    assert op.metrics.watermark == 70
    op = weft.stream.IntervalJoin(**WIDE, lateness=(0, 5))
    push_all(op, told)
    assert op.metrics.watermark == 85


def test_a_row_exactly_at_the_watermark_is_in_time_and_one_tick_below_is_late() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=3)
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 10
        right | r1 | 1   | 10
        ---------------------
        left  | l2 | 1   | 7
        right | r2 | 1   | 7
        ---------------------
        left  | l3 | 1   | 6
        right | r3 | 1   | 6
    """)
    assert push_all(op, told) == [pairs("l1 r1"), pairs("l1 r2, l2 r1, l2 r2"), pairs("")]
    assert op.metrics.late == {"left": (1,), "right": (1,)}


def test_rows_are_judged_by_the_watermark_that_held_before_their_batch() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 50
        left  | l2 | 1   | 10
        right | r1 | 1   | 50
        right | r2 | 1   | 10
        ---------------------
        left  | l3 | 1   | 49
        right | r3 | 1   | 50
    """)
    assert push_all(op, told) == [pairs("l1 r1, l1 r2, l2 r1, l2 r2"), pairs("l1 r3, l2 r3")]
    assert op.metrics.late == {"left": (1,), "right": (0,)}


def test_the_watermark_never_falls() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=5, sources=(2, 1))
    told = drawn("""
        side  | source | id | key | ts
        left  | 0      | l1 | 1   | 100
        ---------------------
        left  | 1      | l2 | 1   | 90
        ---------------------
        right | 0      | r1 | 1   | 100
    """)
    push_all(op, told)
    assert op.metrics.watermark == 85
    assert op.advance(80) is not None
    assert op.metrics.watermark == 85
    op.push("left", told.left.table([1]), source=0)
    assert op.metrics.watermark == 85


def test_a_late_row_moves_nothing() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=0, idle=20)
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 100
        ----------------------
        right | r1 | 1   | 79
    """)
    push_all(op, told)
    assert op.metrics.watermark == 80
    assert op.metrics.late == {"left": (0,), "right": (1,)}


@pytest.mark.parametrize("lateness", ["1500 ms", "1 s 500 ms", "1999 ms"])
def test_a_lateness_finer_than_a_tick_is_exact(lateness: str) -> None:
    told = drawn(
        """
        side  | id | key | ts
        left  | l1 | 1   | 10
        right | r1 | 1   | 10
        ---------------------
        left  | l2 | 1   | 9
        left  | l3 | 1   | 8
        """,
        {"ts": pa.timestamp("s")},
    )
    if lateness == "1 s 500 ms":
        lateness = "1500000 us"
    op = weft.stream.IntervalJoin(on="key", time="ts", lower="-1m", upper="1m", lateness=lateness)
    # 10 s - 1.5 s: 9 s is in time, 8 s is late.
    assert push_all(op, told) == [pairs("l1 r1"), pairs("l2 r1")]
    assert op.metrics.late == {"left": (1,), "right": (0,)}


def test_unlike_units_share_one_watermark_in_the_finer_unit() -> None:
    told = drawn(
        """
        side  | id | key | ts
        left  | l1 | 1   | 10
        right | r1 | 1   | 9500
        -----------------------
        left  | l2 | 1   | 9
        right | r2 | 1   | 9499
        right | r3 | 1   | 9500
        """,
        left={"ts": pa.timestamp("s")},
        right={"ts": pa.timestamp("ms")},
    )
    op = weft.stream.IntervalJoin(on="key", time="ts", lower="-1m", upper="1m", lateness="0s")
    results = push_all(op, told)
    assert op.metrics.watermark == np.datetime64(9500, "ms")
    assert results == [pairs("l1 r1"), pairs("l1 r3")]
    assert op.metrics.late == {"left": (1,), "right": (1,)}


SECONDS: Kinds = {"ts": pa.timestamp("s")}
ZONED: Kinds = {"ts": pa.timestamp("ms", "Europe/Rome")}


@pytest.mark.parametrize(
    ("kinds", "value"),
    [
        (SECONDS, datetime(1970, 1, 1, 0, 0, 12)),
        (SECONDS, pd.Timestamp(12, unit="s")),
        (SECONDS, np.datetime64(12, "s")),
        (SECONDS, np.datetime64(12_000, "ms")),
        (SECONDS, 12),
        ({"ts": pa.timestamp("ns")}, np.datetime64(12, "s")),
        ({"ts": pa.timestamp("ns")}, 12),
        (ZONED, datetime(1970, 1, 1, 0, 0, 0, 12_000, tzinfo=UTC)),
        (ZONED, pd.Timestamp(12, unit="ms", tz="UTC").tz_convert("America/Lima")),
        (ZONED, 12),
        ({"ts": pa.date32()}, date(1970, 1, 13)),
        ({"ts": pa.date32()}, np.datetime64(12, "D")),
        ({"ts": pa.int64()}, 12),
        ({"ts": pa.int32()}, np.int64(12)),
        ({"ts": pa.uint8()}, 12),
    ],
    ids=str,
)
def test_advance_takes_the_watermark_itself_in_the_columns_own_type(kinds: Kinds, value: Any) -> None:
    clocked = not pa.types.is_integer(kinds["ts"])
    scale = 10**9 if kinds["ts"] == pa.timestamp("ns") and isinstance(value, np.datetime64) else 1
    told = drawn(
        f"""
        side  | id | key | ts
        left  | l1 | 1   | {20 * scale}
        ---------------------
        right | r1 | 1   | {11 * scale}
        right | r2 | 1   | {12 * scale}
        """,
        kinds,
    )
    bounds = (
        {"lower": "-1000 days", "upper": "1000 days", "lateness": "0s"}
        if clocked
        else {"lower": -99, "upper": 99, "lateness": 0}
    )
    known = {"left_schema": told.left.schema, "right_schema": told.right.schema}
    op = weft.stream.IntervalJoin(on="key", time="ts", **bounds, **known)
    assert op.advance(value).num_rows == 0
    assert push_all(op, told) == [pairs(""), pairs("l1 r2")]
    assert op.metrics.late == {"left": (0,), "right": (1,)}


def test_advance_of_one_side_is_that_sides_promise_alone() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 10
        ---------------------
        right | r1 | 1   | 10
        ---------------------
        left  | l2 | 1   | 12
    """)
    op = weft.stream.IntervalJoin(**WIDE, lateness=100)
    push_all(op, told)
    op.advance(50, side="left")
    assert op.metrics.watermark == -90  # the right side may still be a hundred late
    op.advance(40, side="right")
    assert op.metrics.watermark == 40


def test_advance_alone_makes_rows_late_on_inputs_that_never_spoke() -> None:
    op = weft.stream.IntervalJoin(**WIDE, lateness=1000)
    told = drawn(ROW)
    op.push(left=told.left.table())
    op.push(right=told.right.table())
    op.advance(11)
    assert op.push(left=told.left.table()).num_rows == 0
    assert op.metrics.late == {"left": (1,), "right": (0,)}


def test_rows_without_a_time_are_never_late_and_move_nothing() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | .
        right | r1 | 1   | 10
        ---------------------
        left  | l2 | 1   | 30
        ---------------------
        left  | l3 | 1   | .
        right | r2 | 1   | .
        right | r3 | 1   | 30
    """)
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    results = push_all(op, told)
    assert results == [pairs(""), pairs("l2 r1"), pairs("l2 r3")]
    assert op.metrics.late == {"left": (0,), "right": (0,)}
    assert op.metrics.watermark == 30


def test_the_time_of_a_row_without_a_key_still_counts_for_the_watermark() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | .   | 10
        right | r1 | 1   | 20
    """)
    op = weft.stream.IntervalJoin(**WIDE, lateness=0)
    push_all(op, told)
    assert op.metrics.watermark == 10

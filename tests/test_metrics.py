"""What a stream says of itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import weft
from tests.support.drawing import drawn

TOLD = drawn("""
    side  | id | key | ts
    left  | l1 | 1   | 10
    left  | l2 | 2   | 11
    left  | l3 | 2   | .
    right | r1 | 1   | 12
    right | r2 | .   | 12
""")


def test_a_new_stream_has_counted_nothing() -> None:
    metrics = weft.stream.IntervalJoin(
        on="key", time="ts", lower=0, upper=5, lateness=0, sources=(2, 1)
    ).metrics
    nothing = {"left": 0, "right": 0}
    assert metrics.rows_in == metrics.rows == metrics.runs == nothing
    assert metrics.pairs_out == 0
    assert metrics.late == {"left": (0, 0), "right": (0,)}
    assert metrics.watermark is None
    assert metrics.bytes["left"] == metrics.bytes["right"] == 0


def test_rows_pairs_and_state_are_counted() -> None:
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=5, lateness=0)
    op.push(left=TOLD.left.table(), right=TOLD.right.table())
    metrics = op.metrics
    assert metrics.rows_in == {"left": 3, "right": 2}
    assert metrics.pairs_out == 1
    assert metrics.watermark == 11
    assert metrics.rows == {"left": 2, "right": 1}  # what has no key or no time meets nothing and is not held
    assert metrics.bytes["left"] > 0


def test_metrics_are_a_frozen_value_of_their_moment() -> None:
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=5, lateness=0)
    before: Any = op.metrics
    op.push(left=TOLD.left.table(), right=TOLD.right.table())
    assert before.rows_in == {"left": 0, "right": 0}
    assert dataclasses.is_dataclass(before)
    name = "pairs_out"
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(before, name, 7)
    assert before != op.metrics
    assert op.metrics == op.metrics


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pa.timestamp("s"), pa.timestamp("ms"), np.datetime64(10, "ms")),
        (pa.timestamp("ns", "UTC"), pa.timestamp("s", "Europe/Rome"), np.datetime64(10, "ns")),
        (pa.date32(), pa.date32(), np.datetime64(10, "D")),
        (pa.int16(), pa.uint8(), 10),
    ],
    ids=str,
)
def test_the_watermark_is_told_in_the_finer_unit(
    left: pa.DataType, right: pa.DataType, expected: object
) -> None:
    told = drawn(
        """
        side  | key | ts
        left  | 1   | 10
        right | 1   | 10
        """,
        left={"ts": left},
        right={"ts": right},
    )
    bounds: dict[str, Any] = {"lower": 0, "upper": 5, "lateness": 0}
    if not pa.types.is_integer(left):
        bounds = {name: f"{value} s" for name, value in bounds.items()}
    op = weft.stream.IntervalJoin(on="key", time="ts", **bounds)
    op.push(left=told.left.table(), right=told.right.table())
    got: Any = op.metrics.watermark
    assert got == expected
    assert type(got) is type(expected)
    assert getattr(got, "dtype", None) == getattr(expected, "dtype", None)

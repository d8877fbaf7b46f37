"""After a call that failed inside weft the operator is as it was: here every function call fails once."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import weft

SPEC = {"on": "key", "time": "ts", "lower": -20, "upper": 20, "lateness": 8, "late": "route"}
HOME = str(Path(weft.__file__).parent)
CERTAIN = {"settle", "clear", "_count", "_move", "crowded"}  # assignments, once all that can fail has worked


class FallenOverError(Exception):
    """What the tests raise inside weft."""


def failing_at(number: int, call: Callable[[], Any]) -> bool:
    """Run a call whose n-th function call inside weft raises; say whether there were so many."""
    seen = 0

    def trace(frame: FrameType, event: str, _: Any) -> None:
        nonlocal seen
        if event != "call" or not frame.f_code.co_filename.startswith(HOME):
            return
        if (
            frame.f_code.co_flags & inspect.CO_GENERATOR
        ):  # an error on its way out of one would only be printed
            return
        if frame.f_code.co_name in CERTAIN:
            return
        seen += 1
        if seen == number:
            raise FallenOverError

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        call()
    except FallenOverError:
        return True
    finally:
        sys.settrace(before)
    return False


def rows(start: int, count: int = 3, seed: int = 0, keys: int = 5) -> pa.Table:
    """Return rows one tick apart."""
    random = np.random.default_rng([seed, start])
    at = np.arange(start, start + count)
    return pa.table({"id": at, "key": random.integers(0, keys, count).astype(str), "ts": at})


def new() -> Any:
    return weft.stream.IntervalJoin(**SPEC)


def with_state() -> Any:
    op = new()
    for start in range(0, 15, 3):
        op.push(left=rows(start), right=rows(start, seed=1))
    return op


def waiting() -> Any:
    op = new()
    op.push(left=rows(12))
    op.push(left=rows(15))
    return op


def with_runs() -> Any:
    op = new()
    for start in range(0, 24_000, 3000):
        op.push(left=rows(start, 3000, keys=20_000), right=rows(start, 3000, seed=1, keys=20_000))
    return op


def many_keys(start: int, count: int) -> pa.Table:
    return pa.table(
        {"id": range(count), "key": [f"{start} {at}" for at in range(count)], "ts": [start] * count}
    )


def with_passed_keys() -> Any:
    op = new()
    op.push(left=rows(0), right=rows(0))
    for start in range(20, 60, 10):
        op.push(left=many_keys(start, 1500), right=rows(start))
    return op


def later(op: Any, start: int) -> Any:
    """Return what a stream makes of what comes later."""
    results = [op.push(left=rows(start), right=rows(start, seed=1)), op.push(left=rows(start - 15))]
    late = op.late()
    metrics = op.metrics
    counts = (metrics.rows_in, metrics.pairs_out, metrics.late, metrics.watermark)
    return [Counter(map(str, table.to_pylist())) for table in (*results, late["left"], late["right"])], counts


SNAPSHOT = with_state().snapshot()
CALLS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], int]] = {
    "a push": (with_state, lambda op: op.push(left=rows(15), right=rows(15, seed=1)), 15),
    "a push with late rows": (with_state, lambda op: op.push(left=rows(0), right=rows(12)), 15),
    "a large push": (with_state, lambda op: op.push(left=rows(3, 3000), right=rows(3, 3000)), 15),
    "a large push of one side": (with_state, lambda op: op.push("left", rows(3, 3000)), 15),
    "a promise": (with_state, lambda op: op.advance(10), 15),
    "a restore": (with_state, lambda op: op.restore(SNAPSHOT), 15),
    "a snapshot": (with_state, lambda op: op.snapshot(), 15),
    "fetching late rows": (with_state, lambda op: op.late(), 15),
    "the first push": (new, lambda op: op.push(left=rows(15)), 15),
    "the first push of both": (new, lambda op: op.push(left=rows(0, 3000), right=rows(0)), 15),
    "the first push of the second side": (waiting, lambda op: op.push(right=rows(15, seed=1)), 15),
    "a push that purges runs": (
        with_runs,
        lambda op: op.push(left=rows(90_000, 3000), right=rows(90_000)),
        24_000,
    ),
    "a push that forgets keys": (
        with_passed_keys,
        lambda op: op.push(left=many_keys(90, 3000), right=rows(90)),
        60,
    ),
}


@pytest.mark.parametrize(("begin", "call", "start"), CALLS.values(), ids=list(CALLS))
def test_a_call_that_fails_anywhere_inside_leaves_the_operator_as_it_was(
    begin: Callable[[], Any], call: Callable[[Any], Any], start: int
) -> None:
    expected = later(begin(), start)
    blob = begin().snapshot()
    number = 0
    while True:
        number += 1
        op = new()
        if begin is not new:
            op.restore(blob)
        before = op.metrics
        if not failing_at(number, lambda op=op: call(op)):  # type: ignore[misc]
            break
        assert op.metrics.rows == before.rows
        assert later(op, start) == expected
    assert number > 1

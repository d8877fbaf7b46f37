"""After a call that failed inside weft the operator is as it was: here every function call fails once."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest

import weft

SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": -20, "upper": 20, "lateness": 8, "late": "route"}
HOME = str(Path(weft.__file__).parent)


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
        seen += 1
        if seen == number:
            raise FallenOverError

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except FallenOverError:
        return True
    finally:
        sys.settrace(before)
    return False


@dataclass(frozen=True, slots=True)
class Kit:
    """Makes rows whose keys are words, or whole numbers (which may go a shorter way)."""

    words: bool

    def rows(self, start: int, count: int = 3, seed: int = 0, keys: int = 5) -> pa.Table:
        """Return rows one tick apart."""
        random = np.random.default_rng([seed, start])
        at = np.arange(start, start + count)
        return self._table(at, random.integers(0, keys, count), at)

    def new_keys(self, start: int, count: int) -> pa.Table:
        """Return rows of keys that never came before."""
        at = np.arange(count)
        return self._table(at, at + start * 10_000, np.full(count, start))

    def _table(self, at: Any, keys: Any, times: Any) -> pa.Table:
        return pa.table({"id": at, "key": keys.astype(str) if self.words else keys, "ts": times})


def new(_: Kit) -> Any:
    return weft.stream.IntervalJoin(**SPEC)


def with_state(kit: Kit) -> Any:
    op = new(kit)
    for start in range(0, 15, 3):
        op.push("left", kit.rows(start))
        op.push("right", kit.rows(start, seed=1))
    return op


@cache
def snapshot_of(kit: Kit) -> bytes:
    blob: bytes = with_state(kit).snapshot()
    return blob


def waiting(kit: Kit) -> Any:
    op = new(kit)
    op.push(left=kit.rows(12))
    op.push(left=kit.rows(15))
    return op


def with_runs(kit: Kit) -> Any:
    op = new(kit)
    for start in range(0, 24_000, 3000):
        op.push(left=kit.rows(start, 3000, 0, 20_000), right=kit.rows(start, 3000, 1, 20_000))
    return op


def with_passed_keys(kit: Kit) -> Any:
    op = new(kit)
    op.push(left=kit.rows(0), right=kit.rows(0))
    for start in range(20, 60, 10):
        op.push(left=kit.new_keys(start, 1500), right=kit.rows(start))
    return op


def later(kit: Kit, op: Any, start: int) -> Any:
    """Return what a stream makes of what comes later."""
    results = [
        op.push(left=kit.rows(start), right=kit.rows(start, seed=1)),
        op.push(left=kit.rows(start - 15)),
    ]
    results.append(op.push("right", kit.rows(start)))
    late, metrics = op.late(), op.metrics
    counts = (metrics.rows_in, metrics.pairs_out, metrics.late, metrics.watermark)
    return [Counter(map(str, table.to_pylist())) for table in (*results, late["left"], late["right"])], counts


Begin: TypeAlias = Callable[[Kit], Any]
Call: TypeAlias = Callable[[Kit, Any], Any]
CALLS: dict[str, tuple[Begin, Call, int]] = {
    "a push of both": (
        with_state,
        lambda kit, op: op.push(left=kit.rows(15), right=kit.rows(15, seed=1)),
        15,
    ),
    "a push of one side": (with_state, lambda kit, op: op.push("left", kit.rows(15)), 15),
    "a push of one row": (with_state, lambda kit, op: op.push("right", kit.rows(15, 1)), 15),
    "a push with new keys": (with_state, lambda kit, op: op.push("right", kit.new_keys(15, 100)), 15),
    "a push with late rows": (with_state, lambda kit, op: op.push(left=kit.rows(0), right=kit.rows(12)), 15),
    "a large push": (
        with_state,
        lambda kit, op: op.push(left=kit.rows(3, 3000), right=kit.rows(3, 3000)),
        15,
    ),
    "a large push of one side": (with_state, lambda kit, op: op.push("left", kit.rows(3, 3000)), 15),
    "a promise": (with_state, lambda kit, op: op.advance(10), 15),
    "a restore": (with_state, lambda kit, op: op.restore(snapshot_of(kit)), 15),
    "a snapshot": (with_state, lambda kit, op: op.snapshot(), 15),
    "fetching late rows": (with_state, lambda kit, op: op.late(), 15),
    "the first push": (new, lambda kit, op: op.push(left=kit.rows(15)), 15),
    "the first push of both": (new, lambda kit, op: op.push(left=kit.rows(0, 3000), right=kit.rows(0)), 15),
    "the second side's first push": (waiting, lambda kit, op: op.push(right=kit.rows(15, seed=1)), 15),
    "a push that purges runs": (
        with_runs,
        lambda kit, op: op.push(left=kit.rows(90_000, 3000), right=kit.rows(90_000)),
        24_000,
    ),
    "a push that forgets keys": (
        with_passed_keys,
        lambda kit, op: op.push(left=kit.new_keys(90, 3000), right=kit.rows(90)),
        60,
    ),
}


def beginner(kit: Kit, begin: Begin) -> Callable[[], Any]:
    """Return what begins the same stream again and again; long ones from a snapshot."""
    if begin in (new, waiting, with_state):
        return lambda: begin(kit)
    blob = begin(kit).snapshot()

    def again() -> Any:
        op = new(kit)
        op.restore(blob)
        return op

    return again


@pytest.mark.parametrize("words", [True, False], ids=["words", "numbers"])
@pytest.mark.parametrize(("begin", "call", "start"), CALLS.values(), ids=list(CALLS))
def test_a_call_that_fails_inside_leaves_the_operator_as_it_was(
    begin: Begin, call: Call, start: int, words: bool
) -> None:
    kit = Kit(words)
    again = beginner(kit, begin)
    snapshot_of(kit)
    expected = later(kit, begin(kit), start)
    number = 0
    while True:
        number += 1
        op = again()
        before = op.metrics
        if not failing_at(number, lambda op=op: call(kit, op)):  # type: ignore[misc]
            break
        assert op.metrics.rows == before.rows
        assert later(kit, op, start) == expected
    assert number > 1

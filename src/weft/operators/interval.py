"""The interval join: rows with equal keys whose times differ by what the axis allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from weft.indexes.run import ALL, NEVER, Batch, Times
from weft.kernels.reach import fits, reach_scaled, reach_shifted
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from weft.edge.clocks import Axis
    from weft.indexes.pairs import Pairs
    from weft.indexes.runs import Runs, State

T = TypeVar("T")
Horizons: TypeAlias = Mapping[Side, int]

BOTTOM, TOP = ALL, NEVER - 1
FARTHEST = 2**64  # no two int64 times differ by as much


def other(side: Side) -> Side:
    """Return the opposite side."""
    return "right" if side == "left" else "left"


def reach(axis: Axis, side: Side, times: Times) -> Times:
    """Return the first and last time of the other side that each row of a side may meet, interleaved."""
    low, high = (axis.lower, axis.upper) if side == "left" else (-axis.upper, -axis.lower)
    mul, div = (axis.left, axis.right) if side == "left" else (axis.right, axis.left)
    out = np.empty(2 * times.size, np.int64)
    if mul == div == 1:
        if not (BOTTOM <= low <= high <= TOP and fits(times, low, high, out)):
            reach_shifted(times, _steps(low), _steps(high), out)
    else:
        low_, high_ = (divmod(bound, mul * div) for bound in (low, high))
        reach_scaled(times, (_steps(low_[0]), low_[1]), (_steps(high_[0]), high_[1]), (mul, div), out)
    return out


def _steps(bound: int) -> tuple[int, int, int]:
    """Return a bound as three steps of one sign that fit int64."""
    bound = max(-FARTHEST, min(FARTHEST, bound))
    third = abs(bound) // 3 * (1 if bound > 0 else -1)
    return third, third, bound - 2 * third


def horizon(watermark: int | None, past: int, tick: int) -> int:
    """Return the first time, in ticks, not below watermark + past: rows before it meet nothing more."""
    return ALL if watermark is None else max(BOTTOM, min(NEVER, -(-(watermark + past) // tick)))


class IntervalJoin:
    """Both windows and the steps on them; a runtime drives it, and takes a failed step back."""

    def __init__(self, axis: Axis, index: Callable[[Side], Runs]) -> None:
        self.axis = axis
        self.windows: dict[Side, Runs] = {side: index(side) for side in SIDES}

    def step(
        self,
        batches: Mapping[Side, Batch],
        keys: int,
        horizons: Horizons,
        deliver: Callable[[list[Pairs]], T],
    ) -> T:
        """Match the batches with what is stored and with each other, insert, purge; return what is delivered.

        Right rows meet stored left rows, then left rows meet stored and new right rows: each pair once.
        """
        pairs: list[Pairs] = []
        for side in ("right", "left"):
            if side in batches:
                pairs += self.match(side, batches[side])
                met_later = side == "right" and "left" in batches
                self.windows[side].insert(batches[side], keys, ALL if met_later else horizons[side])
        delivered = deliver(pairs)
        self.purge(keys, horizons)
        return delivered

    def purge(self, keys: int, horizons: Horizons) -> None:
        """Drop what can meet nothing more."""
        for side, window in self.windows.items():
            window.settle(window.purged(keys, horizons[side]))

    def state(self) -> dict[Side, State]:
        """Return what `restore` needs to take back all that comes after."""
        return {side: window.state() for side, window in self.windows.items()}

    def restore(self, state: Mapping[Side, State]) -> None:
        """Take back all that has come since `state`."""
        for side, window in self.windows.items():
            window.restore(state[side])

    def match(self, side: Side, batch: Batch) -> list[Pairs]:
        """Return the pairs of a batch with the other side's window."""
        window = self.windows[other(side)]
        return window.probe(batch, reach(self.axis, side, batch.lead), side) if len(window) else []

    def prepare(self, batches: Mapping[Side, Batch], keys: int, horizons: Horizons) -> None:
        """Let the windows make room, which changes no result."""
        for side, window in self.windows.items():
            adding = len(batches.get(side, ()))
            probing = len(batches.get(other(side), ()))
            window.prepare(adding, probing, keys, horizons[side])

    def check(self) -> None:
        """Raise AssertionError where a window is not what it promises; for tests."""
        for window in self.windows.values():
            window.check()

"""The watermark and late rows as one small model of their definition, row by row, in exact numbers.

watermark = the minimum over the unfinished inputs i of max(largest time of i - lateness_i, largest time of
all - idle_i), never falling. A row is late when it lies below the watermark that held before its batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tests.support.oracle import Exact

Side = Literal["left", "right"]


@dataclass(slots=True)
class Input:
    """One physical stream of one side."""

    side: Side
    source: int
    lateness: Exact
    idle: Exact | None
    largest: Exact | None = None
    promised: Exact | None = None  # by `advance`: no row of this input will lie below
    finished: bool = False

    def share(self, largest_of_all: Exact | None) -> Exact | None:
        """Return what this input allows the watermark to be; None when it allows none yet."""
        known = [self.promised] if self.promised is not None else []
        if self.largest is not None:
            known.append(self.largest - self.lateness)
        if self.idle is not None and largest_of_all is not None:
            known.append(largest_of_all - self.idle)
        return max(known, default=None)


@dataclass(slots=True)
class Watermark:
    """The watermark of one join: `value` is None before any."""

    inputs: list[Input]
    value: Exact | None = None
    largest_of_all: Exact | None = field(default=None)

    def see(self, side: Side, source: int, times: Iterable[Exact | None]) -> None:
        """Take the times of a batch in, late ones too: they can raise no share above the watermark."""
        known = [time for time in times if time is not None]
        if not known:
            return
        one = self._input(side, source)
        one.largest = max([*known, *([] if one.largest is None else [one.largest])])
        self.largest_of_all = max([*known, *([] if self.largest_of_all is None else [self.largest_of_all])])

    def advance(self, value: Exact, side: Side | None) -> None:
        """Promise that no row below `value` comes on the inputs of a side, or on all."""
        for one in self.inputs:
            if side in (None, one.side):
                one.promised = value if one.promised is None else max(one.promised, value)

    def finish(self, side: Side | None, source: int | None) -> None:
        """End inputs: they hold nothing back any more."""
        for one in self.inputs:
            if side in (None, one.side) and source in (None, one.source):
                one.finished = True

    def settle(self) -> None:
        """Derive the watermark anew; once every input has ended it stays as it was."""
        shares = [one.share(self.largest_of_all) for one in self.inputs if not one.finished]
        known = [share for share in shares if share is not None]
        if shares and len(known) == len(shares):
            self.value = min(known) if self.value is None else max(self.value, min(known))

    def is_late(self, time: Exact | None) -> bool:
        """Say whether a row of this time would be late now."""
        return time is not None and self.value is not None and time < self.value

    def _input(self, side: Side, source: int) -> Input:
        return next(one for one in self.inputs if (one.side, one.source) == (side, source))


def watermark_of(
    lateness: tuple[Exact, Exact], idle: tuple[Exact | None, Exact | None], sources: tuple[int, int]
) -> Watermark:
    """Begin the watermark of a join with these settings, each given as (left, right)."""
    left = [Input("left", source, lateness[0], idle[0]) for source in range(sources[0])]
    right = [Input("right", source, lateness[1], idle[1]) for source in range(sources[1])]
    return Watermark([*left, *right])

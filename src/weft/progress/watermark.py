"""The watermark: below it no row is in time any more.

watermark = the minimum over the unfinished inputs i of
            max(largest time of i - lateness_i, largest time of all inputs - idle_i, what i was advanced to),
never falling. All values are Python integers (nanoseconds, or the unit of integer times): nothing wraps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from weft.types import SIDES, Side


@dataclass(frozen=True, slots=True)
class Input:
    """How far one physical input has come."""

    largest: int | None = None
    advanced: int | None = None
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Allowed:
    """How late rows of a side may be, and how long a silent input of it holds the others back."""

    lateness: int
    idle: int | None = None


Inputs = dict[Side, tuple[Input, ...]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far all inputs have come; a value: each step returns the next one."""

    allowed: dict[Side, Allowed]
    inputs: Inputs
    watermark: int | None = None

    def observed(self, largest: dict[tuple[Side, int], int]) -> Progress:
        """Return the progress after rows, of which these are the largest times."""
        inputs = self.inputs
        for (side, source), time in largest.items():
            before = inputs[side][source].largest
            if before is None or time > before:
                inputs = _with(inputs, side, source, largest=time)
        return self if inputs is self.inputs else self._moved(inputs)

    def advanced(self, watermark: int, side: Side | None) -> Progress:
        """Return the progress after all inputs, or those of a side, were said to be at a watermark."""
        inputs = self.inputs
        for one in SIDES if side is None else (side,):
            for source, each in enumerate(inputs[one]):
                if each.advanced is None or watermark > each.advanced:
                    inputs = _with(inputs, one, source, advanced=watermark)
        return self._moved(inputs)

    def finished(self, side: Side | None, source: int | None) -> Progress:
        """Return the progress after inputs have ended."""
        inputs = self.inputs
        for one in SIDES if side is None else (side,):
            for place in range(len(inputs[one])) if source is None else (source,):
                inputs = _with(inputs, one, place, finished=True)
        return self._moved(inputs)

    def resumed(self) -> Progress:
        """Return the progress by what is allowed now: it may be another than when the rows were seen."""
        return self._moved(self.inputs)

    def side_finished(self, side: Side) -> bool:
        """Tell whether a side has no more rows to come."""
        return all(each.finished for each in self.inputs[side])

    def _moved(self, inputs: Inputs) -> Progress:
        known = [each.largest for side in SIDES for each in inputs[side] if each.largest is not None]
        newest = max(known, default=None)
        unfinished = [(side, each) for side in SIDES for each in inputs[side] if not each.finished]
        stands = [_stand(self.allowed[side], each, newest) for side, each in unfinished]
        if not stands or None in stands:
            return replace(self, inputs=inputs)
        lowest = min(stand for stand in stands if stand is not None)
        watermark = lowest if self.watermark is None else max(self.watermark, lowest)
        return replace(self, inputs=inputs, watermark=watermark)


def start(allowed: dict[Side, Allowed], sources: tuple[int, int]) -> Progress:
    """Return the progress before any row."""
    return Progress(allowed, {side: (Input(),) * count for side, count in zip(SIDES, sources, strict=True)})


def _stand(allowed: Allowed, each: Input, newest: int | None) -> int | None:
    """Return how far one input lets the watermark come, None if it holds it back altogether."""
    stands = [each.advanced] if each.advanced is not None else []
    if each.largest is not None:
        stands.append(each.largest - allowed.lateness)
    if allowed.idle is not None and newest is not None:
        stands.append(newest - allowed.idle)
    return max(stands, default=None)


def _with(inputs: Inputs, side: Side, source: int, **changes: Any) -> Inputs:
    sources = list(inputs[side])
    sources[source] = replace(sources[source], **changes)
    return {**inputs, side: tuple(sources)}

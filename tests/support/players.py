"""Events played twice: through the model of the watermark, and through a stream of weft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import numpy as np
import pyarrow as pa

import weft
from tests.support.cases import Case
from tests.support.feeds import Advance, Event, Finish, Push, Reload, parts_of, times_of
from tests.support.oracle import Exact
from tests.support.rows import NS, tick_of
from tests.support.streams import relaid
from tests.support.watermark import Side, watermark_of

Late = Literal["drop", "fail", "route"]
SIDES: tuple[Side, Side] = ("left", "right")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a stream is told beside the join itself; spans in exact nanoseconds or ticks, as (left, right)."""

    lateness: tuple[int, int]
    idle: tuple[int | None, int | None] = (None, None)
    sources: tuple[int, int] = (1, 1)
    late: Late = "drop"


@dataclass(slots=True)
class Foreseen:
    """What the model says of a feed: rows kept, rows late and by how much, the watermark after each event."""

    kept: dict[Side, list[int]] = field(default_factory=lambda: {"left": [], "right": []})
    late: dict[Side, list[tuple[int, int, Exact]]] = field(default_factory=lambda: {"left": [], "right": []})
    watermarks: list[Exact | None] = field(default_factory=list)

    def late_counts(self, sources: tuple[int, int]) -> dict[Side, tuple[int, ...]]:
        """Count the late rows per side and input."""
        counts = {side: Counter(source for source, _, _ in self.late[side]) for side in SIDES}
        return {side: tuple(counts[side][at] for at in range(sources[SIDES.index(side)])) for side in SIDES}


def foresee(case: Case, events: Sequence[Event], settings: Settings) -> Foreseen:
    """Play events through the model: which rows are kept, which are late, where the watermark stands."""
    watermark = watermark_of(settings.lateness, settings.idle, settings.sources)
    times = {side: times_of(case, side) for side in SIDES}
    foreseen = Foreseen()
    for event in events:
        if isinstance(event, Push):
            for side, positions in parts_of(event):
                for at in positions:
                    time = times[side][at]
                    if time is not None and watermark.value is not None and watermark.is_late(time):
                        foreseen.late[side].append((event.source, at, watermark.value - time))
                    else:
                        foreseen.kept[side].append(at)
            for side, positions in parts_of(event):
                watermark.see(side, event.source, [times[side][at] for at in positions])
        elif isinstance(event, Advance):
            watermark.advance(event.value, event.side)
        elif isinstance(event, Finish):
            watermark.finish(event.side, event.source)
        watermark.settle()
        foreseen.watermarks.append(watermark.value)
    return foreseen


def stream_of(case: Case, settings: Settings, **more: Any) -> Any:
    """Return a new stream of weft for a case."""
    lateness, idle = settings.lateness, settings.idle
    silence: Any = tuple(None if one is None else case.span(one) for one in idle)
    return weft.stream.IntervalJoin(
        **case.arguments(),
        lateness=(case.span(lateness[0]), case.span(lateness[1])),
        idle=None if idle == (None, None) else silence,
        late=settings.late,
        sources=settings.sources,
        **more,
    )


@dataclass(slots=True)
class Player:
    """A stream of weft on the stage: plays events, collects results, late rows and watermarks."""

    case: Case
    settings: Settings
    random: Random
    op: Any
    results: list[pa.Table] = field(default_factory=list)
    late: dict[Side, list[pa.Table]] = field(default_factory=lambda: {"left": [], "right": []})
    watermarks: list[Exact | None] = field(default_factory=list)

    def play(self, events: Sequence[Event]) -> None:
        """Play events in order."""
        every = len(events) // 50 + 1
        for at, event in enumerate(events):
            self._one(event)
            if at % every == 0:
                check(self.op)
            self.watermarks.append(exact_watermark(self.case, self.op.metrics.watermark))

    def _one(self, event: Event) -> None:
        if isinstance(event, Push):
            self.results.append(self._push(event))
        elif isinstance(event, Advance):
            self.results.append(self.op.advance(clock_value(self.case, event.value), side=event.side))
        elif isinstance(event, Finish):
            self.results.append(self.op.finish(side=event.side, source=event.source))
        elif isinstance(event, Reload):
            self._reload()

    def _push(self, push: Push) -> pa.Table:
        batches = {side: self.batch(side, positions) for side, positions in parts_of(push)}
        if len(batches) == 2:
            return self.op.push(**batches)
        ((side, batch),) = batches.items()
        return self.op.push(side, batch, source=push.source)

    def batch(self, side: Side, positions: Sequence[int]) -> Any:
        """Return rows of a side as a Table in some layout, or as a RecordBatch."""
        one = self.case.left if side == "left" else self.case.right
        if self.random.random() < 0.3:
            return pa.RecordBatch.from_arrays(
                [column.array(positions) for column in one.columns.values()], schema=one.schema
            )
        return relaid(self.random, one.table(positions))

    def _reload(self) -> None:
        blob = self.op.snapshot()
        assert isinstance(blob, bytes)
        self.op = stream_of(self.case, self.settings)
        self.op.restore(blob)

    def fetch_late(self) -> None:
        """Take the late rows that are there now."""
        for side, table in self.op.late().items():
            self.late[side].append(table)

    def result(self) -> pa.Table:
        """Return all results so far as one table; before the schemas were known they have no columns."""
        known = [table for table in self.results if table.column_names]
        assert all(table.num_rows == 0 for table in self.results if not table.column_names)
        return pa.concat_tables(known) if known else pa.table({})


def player(case: Case, settings: Settings, random: Random, **more: Any) -> Player:
    """Put a new stream for a case on the stage."""
    return Player(case, settings, random, stream_of(case, settings, **more))


def check(op: Any) -> None:
    """Let every index of a stream check itself."""
    join = op._engine.join
    if join is not None:
        join.operator.check()


def fine_tick(case: Case) -> int:
    """Return the finer of both sides' ticks, in nanoseconds."""
    kinds = (case.left.columns[case.left_time].kind, case.right.columns[case.right_time].kind)
    return min(tick_of(kind) for kind in kinds)


def clock_value(case: Case, exact: int) -> Any:
    """Return an exact time as an argument of `advance`."""
    if not case.clocked:
        return exact
    tick = fine_tick(case)
    unit = next((unit for unit, ns in NS.items() if ns == tick), "D")
    return np.int64(exact // tick).view(f"datetime64[{unit}]")


def exact_watermark(case: Case, watermark: Any) -> Exact | None:
    """Return `metrics.watermark` as an exact number."""
    if watermark is None or not case.clocked:
        return None if watermark is None else int(watermark)
    assert isinstance(watermark, np.datetime64)
    unit, count = np.datetime_data(watermark.dtype)
    return int(watermark.astype(np.int64)) * count * {**NS, "D": 86_400 * 10**9}[unit]

"""One caller, one thread: the way of a pushed batch from its columns to a result table.

    arrive   times are read; late rows are judged by the watermark that held before
    intern   keys become dense integers; rows that are late, or have no key or no time, get none
    step     match, insert, purge (operators/interval.py)
    deliver  the pairs become a table

Nothing changes before all of it has worked: a failed push leaves the engine as it was.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from weft.edge.arrivals import Arrived, Data, arrive
from weft.edge.binding import SideBinding, bind_side
from weft.edge.result import empty_table, result_table, rows_table
from weft.indexes.run import ALL
from weft.operators.interval import other
from weft.progress.late import late_schema, threshold
from weft.progress.watermark import Progress, start
from weft.runtimes.joins import Join, Judged, allowances, horizons, judge, new_join, usable
from weft.runtimes.rows import batch_of
from weft.runtimes.small import MOST_ROWS, SmallPushes
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from weft.spec import JoinSpec

NOTHING = pa.table({})
TIDY = 512  # rows of small pushes between two looks at what has expired; a push counts as 8 more


@dataclass(slots=True)
class Counts:
    """What has been counted so far."""

    rows_in: dict[Side, int]
    late: dict[Side, list[int]]
    pairs_out: int = 0

    def copy(self) -> Counts:
        """Return counts that can go on by themselves."""
        return Counts(
            self.rows_in.copy(), {side: late.copy() for side, late in self.late.items()}, self.pairs_out
        )


class Inline:
    """A join that is pushed batches; nothing of a push stays when it fails."""

    def __init__(self, spec: JoinSpec) -> None:
        self.spec = spec
        self.sides: dict[Side, SideBinding] = {}
        self.join: Join | None = None
        self.waiting: list[Judged] = []  # until both schemas are known
        self.late: dict[Side, list[pa.Table]] = {side: [] for side in SIDES}
        self.counts = Counts(
            dict.fromkeys(SIDES, 0), {side: [0] * n for side, n in zip(SIDES, spec.sources, strict=True)}
        )
        self.progress = start(allowances(spec), spec.sources)
        self.untidied = 0

    def learn(self, schemas: Mapping[Side, pa.Schema]) -> None:
        """Take the schemas of sides before their first batch."""
        self.sides, self.join = self._learned(schemas)
        self.waiting = [] if self.join is not None else self.waiting

    def _learned(self, schemas: Mapping[Side, pa.Schema]) -> tuple[dict[Side, SideBinding], Join | None]:
        """Return the bindings with these schemas and, once both are there, a join with the waiting rows."""
        sides = self.sides | {side: bind_side(self.spec, side, schema) for side, schema in schemas.items()}
        if self.join is not None or len(sides) < len(SIDES):
            return sides, self.join
        join = new_join(self.spec, sides["left"], sides["right"])
        for judged in self.waiting:
            self._step(join, [judged], self.progress)
        return sides, join

    def push(self, pushed: Sequence[tuple[Side, int, Data]]) -> pa.Table:
        """Take batches, at most one of each side; return the pairs that they complete."""
        if len(pushed) == 1 and self.join is not None and self.join.small is not None:
            result = self._push_small(self.join, self.join.small, *pushed[0])
            if result is not None:
                return result
        with self._whole():
            return self._push(pushed)

    def _push(self, pushed: Sequence[tuple[Side, int, Data]]) -> pa.Table:
        fresh = {side: data.schema for side, _, data in pushed if side not in self.sides}
        sides, join = self._learned(fresh) if fresh else (self.sides, self.join)
        before = self.progress.watermark
        judged = [
            judge(arrive(side, source, data, sides[side]), sides[side], before, self.spec.late)
            for side, source, data in pushed
        ]
        progress = self.progress.observed(largest_times(judged, sides))
        result = NOTHING if join is None else self._step(join, judged, progress)
        self.waiting = [] if join is not None else [*self.waiting, *(copied(one, sides) for one in judged)]
        self.sides, self.join = sides, join
        self._count(judged, result.num_rows)
        self._move(progress)
        return result

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Take everything back that was done inside, if any of it fails."""
        before = (self.sides, self.join, self.waiting, self.progress, self.counts, self.late)
        join = self.join
        inner = None if join is None else (join.operator.state(), join.interner)
        self.counts = self.counts.copy()
        self.late = {side: late.copy() for side, late in self.late.items()}
        try:
            yield
        except BaseException:
            self.sides, self.join, self.waiting, self.progress, self.counts, self.late = before
            if join is not None and inner is not None:
                state, join.interner = inner
                join.operator.restore(state)
                join.forget_places()
            raise

    def _push_small(
        self, join: Join, small: SmallPushes, side: Side, source: int, data: Data
    ) -> pa.Table | None:
        """Try the short way; None, nothing changed, where the general one is needed."""
        if (
            data.num_rows > MOST_ROWS
            or self.progress.side_finished(other(side))
            or self._due(join, data.num_rows)
        ):
            return None
        batch = only_batch(data)
        if batch is None:
            return None
        tick, watermark = self.sides[side].clock.tick, self.progress.watermark
        window, late = join.operator.windows[side], ALL if watermark is None else threshold(watermark, tick)
        before = window.state()
        try:
            done = small.push(side, batch, late, join.interner)
            if done is None:
                return None
            result, newest = done
            progress = self.progress.observed({(side, source): newest * tick})
        except BaseException:
            small.undo(side, before, join.interner)
            raise
        self.counts.rows_in[side] += batch.num_rows
        self.counts.pairs_out += result.num_rows
        self.progress = progress
        return result

    def _due(self, join: Join, rows: int) -> bool:
        """Tell, every so many rows of small pushes, whether windows or keys should be tidied up."""
        self.untidied += rows + 8
        if self.untidied < TIDY:
            return False
        self.untidied = 0
        due = horizons(join.binding, self.progress)
        return join.crowded() or any(window.due(due[side]) for side, window in join.operator.windows.items())

    def _step(self, join: Join, judged: Sequence[Judged], progress: Progress) -> pa.Table:
        """Run the operator on batches; deliver the table of their pairs."""
        join.forget_places()
        batches = {
            one.arrived.side: batch_of(join.binding, one.arrived, usable(one), join.interner.intern)
            for one in judged
        }
        keys = max(join.interner.size, 1)
        join.operator.prepare(batches, keys, horizons(join.binding, self.progress))
        deliver = partial(result_table, join.binding.schema, join.columns)
        return join.operator.step(batches, keys, horizons(join.binding, progress), deliver)

    def _count(self, judged: Sequence[Judged], pairs: int) -> None:
        counts = self.counts
        counts.pairs_out += pairs
        for one in judged:
            side, source = one.arrived.side, one.arrived.source
            counts.rows_in[side] += one.arrived.times.size
            counts.late[side][source] += 0 if one.late is None else int(one.late.sum())
            if one.routed is not None:
                self.late[side].append(one.routed)

    def move(self, progress: Progress) -> pa.Table:
        """Believe new progress: what it proves comes out (for inner joins nothing), what it expires goes."""
        with self._whole():
            if self.join is not None:
                self.join.operator.purge(
                    max(self.join.interner.size, 1), horizons(self.join.binding, progress)
                )
                self.join.forget_places()
            self._move(progress)
            return NOTHING if self.join is None else empty_table(self.join.binding.schema)

    def _move(self, progress: Progress) -> None:
        ended = [progress.side_finished(side) for side in SIDES]
        moved = progress.watermark != self.progress.watermark or any(ended)
        self.progress = progress
        if self.join is None:
            self.waiting = (
                [one for one in self.waiting if self._lives(one.arrived)] if moved else self.waiting
            )
        elif self.join.crowded():
            self.join.forget_keys()

    def wait(self, judged: Judged) -> None:
        """Keep a batch until both schemas are known."""
        self.waiting.append(judged)

    def fetch_late(self) -> dict[Side, pa.Table]:
        """Return the late rows that nobody has fetched yet, and forget them."""
        tables = {
            side: pa.concat_tables(late) if late else self._no_late(side) for side, late in self.late.items()
        }
        self.late = {side: [] for side in SIDES}
        return tables

    def _no_late(self, side: Side) -> pa.Table:
        return empty_table(late_schema(self.sides[side].schema)) if side in self.sides else NOTHING

    def _lives(self, arrived: Arrived) -> bool:
        """Tell whether a batch that waits for the other side's schema may still meet a row of it."""
        largest = arrived.largest
        if self.progress.side_finished(other(arrived.side)) or largest is None:
            return False
        bound = self.spec.upper.value if arrived.side == "left" else -self.spec.lower.value
        tick = self.sides[arrived.side].clock.tick
        return self.progress.watermark is None or largest * tick + bound >= self.progress.watermark


def largest_times(judged: Iterable[Judged], sides: Mapping[Side, SideBinding]) -> dict[tuple[Side, int], int]:
    """Return the largest time of each batch that has one, in nanoseconds (or ticks)."""
    times = {}
    for arrived in (one.arrived for one in judged):
        largest = arrived.largest
        if largest is not None:
            times[arrived.side, arrived.source] = largest * sides[arrived.side].clock.tick
    return times


def copied(judged: Judged, sides: Mapping[Side, SideBinding]) -> Judged:
    """Return a batch's rows that are not late, in memory of their own."""
    one = judged.arrived
    rows = np.arange(one.times.size) if judged.late is None else np.flatnonzero(~judged.late)
    return Judged(arrive(one.side, one.source, rows_table(one.data, rows), sides[one.side]), None, None)


def only_batch(data: Data) -> pa.RecordBatch | None:
    """Return the one batch that a table is, None where it is none or several."""
    if isinstance(data, pa.RecordBatch):
        return data
    batches = data.to_batches()
    return batches[0] if len(batches) == 1 else None

"""Feeds as micro-batches: what each batch of a streaming query holds, and what the model says of it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import weft
from tests.support.cases import Case
from tests.support.feeds import Push, parts_of, times_of
from tests.support.oracle import Exact
from tests.support.players import SIDES, Foreseen, Settings, fine_tick
from tests.support.spark import Run, stream_frame
from tests.support.watermark import Side, watermark_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches: TypeAlias = Sequence[Sequence[Push]]
"""The pushes of each micro-batch: all are judged by the watermark before it."""

MOST_BATCHES = 3  # of one query, if nothing else is said: each costs half a second


def in_batches(random: Random, feed: Sequence[Push], most: int = MOST_BATCHES) -> list[list[Push]]:
    """Put the pushes of a feed together to a few micro-batches: in each, one push of both sides a source."""
    cuts = sorted(random.randint(0, len(feed)) for _ in range(random.randrange(most)))
    parts = [feed[start:end] for start, end in zip([0, *cuts], [*cuts, len(feed)], strict=True)]
    return [_together(part) for part in parts]


def _together(pushes: Sequence[Push]) -> list[Push]:
    together = []
    for source in sorted({push.source for push in pushes}):
        own = [push for push in pushes if push.source == source]
        left, right = (tuple(at for push in own for at in getattr(push, side) or ()) for side in SIDES)
        together.append(Push(left, right, source))
    return together


def rows_in(batch: Sequence[Push], side: Side, source: int) -> tuple[int, ...]:
    """Return the rows of one input in a micro-batch."""
    own = [dict(parts_of(push)).get(side, ()) for push in batch if push.source == source]
    return tuple(at for positions in own for at in positions)


def streams_of(case: Case, batches: Batches, sources: tuple[int, int]) -> dict[Side, list[DataFrame]]:
    """Return the streams of both sides, one for each source, with these micro-batches."""
    streams: dict[Side, list[DataFrame]] = {}
    for side, count in zip(SIDES, sources, strict=True):
        whole = case.left if side == "left" else case.right
        streams[side] = [
            stream_frame([whole.table(rows_in(batch, side, source)) for batch in batches])
            for source in range(count)
        ]
    return streams


def played(case: Case, batches: Batches, sources: tuple[int, int] = (1, 1), **more: Any) -> Run:
    """Run a case as a streaming query with these micro-batches; `more` are arguments of the call."""
    return Run(weft.interval_join(**streams_of(case, batches, sources), **case.arguments(), **more))


def foresee_batches(case: Case, batches: Batches, settings: Settings) -> Foreseen:
    """Play micro-batches through the model: rows kept and late, and the watermark after each."""
    watermark = watermark_of(settings.lateness, settings.idle, settings.sources)
    times = {side: times_of(case, side) for side in SIDES}
    foreseen = Foreseen()
    for batch in batches:
        parts = [(side, push.source, at) for push in batch for side, at in parts_of(push)]
        for side, source, positions in parts:
            for at in positions:
                time = times[side][at]
                if watermark.value is not None and time is not None and watermark.is_late(time):
                    foreseen.late[side].append((source, at, watermark.value - time))
                else:
                    foreseen.kept[side].append(at)
        for side, source, positions in parts:
            if positions:
                watermark.see(side, source, [times[side][at] for at in positions])
        watermark.settle()
        foreseen.watermarks.append(watermark.value)
    return foreseen


def told_by(case: Case, batches: Batches, foreseen: Foreseen) -> list[Exact | None]:
    """Return what a query tells of its watermark: of a batch without rows nothing; else in whole ticks.

    A watermark between two ticks means the upper one.
    """
    tick = fine_tick(case)
    return [
        -(-at // tick) * tick if at is not None and _has_rows(batch) else None
        for at, batch in zip(foreseen.watermarks, batches, strict=True)
    ]


def _has_rows(batch: Sequence[Push]) -> bool:
    return any(positions for push in batch for _, positions in parts_of(push))

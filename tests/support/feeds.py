"""Feeds: in which order, cuts and inputs the rows of a case reach a stream, and what else happens to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Literal

from tests.support.cases import Case
from tests.support.rows import values_of
from tests.support.watermark import Side

Order = Literal["any", "near", "sorted"]


@dataclass(frozen=True, slots=True)
class Push:
    """One push: row positions of each side, None for a side that is not in it."""

    left: tuple[int, ...] | None
    right: tuple[int, ...] | None
    source: int = 0


@dataclass(frozen=True, slots=True)
class Advance:
    """A promise: the watermark itself, in exact nanoseconds or ticks."""

    value: int
    side: Side | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of all inputs, of a side's, or of one."""

    side: Side | None = None
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Reload:
    """A snapshot, restored into a new operator that goes on in the old one's place."""


Event = Push | Advance | Finish | Reload
Feed = Sequence[Event]


def times_of(case: Case, side: Side) -> list[int | None]:
    """Return the exact times of a side's rows."""
    one, name = (case.left, case.left_time) if side == "left" else (case.right, case.right_time)
    return values_of(one.table()[name])


SIZES = ((1,), (1, 2, 5), (1000,), (1, 50, 1000))


def draw_feed(
    random: Random,
    case: Case,
    sources: tuple[int, int] = (1, 1),
    order: Order = "any",
    sizes: Sequence[int] | None = None,
) -> list[Push]:
    """Draw an order of arrival and cut it into pushes: of one row, of both sides, of one side, of none."""
    sizes = sizes or random.choice(SIZES)
    arrivals = _arrivals(random, case, order)
    feed: list[Push] = []
    while arrivals:
        size = random.choice(sizes)
        feed += _pushes(random, arrivals[:size], sources)
        arrivals = arrivals[size:]
        if random.random() < 0.2:
            feed.append(random.choice((Push((), None), Push(None, ()), Push((), ()))))
    return feed


def _arrivals(random: Random, case: Case, order: Order) -> list[tuple[Side, int]]:
    times: dict[Side, list[int | None]] = {"left": times_of(case, "left"), "right": times_of(case, "right")}
    rows = [(side, at) for side in times for at in range(len(times[side]))]
    if order == "any":
        random.shuffle(rows)
        return rows
    known = [time for side in times for time in times[side] if time is not None]
    jitter = 0
    if order == "near":
        jitter = (max(known, default=0) - min(known, default=0)) // random.choice((2, 10, 50))
    random.shuffle(rows)
    last = [0]

    def place(row: tuple[Side, int]) -> int:
        time = times[row[0]][row[1]]
        last[0] = last[0] if time is None else time + random.randint(0, jitter)
        return last[0]

    return [row for _, row in sorted(((place(row), row) for row in rows), key=lambda placed: placed[0])]


def _pushes(random: Random, rows: Iterable[tuple[Side, int]], sources: tuple[int, int]) -> list[Push]:
    rows = list(rows)
    left = tuple(at for side, at in rows if side == "left")
    right = tuple(at for side, at in rows if side == "right")
    if random.random() < 0.5:
        return [Push(left, right)]
    pushes: list[Push] = []
    if len(rows) > 20:  # else a block of a thousand rows would fall apart into five hundred pushes
        rows = sorted(rows, key=lambda row: row[0], reverse=random.random() < 0.5)
    for side, run in groupby(rows, key=lambda row: row[0]):
        positions = tuple(at for _, at in run)
        source = random.randrange(sources[0 if side == "left" else 1])
        pushes.append(Push(positions, None, source) if side == "left" else Push(None, positions, source))
    return pushes


def parts_of(push: Push) -> list[tuple[Side, tuple[int, ...]]]:
    """Return the sides in a push with their row positions."""
    both: tuple[tuple[Side, tuple[int, ...] | None], ...] = (("left", push.left), ("right", push.right))
    return [(side, positions) for side, positions in both if positions is not None]


def lateness_needed(case: Case, feed: Feed) -> tuple[int, int]:
    """Return the smallest lateness of each side with which no row in this order is late."""
    largest: dict[tuple[Side, int], int] = {}
    needed: dict[Side, int] = {"left": 0, "right": 0}
    times: dict[Side, list[int | None]] = {"left": times_of(case, "left"), "right": times_of(case, "right")}
    for push in (event for event in feed if isinstance(event, Push)):
        for side, positions in parts_of(push):
            for time in (times[side][at] for at in positions):
                if time is None:
                    continue
                seen = largest[side, push.source] = max(time, largest.get((side, push.source), time))
                needed[side] = max(needed[side], seen - time)
    return needed["left"], needed["right"]


def draw_events(random: Random, case: Case, sources: tuple[int, int]) -> list[Event]:
    """Draw a feed with promises, ends of inputs and restarts among its pushes, none on an ended input."""
    events: list[Event] = []
    known = [time for side in ("left", "right") for time in times_of(case, side) if time is not None]
    known = [time for time in known if -(2**63) < time < 2**63]  # numpy's smallest time means "not a time"
    ended: set[tuple[Side, int]] = set()
    for push in draw_feed(random, case, sources, random.choice(("any", "near"))):
        if any((side, push.source) in ended for side, _ in parts_of(push)):
            continue
        events.append(push)
        what = random.random()
        if what < 0.1 and known:
            events.append(Advance(random.choice(known), random.choice((None, "left", "right"))))
        elif what < 0.15:
            end = _finish(random, sources)
            events.append(end)
            ended |= {
                (side, at)
                for side, at in _inputs(sources)
                if end.side in (None, side) and end.source in (None, at)
            }
        elif what < 0.25:
            events.append(Reload())
    return events


def _inputs(sources: tuple[int, int]) -> list[tuple[Side, int]]:
    return [("left", at) for at in range(sources[0])] + [("right", at) for at in range(sources[1])]


def _finish(random: Random, sources: tuple[int, int]) -> Finish:
    side, source = random.choice(_inputs(sources))
    return random.choice((Finish(side, source), Finish(side, source), Finish(side)))

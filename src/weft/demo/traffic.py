"""Made-up traffic: impressions of advertisements and clicks on them, in the order in which they arrive.

The clock of the traffic runs 15 times as fast as ours: seven minutes of it pass in half of one. The rows
are drawn from the seed alone; when a file is written decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

SPEED = 15  # seconds of the traffic that pass in one of ours
TICK = 1.0  # seconds between two files of a side
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOT = "spring-sale"
CAMPAIGNS = (
    HOT,
    "bikes",
    "books",
    "coffee",
    "films",
    "games",
    "garden",
    "music",
    "phones",
    "shoes",
    "travel",
)
HOT_SHARE = 0.4  # of the impressions
WAVE = 0.4  # how much the arrivals go up and down
DISORDER = 8.0  # seconds that a row may arrive after one that is younger; the join allows ten
OFFLINE = (40.0, 90.0)  # seconds that the clicks of a phone without a network arrive later
OFFLINE_SHARE = 0.004
CLICKS = 0.2  # of all rows
STRANGERS = 0.08  # of the clicks: of users who saw nothing
GAP = 9.0  # seconds between impression and click, on average: one in thirty takes more than 30
NEAR = 60  # users a row: each sees an advertisement every minute

Seconds: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Traffic:
    """How much there is: seconds of ours, rows a second on both sides together, and the seed of it all."""

    seconds: float = 28
    rate: int = 20_000
    seed: int = 1

    @property
    def span(self) -> float:
        """Return how many seconds of its own the traffic lasts."""
        return self.seconds * SPEED

    @property
    def files(self) -> int:
        """Return how many files a side is written in."""
        return max(4, round(self.seconds / TICK))

    @property
    def pause(self) -> float:
        """Return the seconds between two files."""
        return self.seconds / self.files


def sides(traffic: Traffic) -> dict[str, list[pa.Table]]:
    """Return the files of both sides: rows in the order of their arrival, cut at equal times."""
    draw = np.random.default_rng(traffic.seed)
    shown, users, impressions = _impressions(traffic, draw)
    clicked, clicks = _clicks(traffic, draw, shown, users)
    arrived = {
        "impressions": shown + _delays(draw, shown.size),
        "clicks": clicked + _delays(draw, clicked.size),
    }
    offline = draw.random(clicked.size) < OFFLINE_SHARE
    arrived["clicks"][offline] += draw.uniform(*OFFLINE, int(offline.sum()))
    return {
        "impressions": _cut(impressions, arrived["impressions"], traffic),
        "clicks": _cut(clicks, arrived["clicks"], traffic),
    }


def _impressions(
    traffic: Traffic, draw: np.random.Generator
) -> tuple[Seconds, npt.NDArray[np.int64], Mapping[str, pa.Array]]:
    count = int(traffic.rate * traffic.seconds * (1 - CLICKS))
    even = np.sort(draw.random(count))
    times = traffic.span * (even + WAVE * np.sin(4 * np.pi * even) / (4 * np.pi))
    users = draw.integers(0, _users(traffic), count)
    others = (1 - HOT_SHARE) / (len(CAMPAIGNS) - 1)
    shares = [HOT_SHARE, *[others] * (len(CAMPAIGNS) - 1)]
    campaigns = draw.choice(len(CAMPAIGNS), count, p=shares)
    columns = {
        "impression_id": pa.array(np.arange(count)),
        "user": pa.array(users),
        "campaign": pa.array(CAMPAIGNS).take(pa.array(campaigns)),
        "ts": _stamps(times),
    }
    return times, users, columns


def _clicks(
    traffic: Traffic, draw: np.random.Generator, shown: Seconds, users: npt.NDArray[np.int64]
) -> tuple[Seconds, Mapping[str, pa.Array]]:
    count = int(traffic.rate * traffic.seconds * CLICKS)
    of = np.sort(draw.integers(0, shown.size, count))
    times = shown[of] + draw.exponential(GAP, count)
    who = users[of]
    strangers = draw.random(count) < STRANGERS
    who[strangers] = draw.integers(_users(traffic), 2 * _users(traffic), int(strangers.sum()))
    within = times < traffic.span
    times, who = times[within], who[within]
    columns = {"click_id": pa.array(np.arange(times.size)), "user": pa.array(who), "ts": _stamps(times)}
    return times, columns


def _users(traffic: Traffic) -> int:
    return max(10, int(traffic.rate * (1 - CLICKS) / SPEED * NEAR))


def _delays(draw: np.random.Generator, count: int) -> Seconds:
    return np.minimum(draw.exponential(DISORDER / 4, count), DISORDER)


def _stamps(times: Seconds) -> pa.Array:
    start = int(START.timestamp()) * 10**6
    return pa.array(start + (times * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))


def _cut(columns: Mapping[str, pa.Array], arrived: Seconds, traffic: Traffic) -> list[pa.Table]:
    order = np.argsort(arrived, kind="stable")
    table = pa.table(dict(columns)).take(pa.array(order))
    # What would arrive after the end comes with the last file.
    borders = np.linspace(0, traffic.span, traffic.files + 1)[1:-1]
    ends = [0, *np.searchsorted(arrived[order], borders).tolist(), arrived.size]
    return [table.slice(start, end - start) for start, end in pairwise(ends)]

"""Streams with fixed seeds: keys, event times, rows in the order in which they arrive.

Times are microseconds, arrival = event time + uniform 0..100 ms. How long a stream lasts follows from how
many matches a row should have: `matches = rows / span * width * sum(p**2)` over the keys' probabilities p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

SECOND = 1_000_000
DELAY = SECOND // 10
EPOCH = 1_700_000_000 * SECOND  # an ordinary day in 2023


@dataclass(frozen=True, slots=True)
class Stream:
    """What one side looks like.

    `skew` is the h of a self-similar distribution: 1 - h of the rows lie in h of the keys, recursively.
    """

    rows: int
    keys: int
    matches: float  # per row, with an interval `width` long
    width: int = 2 * SECOND
    skew: float | None = None
    wide: bool = False  # keys scattered over 64 bits as real identifiers are, not 0..keys-1


def collision(stream: Stream) -> float:
    """Return the probability that two rows have the same key."""
    if stream.skew is None:
        return 1 / stream.keys
    edges = np.linspace(0, 1, stream.keys + 1) ** (math.log(1 - stream.skew) / math.log(stream.skew))
    return float((np.diff(edges) ** 2).sum())


def span(stream: Stream) -> int:
    """Return how long the stream lasts, in microseconds."""
    return math.ceil(stream.rows * stream.width * collision(stream) / stream.matches)


def draw_keys(stream: Stream, random: np.random.Generator) -> Ints:
    """Return one key a row."""
    if stream.skew is None:
        keys = random.integers(0, stream.keys, stream.rows)
    else:
        exponent = math.log(stream.skew) / math.log(1 - stream.skew)
        keys = (stream.keys * random.random(stream.rows) ** exponent).astype(np.int64)
    # An odd factor permutes the 64-bit integers: distinct keys stay distinct.
    return keys * np.int64(0x5851F42D4C957F2D) if stream.wide else keys


def draw_times(stream: Stream, random: np.random.Generator) -> Ints:
    """Return event times in order of arrival."""
    event = random.integers(0, span(stream), stream.rows)
    arrival = event + random.integers(0, DELAY, stream.rows)
    ordered: Ints = EPOCH + event[np.argsort(arrival, kind="stable")]
    return ordered


def side(stream: Stream, random: np.random.Generator, payload: tuple[str, str]) -> pa.Table:
    """Return one side: key, ts and two int64 columns."""
    first, second = payload
    columns: dict[str, Any] = {
        "key": draw_keys(stream, random),
        "ts": pa.array(draw_times(stream, random), pa.timestamp("us")),
        first: random.integers(0, 1 << 40, stream.rows),
        second: np.arange(stream.rows),
    }
    return pa.table(columns)


def sides(stream: Stream, seed: int) -> tuple[pa.Table, pa.Table]:
    """Return both sides, drawn from one seed."""
    random = np.random.default_rng(seed)
    return side(stream, random, ("a", "b")), side(stream, random, ("c", "d"))


def with_text(table: pa.Table, seed: int, column: str) -> pa.Table:
    """Return the side with string keys, `column` nullable (one in ten is null), the other column strings."""
    random = np.random.default_rng(seed)
    rows = table.num_rows
    names, which = np.unique(table["key"].to_numpy(), return_inverse=True)
    words = pa.array([f"user-{name & 0xFFFFFFFFFFFF:012x}" for name in names.tolist()])
    pages = pa.array([f"/shop/item-{number:05d}" for number in range(10_000)])
    nullable = pa.array(table[column].to_numpy(), mask=random.random(rows) < 0.1)
    other = next(name for name in table.column_names if name not in {"key", "ts", column})
    return pa.table(
        {
            "key": words.take(pa.array(which)),
            "ts": table["ts"],
            other: pages.take(pa.array(random.integers(0, len(pages), rows))),
            column: nullable,
        }
    )


def scaled(stream: Stream, rows: int) -> Stream:
    """Return the same stream with another number of rows: as many matches a row, another length."""
    return replace(stream, rows=rows)

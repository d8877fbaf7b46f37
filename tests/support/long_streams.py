"""Long streams: thousands of rows with drifting times, disorder, few or many keys; DuckDB is their oracle."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from tests.support.cases import Case, Side
from tests.support.families import Column
from tests.support.oracle import Closed
from tests.support.rows import tick_of
from tests.support.streams import CLOSED

PAIRS_A_ROW = (0.05, 0.5, 4, 30)


def long_case(random: Random, rows: int) -> Case:
    """Draw two streams over the same stretch of time, with a fraction of a pair to thirty pairs a row."""
    drifting = random.random() < 0.3  # keys come and go with time, so that they are forgotten
    keys, wanted = random.choice((1, 7, 300, 20_000)), random.choice(PAIRS_A_ROW)
    kind = random.choice((pa.int64(), pa.timestamp("us", "UTC"), pa.timestamp("s"), pa.int32()))
    stretch = random.choice((rows // 10, rows, rows * 50))
    width = max(int(wanted * keys * stretch / rows), 1)
    width = min(width, int(60 * keys * stretch / rows) + 1, stretch * 2)
    lower = -random.choice((0, width // 2, width, 2 * width, -width))
    tick = tick_of(kind)
    text, skewed = random.random() < 0.4, random.random() < 0.4
    sides = [_side(random, rows, (keys, skewed, text, drifting), kind, stretch) for _ in range(2)]
    closed: Closed = random.choice(CLOSED)
    return Case(sides[0], sides[1], lower * tick, (lower + width) * tick, closed=closed)


def _side(
    random: Random, rows: int, of_keys: tuple[int, bool, bool, bool], kind: pa.DataType, stretch: int
) -> Side:
    keys, skewed, text, drifting = of_keys
    nulls = random.choice((0.0, 0.01))
    at = [random.randrange(stretch) for _ in range(rows)]
    drawn = [int(keys * random.random() ** (3 if skewed else 1)) * 7_919 for _ in range(rows)]
    if drifting:
        drawn = [key + time * 50 // stretch * 10**9 for key, time in zip(drawn, at, strict=True)]
    values = [f"key number {key}" if text and key % 2 else str(key) if text else key for key in drawn]
    times = [None if random.random() < nulls else one * tick_of(kind) for one in at]
    return Side(
        {
            "id": Column(pa.int64(), range(rows)),
            "key": Column(pa.string() if text else pa.int64(), values),
            "ts": Column(kind, times),
            "word": Column(pa.string(), [f"{'w' * (at % 30)}" for at in range(rows)]),
            "v": Column(pa.float64(), [None if at % 11 == 0 else at / 7 for at in range(rows)]),
        }
    )

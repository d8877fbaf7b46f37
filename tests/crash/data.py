"""What a trial joins: seeded files of rows, and what DuckDB makes of them.

Rows arrive in disorder, each up to `disorder` seconds after its time: with such a lateness none is late.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BEGIN = 1_700_000_000_000_000  # microseconds
SECOND = 1_000_000
SPAN = 10  # seconds between the first and the last row of a file
KEYS = 40


@dataclass(frozen=True, slots=True)
class Feed:
    """Which files a trial reads: as many for each physical input, the left ones first."""

    seed: int
    inputs: tuple[int, int]
    files: int
    rows: int
    disorder: int
    nested: bool

    def lay(self, folder: Path) -> None:
        """Write the files of every input."""
        for side, number in self.places():
            place = folder / f"{side}{number}"
            place.mkdir(parents=True)
            for at, table in enumerate(self._tables(side, number)):
                pq.write_table(table, place / f"{at:03}.parquet")
                os.utime(place / f"{at:03}.parquet", (1e9 + at, 1e9 + at))  # Spark reads the oldest first

    def places(self) -> list[tuple[str, int]]:
        """Return the side and the number of every input."""
        return [(side, at) for side, count in zip("lr", self.inputs, strict=True) for at in range(count)]

    def _tables(self, side: str, number: int) -> Iterator[pa.Table]:
        """Return the rows of one input as they arrive, file by file."""
        random = np.random.default_rng([self.seed, ord(side), number])
        size = self.rows * self.files
        times = np.sort(random.integers(0, SPAN * self.files * SECOND, size))
        times = times[np.argsort(times + random.integers(0, self.disorder * SECOND + 1, size), kind="stable")]
        key = np.where(random.random(size) < 0.2, 0, random.integers(0, KEYS, size))
        columns = {
            "id": pa.array(number * size + np.arange(size)),
            "key": pa.array([f"key {one}" for one in key.tolist()], mask=random.random(size) < 0.01),
            "ts": pa.array(BEGIN + times, pa.timestamp("us", "UTC")),
            "value": pa.array(random.integers(0, 1000, size) / 8, mask=random.random(size) < 0.1),
        }
        if self.nested and side == "l":
            columns["tags"] = pa.array([[one % 7] * (one % 3) for one in range(size)], pa.list_(pa.int64()))
        table = pa.table(columns)
        return (table.slice(at, self.rows) for at in range(0, size, self.rows))

    def newest(self, folder: Path) -> list[int]:
        """Return the largest time of every input, in microseconds."""
        tables = (pq.read_table(folder / f"{side}{number}", columns=["ts"]) for side, number in self.places())
        return [int(np.max(table["ts"].cast(pa.int64()).to_numpy())) for table in tables]


def pairs(folder: Path, lower: int, upper: int, nested: bool) -> str:
    """Return the SQL of all pairs of the files in a folder; the bounds are microseconds."""
    tags = "l.tags," if nested else ""
    left, right = (f"read_parquet('{folder}/{side}*/*.parquet')" for side in "lr")
    return f"""
        SELECT l.id, l.key, epoch_us(l.ts) ts, l.value, {tags}
               r.id id_right, epoch_us(r.ts) ts_right, r.value value_right
        FROM {left} l JOIN {right} r ON l.key = r.key
        AND epoch_us(r.ts) - epoch_us(l.ts) BETWEEN {lower} AND {upper}"""


def differences(written: list[Path], wanted: str) -> tuple[int, list[str]]:
    """Return how many pairs there should be, and what is wrong with those in files: too few, too many."""
    wrong = []
    with duckdb.connect() as duck:
        duck.execute(f"CREATE TABLE want AS {wanted}")
        names = ", ".join(f"'{path}'" for path in written)
        shown = "* REPLACE (epoch_us(ts) AS ts, epoch_us(ts_right) AS ts_right)"
        duck.execute(f"CREATE TABLE got AS SELECT {shown} FROM read_parquet([{names}])")
        for said, one, other in (("missing", "want", "got"), ("too many", "got", "want")):
            rows = f"(SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other})"
            count, example = duck.execute(f"SELECT count(*), first(t) FROM {rows} t").fetchone() or (0, None)
            if count:
                wrong.append(f"{count} pairs {said}, such as {example}")
        count = duck.execute("SELECT count(*) FROM want").fetchone()
    return (count or (0,))[0], wrong

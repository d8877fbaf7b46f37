"""Rows as files: a stream drawn once, cut into one Parquet file a side and micro-batch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from bench.data import scaled, sides
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.spark.model import SparkCase

COLUMNS: dict[Side, str] = {
    "left": "key long, ts timestamp, a long, b long",
    "right": "key long, ts timestamp, c long, d long",
}
ROW_BYTES = 32  # four columns of eight bytes
FIRST = 1_600_000_000  # the first file's time; Spark takes files in the order of their times


@dataclass(frozen=True, slots=True)
class Data:
    """Both sides of a stream in order of arrival, times in UTC."""

    left: pa.Table
    right: pa.Table

    def side(self, side: Side) -> pa.Table:
        """Return one side."""
        return self.left if side == "left" else self.right


def draw(case: SparkCase, rows: int, seed: int) -> Data:
    """Draw this many rows a side."""
    zoned = [_in_utc(table) for table in sides(scaled(case.stream, rows), seed)]
    return Data(*zoned)


def _in_utc(table: pa.Table) -> pa.Table:
    place = table.schema.get_field_index("ts")
    return table.set_column(place, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))


@dataclass(slots=True)
class Feed:
    """The files of one contender: `lay` writes them where no one looks, `publish` brings them in at once."""

    data: Data
    folder: Path
    rows: int = 0  # a side, so far
    files: int = 0

    def __post_init__(self) -> None:
        for side in SIDES:
            self.source(side).mkdir(parents=True)
            self._laid(side).mkdir()

    def source(self, side: Side) -> Path:
        """Return the folder that a query reads."""
        return self.folder / side

    def lay(self, sizes: Sequence[int]) -> None:
        """Write the next batches: so many rows a side each."""
        for size in sizes:
            for side in SIDES:
                rows = self.data.side(side).slice(self.rows, size)
                if rows.num_rows < size:
                    message = f"the stream was drawn too short for {self.folder.name}: {self.rows} + {size}"
                    raise ValueError(message)
                path = self._laid(side) / f"{self.files:05}.parquet"
                pq.write_table(rows, path)
                os.utime(path, (FIRST + self.files,) * 2)
            self.rows += size
            self.files += 1

    def publish(self) -> None:
        """Move what has been laid to where queries find it."""
        for side in SIDES:
            for path in sorted(self._laid(side).iterdir()):
                path.rename(self.source(side) / path.name)

    def _laid(self, side: Side) -> Path:
        return self.folder / f"{side}-laid"

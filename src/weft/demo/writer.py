"""Files that appear while the query runs: written under another name, then renamed, so none is read half."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.demo.traffic import HOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from threading import Event

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that was written: when, its side, its rows, those of the hot campaign, its newest time."""

    at: float
    side: str
    rows: int
    hot: int
    newest: float | None


def write_files(
    folder: Path,
    sides: Mapping[str, Sequence[pa.Table]],
    pause: float,
    arrivals: list[Arrival],
    stop: Event,
) -> None:
    """Write a file a side and pause, and note each, until all are there or `stop` is set."""
    begun = time.monotonic()
    for number, tables in enumerate(zip(*sides.values(), strict=True)):
        if stop.wait(max(0.0, begun + number * pause - time.monotonic())):
            return
        for side, table in zip(sides, tables, strict=True):
            write_file(folder / side / f"{number:03}.parquet", table)
            arrivals.append(Arrival(time.time(), side, table.num_rows, hot(table), newest(table)))


def write_file(path: Path, table: pa.Table) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_name(f".{path.name}.part")  # Spark reads no file whose name begins with a dot
    pq.write_table(table, part)
    part.replace(path)


def hot(table: pa.Table) -> int:
    """Return the rows of the hot campaign."""
    if "campaign" not in table.column_names:
        return 0
    return pc.sum(pc.equal(table["campaign"], HOT)).as_py() or 0


def newest(table: pa.Table) -> float | None:
    """Return the largest time of a table in seconds since 1970."""
    largest = pc.max(table["ts"]).as_py()
    return None if largest is None else float(largest.timestamp())

"""Real traces from a folder (`--data DIR`): CSV with key, value, eventTime, arrivalTime, in microseconds.

`NAME_base.csv.gz` and `NAME_probe.csv.gz` are joined with each other, any other file with itself. Rows come
in the order of their arrival; the lateness is the trace's own, so that no row is late. Event times are coarse
(thousands of rows share a tick): the interval is one tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from bench.joins import JoinCase, join_jobs, throughput
from bench.model import Setting, Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUFFIXES = (".csv.gz", ".csv")
LOWER, UPPER = 0, 1
PUSH = 8192


def read(path: Path, rows: int) -> pa.Table:
    """Return a trace in order of arrival, at most this many rows."""
    raw = csv.read_csv(path)
    micros = {name: raw[name].cast(pa.float64()).cast(pa.int64()) for name in ("eventTime", "arrivalTime")}
    stamp = pa.timestamp("us")
    table = pa.table(
        {
            "key": raw["key"].cast(pa.int64()),
            "ts": micros["eventTime"].cast(stamp),
            "value": raw["value"],
            "arrival": micros["arrivalTime"].cast(stamp),
        }
    )
    order = np.argsort(micros["arrivalTime"].to_numpy(), kind="stable")
    return table.take(pa.array(order[:rows])).combine_chunks()


def disorder(table: pa.Table) -> int:
    """Return by how much a row is at most behind the newest one before it."""
    times = table["ts"].cast(pa.int64()).to_numpy()
    return int((np.maximum.accumulate(times) - times).max()) if len(times) else 0


def case_of(base: Path, probe: Path) -> Callable[[Setting], JoinCase]:
    """Return a maker of the case of these two files, or of one file twice."""

    def make(setting: Setting) -> JoinCase:
        left = read(base, setting.rows)
        right = left if probe == base else read(probe, setting.rows)
        return JoinCase(left, right, LOWER, UPPER, max(disorder(left), disorder(right)), PUSH)

    return make


def pairs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Return the traces of a folder by name."""
    files = {
        path.name.removesuffix(suffix): path
        for suffix in reversed(SUFFIXES)
        for path in sorted(folder.iterdir())
        if path.name.endswith(suffix)
    }
    found = {}
    for name, path in files.items():
        stem = name.removesuffix("_base")
        if stem != name and f"{stem}_probe" in files:
            found[stem] = (path, files[f"{stem}_probe"])
        elif not (name.endswith("_probe") and f"{name.removesuffix('_probe')}_base" in files):
            found[name] = (path, path)
    return found


def traces(folder: Path) -> list[Workload]:
    """Return one workload a trace."""
    return [
        Workload(
            name=f"trace-{name}",
            summary=f"{base.name} with {probe.name if probe != base else 'itself'}, 8k rows a push and side",
            jobs=join_jobs(case_of(base, probe), "weft-stream", "weft", "polars-bucket", "duckdb-bucket"),
            figures=throughput(None, None, "polars-bucket", "duckdb-bucket"),
            rows=10_000_000,
        )
        for name, (base, probe) in pairs(folder).items()
    ]

"""Real traces: which files are joined, in which order their rows come, how late they are."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa

from bench.model import Setting
from bench.workloads import available
from bench.workloads.trace import case_of, disorder, pairs, read

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "key,value,eventTime,arrivalTime\n"
TRACE = HEAD + "1,0.5,7,30.0\n2,0.5,9,10.0\n1,0.5,3,20.0\n"


def written(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_bytes(gzip.compress(TRACE.encode()) if name.endswith(".gz") else TRACE.encode())
    return folder


def test_base_and_probe_are_a_pair_and_any_other_file_meets_itself(tmp_path: Path) -> None:
    folder = written(
        tmp_path, "shop_base.csv.gz", "shop_probe.csv.gz", "games.csv", "lonely_base.csv", "README.md"
    )
    names = {name: (base.name, probe.name) for name, (base, probe) in pairs(folder).items()}
    assert names == {
        "shop": ("shop_base.csv.gz", "shop_probe.csv.gz"),
        "games": ("games.csv", "games.csv"),
        "lonely_base": ("lonely_base.csv", "lonely_base.csv"),
    }
    assert {"trace-shop", "trace-games"} <= available(folder).keys()


def test_rows_come_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    table = read(written(tmp_path, "games.csv.gz") / "games.csv.gz", rows=10)
    assert table["ts"].cast(pa.int64()).to_pylist() == [9, 3, 7]
    assert disorder(table) == 6


def test_the_lateness_is_the_largest_disorder_of_both_sides(tmp_path: Path) -> None:
    file = written(tmp_path, "games.csv") / "games.csv"
    case = case_of(file, file)(Setting(rows=2, seed=0))
    assert case.rows == 4
    assert case.lateness == 6
    assert case.output == ["key", "ts", "value", "arrival", "ts_right", "value_right", "arrival_right"]

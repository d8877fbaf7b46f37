"""The parts of the benchmark on Spark that need no session: feeds, the oracle, ratios, reports, clocks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import report
from bench.data import SECOND, Stream
from bench.model import Figure
from bench.runner import Options
from bench.spark import hooks
from bench.spark.entries import judged, measured, ratios_of
from bench.spark.feed import Feed, draw
from bench.spark.model import SparkCase
from bench.spark.oracle import pairs_by_batch
from bench.spark.runner import order_of
from bench.workloads import SPARK
from bench.workloads.spark_flat import NEW_KEYS, with_new_keys
from tests.bench.results import entry

if TYPE_CHECKING:
    from pathlib import Path

    from bench.store import Entry

CASE = SparkCase(Stream(rows=1, keys=5, matches=4), lower=-SECOND // 3, upper=SECOND)


def test_the_oracle_counts_a_pair_with_the_batch_of_its_later_row() -> None:
    data, sizes = draw(CASE, 300, seed=1), [100, 150, 50]
    batch = np.repeat([0, 1, 2], sizes)
    left, right = (
        {name: side[name].cast(pa.int64()).to_numpy() for name in ("key", "ts")}
        for side in (data.left, data.right)
    )
    distance = right["ts"][None, :] - left["ts"][:, None]
    meet = (
        (left["key"][:, None] == right["key"][None, :]) & (distance >= CASE.lower) & (distance <= CASE.upper)
    )
    later = np.maximum(batch[:, None], batch[None, :])
    assert pairs_by_batch(CASE, data, sizes) == [int((meet & (later == number)).sum()) for number in range(3)]
    assert meet.sum() > 300


def test_a_feed_shows_both_sides_of_its_batches_at_once_and_in_order(tmp_path: Path) -> None:
    feed = Feed(draw(CASE, 30, seed=1), tmp_path / "one")
    feed.lay([10, 15])
    assert list(feed.source("left").iterdir()) == []
    feed.publish()
    for side in ("left", "right"):
        files = sorted(feed.source(side).iterdir())
        assert [pq.read_metadata(file).num_rows for file in files] == [10, 15]
        assert files[0].stat().st_mtime < files[1].stat().st_mtime
    with pytest.raises(ValueError, match=r"the stream was drawn too short for one: 25 \+ 6"):
        feed.lay([6])


def test_new_keys_come_with_every_batch() -> None:
    data = draw(CASE, 30, seed=1)
    moved = with_new_keys(data, 10)
    step = moved.right["key"].to_numpy() - data.right["key"].to_numpy()
    assert step.tolist() == [0] * 10 + [NEW_KEYS] * 10 + [2 * NEW_KEYS] * 10


OWN = [{"rows/s": [90.0, 100.0, 110.0], "time over": [1.5]}, {"rows/s": [60.0], "time over": [1.1]}]
PEER = [{"rows/s": [10.0]}, {"rows/s": [5.0]}]


def test_ratios_are_those_of_the_medians_of_each_turn() -> None:
    assert ratios_of(OWN, PEER)["rows/s"]["values"] == [10.0, 12.0]


def test_a_figure_is_judged_beside_its_peer_or_by_itself() -> None:
    contenders = measured({"weft": OWN, "spark-join": PEER})
    beside = judged(Figure("rows/s", "rows/s", "higher", 8, 20, ("spark-join",)), contenders)
    alone = judged(Figure("time over", "ratio", "lower", None, 1.25), contenders)
    assert beside["value"]["median"] == 11.0
    assert alone["value"]["values"] == [1.5, 1.1]
    assert contenders["weft"]["memory_mib"] is None


def spark_entry() -> Entry:
    contenders = measured({"weft": OWN, "spark-join": [one | {"batch": [2.0]} for one in PEER]})
    figures = (
        Figure("rows/s", "rows/s", "higher", 8, 20, ("spark-join",)),
        Figure("time over", "ratio", "lower", None, 1.25),
    )
    return entry("spark-w1") | {  # type: ignore[return-value]
        "contenders": contenders,
        "judged": [judged(figure, contenders) for figure in figures],
        "versions": {"spark": "4.3.0", "java": "17.0.1"},
    }


def test_workloads_on_spark_have_tables_of_their_own() -> None:
    entries = {"W1": entry(), "spark-w1": spark_entry()}
    table = report.spark_table(entries)
    assert "| spark-w1 | weft | 95.0 (60.0..110) |  | 11.0x (10.0..12.0) | 8x met | 20x missed |" in table
    assert "| spark-w1 | time over | 1.30 (1.10..1.50) |  |  |  | 1.25 missed |" in table
    assert (
        "| spark-w1 | spark-join | 7.50 (5.00..10.0) | 2.00 s (2.00..2.00) | 11.0x (10.0..12.0) |  |  |"
        in table
    )
    assert table.endswith("; local[2]; spark 4.3.0, java 17.0.1.\n")
    assert "| W1 |" not in table
    assert "spark-w1" not in report.full_table(entries) + report.short_table(entries)
    assert "spark-join 7.50" in report.short_spark_table(entries)
    assert report.spark_table({}) == "Not measured yet.\n"


def test_quick_runs_have_a_tenth_of_the_rows_and_few_turns() -> None:
    workload = SPARK["spark-w1-500k"]
    assert order_of(workload, Options())["rows"] == 500_000
    assert order_of(workload, Options())["turns"] == workload.turns
    quick = order_of(workload, Options(quick=True))
    assert (quick["rows"], quick["turns"], quick["quick"]) == (50_000, 2, True)
    assert order_of(workload, Options(rows=7, quick=True))["rows"] == 7


def test_time_counts_where_it_is_spent() -> None:
    clock = hooks.CLOCK
    clock.forget()
    inner = hooks.timed("inner", lambda: time.sleep(0.02))
    hooks.timed("outer", lambda: [inner(), time.sleep(0.005)])()
    assert clock.wall["inner"] >= 0.02
    assert 0.005 <= clock.wall["outer"] < 0.02


def test_the_profile_knows_the_functions_that_it_times() -> None:
    assert hooks.missing() == []

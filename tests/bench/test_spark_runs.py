"""A run on Spark: every contender gives the pairs that DuckDB counts, batch by batch, or the run fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.data import Stream
from bench.peers import spark_bucket, spark_empty, spark_floor, spark_join, spark_weft
from bench.spark.compare import Contender, check_pairs, compare
from bench.spark.feed import COLUMNS, draw
from bench.spark.lanes import Lane
from bench.spark.model import Run, SparkCase
from bench.spark.oracle import pairs_by_batch
from bench.workloads.spark_table import written
from tests.support.spark import settings
from weft.types import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

CASE = SparkCase(Stream(rows=1, keys=20, matches=3))
LOAD = spark_floor.Load(pairs_per_row=1.5, chunk_bytes=4000)


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    own = {
        "spark.sql.streaming.pollingDelay": "300ms",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.join.stateFormatVersion": "4",
    }
    with settings(own):
        yield Run(spark, tmp_path, 200, 1, 7, lambda _: None)


def floor(left: object, right: object, case: SparkCase) -> object:
    return spark_floor.pairs(left, right, case, LOAD)


def test_contenders_take_turns_and_give_what_duckdb_counts(run: Run) -> None:
    found = compare(
        run,
        CASE,
        {
            "weft": Contender(lambda _: spark_weft.pairs, [150], [200, 100], settling=1),
            "spark-join": Contender(lambda _: spark_join.pairs, [50], [300]),
            "floor": Contender(lambda _: floor, [150], [200], checked="nothing"),
            "empty": Contender(lambda _: spark_empty.pairs, [150], [200], checked="nothing"),
        },
    )
    sizes = {name: [[batch.rows for batch in turn] for turn in turns] for name, turns in found.items()}
    assert sizes == {"weft": [[200]], "spark-join": [[600]], "floor": [[400]], "empty": [[400]]}
    assert found["weft"][0][0].told["rows_left"] == 100
    assert found["weft"][0][0].seconds > 0
    assert found["spark-join"][0][0].state["operatorName"] == "symmetricHashJoin"
    assert found["floor"][0][0].out == 600
    assert found["empty"][0][0].out == 0


def test_contenders_give_all_pairs_of_tables(spark: SparkSession, tmp_path: Path) -> None:
    data = draw(CASE, 300, seed=7)
    folders = written(data, tmp_path)
    left, right = (
        spark.read.schema(COLUMNS[side]).parquet(str(path)) for side, path in zip(SIDES, folders, strict=True)
    )
    columns = ["key", "ts", "a", "b", "ts_right", "c", "d"]
    for peer in (spark_weft, spark_join, spark_bucket):
        pairs = peer.pairs(left, right, CASE)
        assert pairs.columns == columns
        assert [pairs.count()] == pairs_by_batch(CASE, data, [300]), peer.__name__


def test_a_missing_pair_fails_the_run(run: Run) -> None:
    from bench.spark.lanes import Batch

    data = draw(CASE, 200, seed=7)
    lane = Lane("weft", None, None, [200], [Batch(0, 400, 1, {}, {}, {})])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"weft gave the pairs \[1\] batch by batch; DuckDB counts \[\d\d"):
        check_pairs(CASE, data, lane)

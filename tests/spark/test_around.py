"""What may stand around a join: other stateful steps, joins of joins, sinks that read twice, live queries."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import weft
from tests.support.rows import multiset, rows_of
from tests.support.spark import (
    Run,
    add_files,
    new_folder,
    read_folder,
    settings,
    spark_session,
    stream_frame,
    table_frame,
)

SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": "0s", "upper": "2s"}
AGAIN: dict[str, Any] = {"suffixes": ("", "_third")}


def rows(start: int, count: int = 10) -> pa.Table:
    """Return rows a second apart, well after 1970, where Spark's watermarks begin and drop rows."""
    return pa.table(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "key": pa.array([1] * count, pa.int64()),
            "ts": pa.array([(1000 + start + at) * 10**6 for at in range(count)], pa.timestamp("us", "UTC")),
        }
    )


BATCHES = [rows(0), rows(10), rows(20)]
WHOLE = pa.concat_tables(BATCHES)


def expected(left: pa.Table = WHOLE, right: pa.Table = WHOLE, **more: Any) -> pa.Table:
    """Return what one process gives."""
    return weft.interval_join(left, right, **(SPEC | more))


def assert_same(got: pa.Table, wanted: pa.Table) -> None:
    """Claim that two tables hold the same rows, in any order."""
    assert got.column_names == wanted.column_names
    assert multiset(rows_of(got)) == multiset(rows_of(wanted))


# --- before and after ---------------------------------------------------------------------------------


def test_duplicates_may_be_dropped_before_the_join() -> None:
    twice = stream_frame([pa.concat_tables([part, part]) for part in BATCHES]).withWatermark("ts", "1 second")
    run = Run(
        weft.interval_join(twice.dropDuplicates(["id", "ts"]), stream_frame(BATCHES), **SPEC, lateness="1s")
    )
    assert_same(run.table(), expected())


def test_the_result_of_a_join_may_be_joined_again() -> None:
    first = weft.interval_join(stream_frame(BATCHES), stream_frame(BATCHES), **SPEC, lateness="1s")
    third = stream_frame(BATCHES).selectExpr("id AS third", "key", "ts")
    run = Run(weft.interval_join(first, third, **SPEC, **AGAIN, lateness="5s"))
    other = WHOLE.rename_columns(["third", "key", "ts"])
    assert_same(run.table(), expected(expected(), other, **AGAIN))


def test_the_result_of_tables_may_be_joined_again() -> None:
    first = weft.interval_join(table_frame(WHOLE), table_frame(WHOLE), **SPEC)
    third = table_frame(WHOLE).selectExpr("id AS third", "key", "ts")
    got = weft.interval_join(first, third, **SPEC, **AGAIN).toArrow()
    assert_same(got, expected(expected(), WHOLE.rename_columns(["third", "key", "ts"]), **AGAIN))


def test_the_result_may_lose_duplicates() -> None:
    joined = weft.interval_join(stream_frame(BATCHES), stream_frame(BATCHES), **SPEC, lateness="1s")
    run = Run(joined.withWatermark("ts", "10 seconds").dropDuplicates(["id", "ts"]))
    assert sorted(run.table()["id"].to_pylist()) == list(range(30))


def test_tables_may_be_aggregated_and_written() -> None:
    joined = weft.interval_join(table_frame(WHOLE), table_frame(WHOLE), **SPEC)
    (row,) = joined.agg(F.count("*").alias("pairs"), F.sum("id_right").alias("sum")).collect()
    assert (row.pairs, row.sum) == (expected().num_rows, sum(expected()["id_right"].to_pylist()))
    assert joined.limit(3).count() == 3
    assert joined.where("id < 0").count() == 0


# --- sinks --------------------------------------------------------------------------------------------


def test_a_sink_that_reads_a_batch_twice_gets_the_same_and_loses_nothing() -> None:
    joined = weft.interval_join(stream_frame(BATCHES), stream_frame(BATCHES), **SPEC, lateness="1s")
    seen: list[tuple[int, pa.Table, int]] = []

    def take(part: DataFrame, batch: int) -> None:
        seen.append((batch, part.toArrow(), part.count()))

    writer = joined.writeStream.foreachBatch(take).option("checkpointLocation", str(new_folder()))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert all(table.num_rows == count for _, table, count in seen)
    assert_same(pa.concat_tables([table for _, table, _ in seen]), expected())


def test_a_live_query_takes_what_comes_and_goes_on_after_a_stop() -> None:
    folders, checkpoint = (new_folder(), new_folder()), new_folder()
    for folder in folders:
        add_files(folder, BATCHES[:1])
    tables: dict[int, pa.Table] = {}

    def take(part: DataFrame, batch: int) -> None:
        tables[batch] = part.toArrow()

    for number in range(2):
        joined = weft.interval_join(
            *(read_folder(folder, WHOLE.schema) for folder in folders), **SPEC, lateness="1s"
        )
        writer = joined.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(processingTime="0 seconds").start()
        try:
            query.processAllAvailable()
            for folder in folders:
                add_files(folder, [BATCHES[number + 1]])
            query.processAllAvailable()
        finally:
            query.stop()
            query.awaitTermination()
    assert_same(pa.concat_tables(tables.values()), expected())


def test_two_queries_of_one_session_keep_their_rows_apart() -> None:
    frames = [[stream_frame([part]) for part in BATCHES[:2]] for _ in range(2)]
    queries, tables = [], ([], [])
    for own, more, got in zip(frames, ({"upper": "2s"}, {"upper": "9s"}), tables, strict=True):
        joined = weft.interval_join(own, own, **(SPEC | more), lateness="20s")

        def take(part: DataFrame, batch: int, got: list[pa.Table] = got) -> None:
            got.append(part.toArrow())

        writer = joined.writeStream.foreachBatch(take).option("checkpointLocation", str(new_folder()))
        queries.append(writer.trigger(availableNow=True).start())
    for query in queries:
        query.awaitTermination()
    whole = pa.concat_tables(BATCHES[:2])
    for got, upper in zip(tables, ("2s", "9s"), strict=True):
        assert_same(pa.concat_tables(got), expected(whole, whole, upper=upper))


# --- names and settings that could get into the way ----------------------------------------------------


def test_columns_may_be_called_as_weft_calls_its_own() -> None:
    names = ["shard", "input", "told", "newest", "rows", "pack", "data", "value", "key_", "index"]
    columns = {"key": [1, 2], "ts": [0, 0]} | {name: [1, 2] for name in names}
    table = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    more: dict[str, Any] = {"lower": 0, "upper": 0}
    assert_same(
        weft.interval_join(table_frame(table), table_frame(table), **(SPEC | more)).toArrow(),
        expected(table, table, **more),
    )
    run = Run(weft.interval_join(stream_frame([table]), stream_frame([table]), **(SPEC | more), lateness=0))
    assert_same(run.table(), expected(table, table, **more))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.execution.pandas.convertToArrowArraySafely", "true"),
        ("spark.sql.execution.arrow.maxBytesPerBatch", "200"),
        ("spark.sql.execution.arrow.compression.codec", "zstd"),
        ("spark.sql.streaming.stateStore.encodingFormat", "avro"),
        ("spark.sql.streaming.stateStore.checkpointFormatVersion", "2"),
        ("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "false"),
        ("spark.sql.streaming.noDataMicroBatches.enabled", "false"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
        ("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "false"),
    ],
)
def test_a_setting_of_sparks_changes_nothing(name: str, value: str) -> None:
    assert spark_session().conf.get(name, None) != value
    with settings({name: value}):
        run = Run(weft.interval_join(stream_frame(BATCHES), stream_frame(BATCHES), **SPEC, lateness="1s"))
    assert_same(run.table(), expected())


def test_the_zone_of_the_session_may_change_between_runs() -> None:
    folders, checkpoint = (new_folder(), new_folder()), new_folder()
    tables = []
    for part, zone in zip(BATCHES, ("America/New_York", "Asia/Kolkata", "UTC"), strict=True):
        for folder in folders:
            add_files(folder, [part])
        with settings({"spark.sql.session.timeZone": zone}):
            frames = [read_folder(folder, WHOLE.schema) for folder in folders]
            tables.append(Run(weft.interval_join(*frames, **SPEC, lateness="1s"), checkpoint).table())
    assert_same(pa.concat_tables(tables), expected())

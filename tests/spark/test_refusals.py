"""What is wrong with a call on DataFrames is said at the call: at once, and before any job runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import weft
from tests.support.spark import no_job, settings
from weft.spark.demands import PROVIDER

SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": "0s", "upper": "2s", "lateness": "5s"}
AT_ONCE = 1.0  # seconds
SCHEMA = "id long, key long, ts timestamp"


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Return a stream of (id, key, ts)."""
    return spark.readStream.schema(SCHEMA).parquet(str(tmp_path_factory.mktemp("stream")))


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    """Return a table of (id, key, ts)."""
    return spark.createDataFrame([], SCHEMA)


def refused(left: Any, right: Any, kind: type[Exception] = weft.InputError, **changes: Any) -> str:
    """Return what a call is refused with, having seen that it took no time and no job."""
    arguments = {name: value for name, value in (SPEC | changes).items() if value is not ...}
    start = time.perf_counter()
    with no_job(), pytest.raises(kind) as caught:
        weft.interval_join(left, right, **arguments)
    assert time.perf_counter() - start < AT_ONCE
    assert isinstance(caught.value, weft.WeftError)
    assert caught.value.hint
    return str(caught.value)


@pytest.fixture(scope="module", autouse=True)
def warm(spark: SparkSession, stream: DataFrame) -> None:
    """Let the first call import what it needs."""
    weft.interval_join(stream, stream, **SPEC)


def test_a_stream_without_lateness_and_without_a_watermark_of_its_own(stream: DataFrame) -> None:
    message = refused(stream.withWatermark("ts", "1 second"), stream, weft.SpecError, lateness=...)
    assert "`lateness` must be given for streams; the right one has no watermark of its own either" in message
    assert 'lateness="10 seconds"' in message


def test_a_watermark_on_another_column_says_nothing_of_the_time(stream: DataFrame) -> None:
    other = stream.withColumn("seen", F.col("ts")).withWatermark("seen", "1 second")
    assert "the left one has no watermark" in refused(other, other, weft.SpecError, lateness=...)


def test_a_stream_beside_a_table(stream: DataFrame, table: DataFrame) -> None:
    assert "got a stream as `left`, a table as `right`" in refused(stream, table)
    assert "got a stream as `right[1]`, a table as `left`" in refused(table, [table, stream])


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas.DataFrame": lambda: pd.DataFrame({"key": [1]}),
    "polars.DataFrame": lambda: pl.DataFrame({"key": [1]}),
    "polars.LazyFrame": lambda: pl.LazyFrame({"key": [1]}),
    "pyarrow.Table": lambda: pa.table({"key": [1]}),
    "None": lambda: None,
    "str": lambda: "clicks",
}


@pytest.mark.parametrize("kind", FRAMES)
def test_another_frame_beside_a_dataframe(stream: DataFrame, kind: str) -> None:
    message = refused(stream, FRAMES[kind]())
    assert "`right` must be a PySpark DataFrame, as the other input is; got" in message
    assert kind.rpartition(".")[2] in message
    assert "`left` must be a PySpark DataFrame" in refused(FRAMES[kind](), stream)


def test_an_empty_list_and_inputs_of_one_side_that_differ(stream: DataFrame) -> None:
    assert "`left` must hold at least one DataFrame" in refused([], stream)
    message = refused(stream, [stream, stream.select("id", "ts", "key")])
    assert "`right[1]` must have the columns of `right[0]`: id bigint, key bigint, ts timestamp" in message
    assert "`right[1]`" in refused(stream, [stream, stream.withColumn("id", F.col("id").cast("int"))])


def test_a_session_without_the_store_that_state_needs(stream: DataFrame, table: DataFrame) -> None:
    hdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    with settings({PROVIDER: hdfs}):
        message = refused(stream, stream)
        assert "RocksDB" in message
        assert f'spark.conf.set("{PROVIDER}"' in message.replace("\n", "").replace("    ", "")
        weft.interval_join(table, table, **SPEC)  # tables keep no state


def test_late_rows_are_not_routed_yet(stream: DataFrame) -> None:
    message = refused(stream, stream, weft.NotYetError, late="route")
    assert '`late="route"` is not there yet on Spark' in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lower": "3s", "upper": "1s"}, "`lower` must not exceed `upper`"),
        ({"how": "left"}, '`how="left"` is not there yet'),
        ({"where": "left.id < right.id"}, "`where="),
        ({"engine": "native"}, '`engine="native"` is not there yet'),
        ({"pattern": "hybrid"}, '`pattern="hybrid"` is not there yet'),
        ({"closed": "open"}, "`closed` must be"),
        ({"lateness": "-1s"}, "`lateness` must be 0 or more"),
        ({"lateness": ("1s", None)}, "`lateness` of the right must be given where the other side's is"),
        ({"idle": "1s"}, "must not be below its lateness"),
        ({"replicas": 0}, "`replicas` must be a whole number of at least 1"),
        ({"replicas": 5000}, "`replicas` must be at most 4096"),
        ({"time": None}, "`time` must be given"),
        ({"lower": 0, "upper": 5, "lateness": 1}, "must be durations for timestamp times"),
        ({"on": ("key", "id")}, "`on` must be a list"),
    ],
    ids=lambda one: ", ".join(one) if isinstance(one, dict) else "",
)
def test_wrong_arguments(stream: DataFrame, changes: dict[str, Any], words: str) -> None:
    assert words in refused(stream, stream, weft.SpecError, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"on": "keys"}, '`on` must name a column of the left input; got "keys"'),
        ({"time": "when"}, '`time` must name a column of the left input; got "when"'),
        ({"columns": ["id", "idd"]}, '`columns` must name columns of the result; got "idd"'),
    ],
    ids=lambda one: ", ".join(one) if isinstance(one, dict) else "",
)
def test_columns_that_are_not_there(stream: DataFrame, changes: dict[str, Any], words: str) -> None:
    assert words in refused(stream, stream, weft.ColumnError, **changes)


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        ("key", "double", 'got left "key" (double)'),
        ("key", "array<long>", 'got left "key" (list'),
        ("key", "string", "`on` must pair keys of one family"),
        ("key", "string collate UTF8_LCASE", 'got left "key" (string collate UTF8_LCASE)'),
        ("ts", "string", "a time column must be a timestamp, a date or an integer"),
        ("ts", "double", "a time column must be a timestamp, a date or an integer"),
        ("ts", "timestamp_ntz", "both times must both have a time zone or both have none"),
        ("ts", "date", "both times must be of one kind"),
        ("id", "interval year to month", 'got left "id" (interval year to month)'),
    ],
    ids=lambda one: one if len(one) < 30 else "",
)
def test_columns_of_a_wrong_type(
    spark: SparkSession, stream: DataFrame, column: str, kind: str, words: str
) -> None:
    changed = stream.withColumn(column, F.lit(None).cast(kind))
    right = changed if "collate" in kind else stream
    assert words in refused(changed, right)


def test_a_column_that_does_not_travel_may_be_left_out(stream: DataFrame) -> None:
    changed = stream.withColumn("long_ago", F.lit(None).cast("interval year to month"))
    weft.interval_join(changed, stream, **SPEC, columns=["id", "ts", "id_right"])


def test_names_that_are_taken(stream: DataFrame) -> None:
    assert '"_weft"' in refused(stream.withColumnRenamed("id", "_weft"), stream.drop("id"))


def test_columns_that_cannot_be_told_apart(stream: DataFrame) -> None:
    twice = stream.select("*", F.col("id").alias("ID"))
    assert "must have each column once" in refused(twice, stream)
    with settings({"spark.sql.caseSensitive": "true"}):
        weft.interval_join(twice, stream, **SPEC)


def test_an_old_library(stream: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.spark import demands

    found = {"protobuf": "6.33.0", "pyspark": "4.3.0", "pandas": "3.1.1"}
    monkeypatch.setattr(demands, "installed", lambda need: found[need.name])
    assert "needs protobuf 6.33.5 or newer" in refused(stream, stream)
    found |= {"protobuf": "7.0", "pyspark": "4.2.1"}
    assert "needs pyspark 4.3 or newer" in refused(stream, stream)

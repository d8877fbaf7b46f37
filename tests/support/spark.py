"""One Spark session for a whole test run: started by the first test that asks, stopped after the last.

A micro-batch costs half a second of computing on small data, a query's start two: the settings below are
there to make both cheap. What a test needs otherwise it sets itself and puts back (`settings`).
"""

from __future__ import annotations

import os
import shutil
import site
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Only the first of the JIT's compilers: a test's JVM is never warm enough for the second to pay.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.streaming.pollingDelay": "1ms",
    # Every file with a checksum beside it is two more, and a process to set the mode of each.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.sql.timeType.enabled": "true",
    # Times before 1900 as they are.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
_NUMBERS = count(1)


@lru_cache(maxsize=1)
def scratch() -> Path:
    """Return a folder for files of this run, in memory where there is such a place."""
    memory = Path("/dev/shm")
    there = memory.is_dir() and os.access(memory, os.W_OK)
    return Path(tempfile.mkdtemp(prefix="weft-tests-", dir=memory if there else None))


def new_folder() -> Path:
    """Return a new folder, which is gone after the run."""
    folder = scratch() / f"{next(_NUMBERS)}"
    folder.mkdir()
    return folder


@lru_cache(maxsize=1)
def spark_session() -> SparkSession:
    """Start the session of this run, or return it: two tasks at once, a failed one tried once more."""
    import weft

    own = {"spark.pyspark.python": str(_interpreter()), "spark.local.dir": str(scratch())}
    spark: SparkSession = weft.spark.session("local[2, 2]", "weft tests", **SETTINGS, **own)
    spark.sparkContext.setLogLevel("OFF")  # a query that fails on purpose fills pages
    return spark


def stop_spark() -> None:
    """Stop the session, if one was started, and remove its files."""
    if spark_session.cache_info().currsize:
        spark_session().stop()
        spark_session.cache_clear()
    if scratch.cache_info().currsize:
        shutil.rmtree(scratch(), ignore_errors=True)
        scratch.cache_clear()


def _interpreter() -> Path:
    """Return this interpreter, but with PySpark from where it is installed.

    Spark puts its zip first, which holds no compiled modules: half a second for every worker and query.
    """
    script = scratch() / "python"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{site.getsitepackages()[0]}:$PYTHONPATH" exec "{sys.executable}" "$@"\n'
    )
    script.chmod(0o700)
    return script


@contextmanager
def settings(conf: Mapping[str, str | int]) -> Iterator[None]:
    """Give the session other settings for a while."""
    spark = spark_session()
    before = {name: spark.conf.get(name, None) for name in conf}
    try:
        for name, value in conf.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


@contextmanager
def no_job() -> Iterator[None]:
    """Claim that nothing in the block makes Spark run a job."""
    context = spark_session().sparkContext
    group = f"weft tests {next(_NUMBERS)}"
    context.setJobGroup(group, "none is expected")
    try:
        yield
        assert list(context.statusTracker().getJobIdsForGroup(group)) == []
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def spark_schema(schema: pa.Schema) -> StructType:
    """Return a schema as Spark has it; timestamps without a zone stay without."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def table_frame(table: pa.Table) -> DataFrame:
    """Return a table as a DataFrame."""
    # As whole columns: PySpark forgets all that follows an empty batch, and takes no table without any.
    arrays = [column.combine_chunks() for column in table.columns]
    whole = pa.Table.from_arrays(arrays, schema=table.schema)
    return spark_session().createDataFrame(whole, spark_schema(table.schema))


def stream_frame(tables: Sequence[pa.Table], folder: Path | None = None) -> DataFrame:
    """Return a stream of which each table is one micro-batch."""
    folder = folder or new_folder()
    schema = tables[0].schema
    empty = [field.name for field in schema if pa.types.is_null(field.type)]  # which files do not hold
    add_files(folder, [table.drop_columns(empty) for table in tables])
    return read_folder(folder, schema)


def add_files(folder: Path, tables: Sequence[pa.Table]) -> None:
    """Write one file a table, each newer than those that are there."""
    start = len(list(folder.glob("*.parquet")))
    for number, table in enumerate(tables, start):
        new = folder / f".{number}"  # Spark sees no hidden files: it never meets half of one
        pq.write_table(table, new, compression="none")
        os.utime(new, (10**9 + number, 10**9 + number))
        new.rename(folder / f"{number:05}.parquet")


def read_folder(folder: Path, schema: pa.Schema) -> DataFrame:
    """Return the files of a folder as a stream, a file a micro-batch."""
    from pyspark.sql import functions as F  # noqa: N812

    whole = spark_schema(schema)
    empty = [field.name for field in schema if pa.types.is_null(field.type)]
    inside = pa.schema([field for field in schema if field.name not in empty])
    reader = spark_session().readStream.schema(spark_schema(inside)).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(folder))
    for name in empty:
        frame = frame.withColumn(name, F.lit(None))
    return frame.select(*(f"`{name}`" for name in whole.names)) if empty else frame


class Run:
    """A streaming query played to the end of what its sources hold: its batches and what it reported."""

    def __init__(
        self,
        frame: DataFrame,
        checkpoint: Path | None = None,
        tables: dict[int, pa.Table] | None = None,
    ) -> None:
        self.tables = {} if tables is None else tables
        writer = frame.writeStream.foreachBatch(self._take)
        where = str(checkpoint or new_folder())
        query = writer.option("checkpointLocation", where).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            self.progress: list[Any] = query.recentProgress

    def _take(self, frame: DataFrame, batch: int) -> None:
        self.tables[batch] = frame.toArrow()

    def table(self) -> pa.Table:
        """Return everything that came."""
        return pa.concat_tables(self.tables.values())

    def counts(self) -> list[dict[str, Any]]:
        """Return what weft counted in each micro-batch."""
        told = [
            [row.asDict() for name, row in one.observedMetrics.items() if name.startswith("weft")]
            for one in self.progress
        ]
        return [rows[0] for rows in told if rows]

    def watermarks(self) -> list[int | None]:
        """Return the watermark after each micro-batch, in nanoseconds or as the integer that times are."""
        return [exact_time(one["watermark"]) for one in self.counts()]

    def late(self) -> tuple[int, int]:
        """Return how many rows of each side were late."""
        left, right = (sum(one[f"late_{side}"] for one in self.counts()) for side in ("left", "right"))
        return left, right


def exact_time(told: str | int | None) -> int | None:
    """Return a time as metrics tell it, in nanoseconds; an integer as it is."""
    if not isinstance(told, str):
        return told
    return int(np.datetime64(told.removesuffix("Z"), "us").astype(np.int64)) * 1000


def said(error: Exception) -> str:
    """Return what weft said in an error that Spark has wrapped; all of it where weft said nothing."""
    message = str(error)
    start = message.rfind("weft.errors.")
    return message if start < 0 else message[start : message.find(" SQLSTATE", start)]

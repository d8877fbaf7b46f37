"""What weft leans on in Spark without Spark's word for it: one test for each, so that a new version tells.

Each says what breaks in weft if Spark changes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from tests.support.spark import Run, new_folder, settings, stream_frame, table_frame
from weft.spark.frames import DELAY, without_watermark
from weft.spark.shards import shard_keys, spark_hash
from weft.spark.turn import QUERY

MIB = 1 << 20
SEEN: list[int] = []  # a worker's own


def numbers(*each: int) -> pa.Table:
    """Return keys, one a row."""
    return pa.table({"key": pa.array(each, pa.int64())})


def processed(frame: DataFrame, processor: StatefulProcessor, schema: str) -> DataFrame:
    """Return a stream as weft's pipeline takes it."""
    return frame.groupBy("key").transformWithStateInPandas(
        statefulProcessor=processor,
        outputStructType=StructType.fromDDL(schema),
        outputMode="Append",
        timeMode="None",
    )


def as_frame(**columns: pa.Array) -> pd.DataFrame:
    """Return columns as weft hands them over."""
    return pd.DataFrame(
        {name: pd.Series(pd.arrays.ArrowExtensionArray(one)) for name, one in columns.items()}, copy=False
    )


class Probe(StatefulProcessor):
    """A processor whose work is a function of this module: (key, number of rows, state) to frames."""

    def __init__(self, work: Any) -> None:
        self._work = work

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "data binary")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        return self._work(int(key[0]), sum(len(frame) for frame in rows), self._state)

    def close(self) -> None: ...


# --- where rows go ------------------------------------------------------------------------------------


def test_the_hash_of_a_long_is_the_one_we_compute(spark: SparkSession) -> None:
    """Else shards share partitions: some cores idle."""
    wanted = [*range(300), -1, 2**31, 2**40 + 7, -(2**63), 2**63 - 1]
    found = table_frame(numbers(*wanted)).select("key", F.hash("key").alias("hash")).toArrow()
    assert found["hash"].to_pylist() == [spark_hash(one) for one in found["key"].to_pylist()]


def partition_of(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    context = TaskContext.get()
    assert context is not None
    yield as_frame(key=pa.array([key]), partition=pa.array([context.partitionId()]))


@pytest.mark.parametrize("shards", [1, 2, 7, 16])
def test_each_shard_has_a_partition_of_its_own(shards: int) -> None:
    """Else shards share partitions, in state as in work."""
    with settings({"spark.sql.shuffle.partitions": shards}):
        stream = stream_frame([numbers(*shard_keys(shards))])
        found = Run(processed(stream, Probe(partition_of), "key long, partition int")).table()
    assert sorted(found["partition"].to_pylist()) == [*range(shards)]


@pytest.mark.parametrize("shards", [2, 64, 200])
def test_tables_spread_over_shards_in_the_same_way(spark: SparkSession, shards: int) -> None:
    spread = table_frame(numbers(*shard_keys(shards))).repartition(shards, "key")
    found = spread.select(F.spark_partition_id().alias("partition")).toArrow()["partition"].to_pylist()
    assert sorted(found) == [*range(shards)]


# --- what reaches a processor, and what leaves it ----------------------------------------------------------


def counted(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    yield as_frame(key=pa.array([key]), rows=pa.array([count]))


def test_without_a_time_mode_nothing_is_late_and_a_run_of_what_is_there_ends() -> None:
    """Else Spark drops packs that weft means to judge, or `availableNow` never ends."""
    batches = [pa.table({"key": [1], "ts": pa.array([at], pa.timestamp("us", "UTC"))}) for at in (10**12, 0)]
    stream = stream_frame(batches).withWatermark("ts", "1 second")
    run = Run(processed(stream, Probe(counted), "key long, rows long"))
    assert run.table()["rows"].to_pylist() == [1, 1]


VALUES: dict[str, tuple[str, pa.Array]] = {
    "byte": ("tinyint", pa.array([1, None, -128], pa.int8())),
    "short": ("smallint", pa.array([1, None, 2**15 - 1], pa.int16())),
    "int": ("int", pa.array([1, None, -(2**31)], pa.int32())),
    "long": ("long", pa.array([1, None, 2**63 - 1], pa.int64())),
    "float": ("float", pa.array([1.5, None, float("nan")], pa.float32())),
    "double": ("double", pa.array([1.5, None, float("inf")])),
    "decimal": ("decimal(38, 10)", pa.array([Decimal("1.5"), None, Decimal("-1e27")], pa.decimal128(38, 10))),
    "boolean": ("boolean", pa.array([True, None, False])),
    "text": ("string", pa.array(["", None, "a\0é"])),
    "binary": ("binary", pa.array([b"", None, b"\0\xff"])),
    "date": ("date", pa.array([0, None, -719162], pa.int32()).view(pa.date32())),
    "timestamp": (
        "timestamp",
        pa.array([0, None, 7 * 10**15 + 1], pa.int64()).view(pa.timestamp("us", "UTC")),
    ),
    "naive": ("timestamp_ntz", pa.array([0, None, 7 * 10**15 + 1], pa.int64()).view(pa.timestamp("us"))),
    "duration": ("interval day to second", pa.array([0, None, -1]).view(pa.duration("us"))),
}


def of_all_types(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    yield as_frame(**{name: values for name, (_, values) in VALUES.items()})


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_columns_of_arrow_leave_as_they_are(zone: str) -> None:
    """Else values change on their way out: times by the session's zone, integers among nulls by floats."""
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in VALUES.items())
    with settings({"spark.sql.session.timeZone": zone}):
        found = Run(processed(stream_frame([numbers(1)]), Probe(of_all_types), schema)).table()
    for name, (_, values) in VALUES.items():
        got, wanted = (pa.array(one).cast(values.type) for one in (found[name].combine_chunks(), values))
        assert str(got) == str(wanted), name


def many_longs(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    column = pa.array(range(500_000), pa.int64())
    for _ in range(4):
        yield as_frame(value=column)


def test_columns_of_arrow_are_not_converted_value_by_value() -> None:
    """Else results cost microseconds a value, and weft's way out has to be another."""
    stream = processed(stream_frame([numbers(1)] * 3), Probe(many_longs), "value long").groupBy().count()
    query = stream.writeStream.outputMode("complete").format("noop")
    started = query.option("checkpointLocation", str(new_folder())).trigger(availableNow=True).start()
    started.awaitTermination()
    last = started.recentProgress[-1]
    assert last.durationMs["triggerExecution"] < 2_000_000 * 0.004  # ms: 4 us a value would be the slow way


def written() -> int:
    """Return the bytes that this process has written so far."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("wchar")))


def large_then_told(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    before = written()
    yield as_frame(left=pa.array([0] * MIB))
    yield as_frame(left=pa.array([written() - before]))


def test_a_frame_leaves_before_the_next_is_asked_for() -> None:
    """Else a shard's whole result of a batch lies in memory."""
    found = Run(processed(stream_frame([numbers(1)]), Probe(large_then_told), "left long")).table()
    assert max(found["left"].to_pylist()) >= 8 * MIB


# --- workers and their state ------------------------------------------------------------------------------


def remembered(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    SEEN.append(1)
    context = TaskContext.get()
    assert context is not None
    yield as_frame(
        seen=pa.array([len(SEEN)]),
        query=pa.array([context.getLocalProperty(QUERY)]),
        folders=pa.array([os.environ.get("SPARK_LOCAL_DIRS", "")]),
        process=pa.array([os.getpid()]),
    )


def test_workers_live_on_between_batches_and_know_query_and_folder() -> None:
    """Else nothing resident is ever found again, two queries share residents, or images have no place."""
    stream = processed(
        stream_frame([numbers(0)] * 6),
        Probe(remembered),
        "seen int, query string, folders string, process int",
    )
    found = Run(stream).table()
    assert max(found["seen"].to_pylist()) > 1
    assert len(set(found["process"].to_pylist())) <= 2
    (query,) = set(found["query"].to_pylist())
    assert len(query) == 36
    (folders,) = set(found["folders"].to_pylist())
    assert Path(folders.split(",")[0]).is_dir()


def kept(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    before = state.get()
    known = 0 if before is None else len(bytes(before[0]))
    state.update((b"x" * 64 * MIB,))
    yield as_frame(known=pa.array([known]))


def test_64_mib_pass_through_shuffle_and_state_and_are_there_after_a_restart() -> None:
    """Else packs and chunks must be smaller."""
    whole = pa.table({"key": [1], "pack": pa.array([b"y" * 64 * MIB])})
    batches, checkpoint = [whole, numbers(1).append_column("pack", pa.array([b""]))], new_folder()
    run = Run(processed(stream_frame(batches), Probe(kept), "known long"), checkpoint)
    assert run.table()["known"].to_pylist() == [0, 64 * MIB]


def fails_first(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    before = state.get()
    state.update((b"of an attempt that fails" if before is None else b"again",))
    yield as_frame(known=pa.array([before is not None]))
    message = "after its work"
    raise ValueError(message)


def test_what_a_failed_attempt_wrote_is_not_there_for_the_next() -> None:
    """Else a pair could come twice, or never."""
    stream, checkpoint = stream_frame([numbers(1)]), new_folder()
    with pytest.raises(StreamingQueryException, match="after its work"):
        Run(processed(stream, Probe(fails_first), "known boolean"), checkpoint)
    run = Run(processed(stream, Probe(told_known), "known boolean"), checkpoint)
    assert run.table()["known"].to_pylist() == [False]


def told_known(key: int, count: int, state: Any) -> Iterator[pd.DataFrame]:
    yield as_frame(known=pa.array([state.get() is not None]))


# --- Spark's own watermarks ------------------------------------------------------------------------------


def test_a_watermark_is_metadata_of_its_column_and_a_node_of_the_plan() -> None:
    """Else `lateness` cannot be taken from it, or the result cannot have one."""
    rows = pa.table({"key": [1], "ts": pa.array([0], pa.timestamp("us", "UTC"))})
    stream = stream_frame([rows]).withWatermark("ts", "10 seconds")
    assert stream.schema["ts"].metadata[DELAY] == 10_000
    onward = stream.where("key > 0").select("key", F.col("ts").alias("at"))
    assert onward.schema["at"].metadata[DELAY] == 10_000
    bare = without_watermark(onward)
    assert DELAY not in bare.schema["at"].metadata
    assert "EventTimeWatermark" not in bare._jdf.queryExecution().logical().toString()
    assert bare.columns == onward.columns


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def test_a_python_stage_drops_a_watermark() -> None:
    """Else a watermark of a plan that keeps state before the join would stand on the packs."""
    rows = pa.table({"ts": pa.array([0], pa.timestamp("us", "UTC"))})
    stream = stream_frame([rows]).withWatermark("ts", "10 seconds")
    assert DELAY not in stream.mapInArrow(same, "ts timestamp").schema["ts"].metadata


def test_what_an_observation_sums_reaches_the_progress() -> None:
    """Else counts have to travel otherwise."""
    stream = processed(stream_frame([numbers(1, 2, 3)] * 2), Probe(counted), "key long, rows long")
    watched = stream.observe("weft_probe", F.sum("rows").alias("rows")).where("key > 1")
    run = Run(watched)
    assert [one["rows"] for one in run.counts()] == [3, 3]
    assert run.table().num_rows == 4

"""More that weft leans on in Spark's tasks: each test says what would break."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tests.support.spark import Run, stream_frame, table_frame
from weft.spark.shards import shard_keys, spark_hash

Act = Callable[[int, Iterator[pd.DataFrame], Any], Iterator[pd.DataFrame]]
ROWS = pa.table({"key": pa.array([0, 1, 2, 3], pa.int64()), "at": pa.array([40, 30, 20, 10], pa.int64())})


def stateful(frame: DataFrame, act: Act, schema: str) -> DataFrame:
    """Let a function of a test take the rows of each key, with one value of state; it travels by value."""

    class Probe(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._state = handle.getValueState("blob", "data binary")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
            yield from act(key[0], rows, self._state)

        def close(self) -> None: ...

    grouped = frame.groupBy("key")
    return grouped.transformWithStateInPandas(Probe(), schema, outputMode="Append", timeMode="None")


def test_a_retried_task_does_not_see_what_its_failed_attempt_wrote() -> None:
    """Else rows that were stored by the attempt would be stored, and met, twice."""

    def act(key: int, rows: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        held = state.get()
        before = 0 if held is None else held[0][0]
        attempt = TaskContext.get().attemptNumber()
        if before == 1 and attempt == 0:
            state.update((bytes([100]),))
            message = "after its work"
            raise RuntimeError(message)
        state.update((bytes([before + 1]),))
        yield pd.DataFrame({"attempt": [attempt], "before": [before]})

    run = Run(stateful(stream_frame([ROWS.slice(0, 1)] * 3), act, "attempt int, before int"))
    told = [table.to_pylist() for table in run.tables.values()]
    assert told == [[{"attempt": attempt, "before": before}] for before, attempt in ((0, 0), (1, 1), (2, 0))]


def test_a_stateful_operator_sends_a_key_where_its_hash_says() -> None:
    """Else shards share tasks, or one of them goes elsewhere than its state."""
    frame = table_frame(pa.table({"key": pa.array(shard_keys(7), pa.int64())}))

    def act(key: int, rows: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"key": [key], "place": [TaskContext.get().partitionId()]})

    told = stateful(frame, act, "key long, place long").collect()
    partitions = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)
    assert {row.key: row.place for row in told} == {
        key: spark_hash(key) % partitions for key in shard_keys(7)
    }


def test_an_empty_batch_does_not_end_what_a_function_gives() -> None:
    """Else a pack without pairs would swallow those after it, as an empty chunk in createDataFrame does."""

    def gaps(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield from (part.slice(0, 0), part, part.slice(0, 0), part.slice(0, 1))

    def act(key: int, rows: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        for frame in rows:
            yield from (frame.iloc[:0], frame, frame.iloc[:0], frame.iloc[:1])

    frame = table_frame(ROWS)
    parts = frame.rdd.getNumPartitions()
    assert frame.mapInArrow(gaps, "key long, at long").count() == len(ROWS) + parts
    assert stateful(frame, act, "key long, at long").count() == 2 * len(ROWS)


def test_a_binary_that_is_missing_is_no_bytes_and_numbers_stay_whole() -> None:
    """What a pack's row looks like in the worker: `pack` may be missing, the numbers beside it never are."""
    packs = pa.table(
        {
            "key": pa.array([0, 0], pa.int64()),
            "told": pa.array([True, False]),
            "newest": pa.array([2**63 - 1, 0], pa.int64()),
            "pack": pa.array([None, b"x"], pa.binary()),
        }
    )

    def act(key: int, rows: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        frame = pd.concat(rows)
        packed = sum(isinstance(value, bytes) for value in frame["pack"])
        told = [int(told) for told in frame["told"]]
        newest = [int(at) for at in frame["newest"]]
        yield pd.DataFrame({"packed": [packed], "told": [sum(told)], "newest": [max(newest)]})

    (row,) = stateful(table_frame(packs), act, "packed long, told long, newest long").collect()
    assert (row.packed, row.told, row.newest) == (1, 1, 2**63 - 1)

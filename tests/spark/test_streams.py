"""Streaming queries: inputs, lateness and idle, late rows, Spark's own watermarks, sinks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import weft
from tests.support.batches import foresee_batches, in_batches, played, streams_of, told_by
from tests.support.cases import Case, assert_joined, side_of
from tests.support.drawing import Drawing, drawn, pairs
from tests.support.feeds import Push, draw_feed, lateness_needed
from tests.support.players import Settings
from tests.support.rows import multiset, pairs_of, rows_of
from tests.support.spark import Run, add_files, new_folder, read_folder, said, stream_frame
from tests.support.spark_types import snapped
from tests.support.streams import draw_case

SECOND = 10**9
CLOCK = {"ts": pa.timestamp("us", "UTC")}


def alone(told: Drawing) -> list[list[Push]]:
    """Return micro-batches of one push each."""
    return [[push] for push in told.pushes]


def rows(start: int, count: int, key: int = 1) -> pa.Table:
    """Return rows a second apart."""
    times = [(start + at) * 10**6 for at in range(count)]
    return pa.table(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "key": pa.array([key] * count, pa.int64()),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": "0s", "upper": "2s"}


def oracle(left: pa.Table, right: pa.Table) -> Case:
    """Return the case of all rows that came, whatever the batches."""
    return Case(side_of(left), side_of(right), 0, 2 * SECOND)


# --- inputs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [(2, 2), (1, 3)], ids=str)
def test_lists_are_several_physical_streams_of_a_side(sources: tuple[int, int]) -> None:
    random = Random(f"{sources}")
    case = snapped(draw_case(random, 60))
    feed = draw_feed(random, case, sources, "near")
    batches = in_batches(random, feed, 4)
    lateness = tuple(case.span(one) for one in lateness_needed(case, feed))
    run = played(case, batches, sources, lateness=lateness)
    assert_joined(case, run.table())
    assert run.late() == (0, 0)


def test_streams_that_end_early_or_begin_late_lose_nothing() -> None:
    left, right = [rows(0, 10), rows(10, 10), rows(20, 10)], [rows(5, 20)]
    run = Run(weft.interval_join(stream_frame(left), stream_frame(right), **SPEC, lateness="30s"))
    assert_joined(oracle(pa.concat_tables(left), right[0]), run.table())


def test_the_two_sides_of_one_stream_can_be_joined() -> None:
    told = [rows(0, 5), rows(5, 5)]
    stream = stream_frame(told)
    run = Run(weft.interval_join(stream, stream.where("id % 2 = 0"), **SPEC, lateness="5s"))
    whole = pa.concat_tables(told)
    even = whole.filter(pa.array([at % 2 == 0 for at in range(10)]))
    assert_joined(oracle(whole, even), run.table())


# --- lateness, idle, late rows ------------------------------------------------------------------------

SIDED = drawn("""
    side  | id | key | ts
    left  | l1 | 1   | 100
    right | r1 | 1   | 100
    ----------------------
    left  | l2 | 1   | 90
    left  | l3 | 1   | 89
    right | r2 | 1   | 95
    right | r3 | 1   | 94
""")


def test_each_side_has_its_own_lateness() -> None:
    case = SIDED.case(-100, 100)
    run = played(case, alone(SIDED), lateness=(10, 5))
    assert run.watermarks() == [90, 90]
    assert run.late() == (1, 0)
    assert pairs_of(run.table()) == pairs("l1 r1, l1 r2, l1 r3, l2 r1, l2 r2, l2 r3")
    run = played(case, alone(SIDED), lateness=(3, 5))
    assert run.watermarks() == [95, 95]
    assert run.late() == (2, 1)
    assert pairs_of(run.table()) == pairs("l1 r1, l1 r2")


def test_a_silent_input_holds_the_others_back_by_at_most_its_idle() -> None:
    told = drawn("""
        side  | id | key | ts
        left  | l1 | 1   | 100
        ----------------------
        left  | l2 | 1   | 90
        right | r1 | 1   | 89
    """)
    case = told.case(-1000, 1000)
    run = played(case, alone(told), lateness=0, idle=(None, 10))
    assert run.watermarks() == [90, 90]
    assert run.late() == (0, 1)
    run = played(case, alone(told), lateness=0)
    assert run.watermarks() == [None, 89]
    assert run.late() == (0, 0)


def drawn_late(random: Random, sources: tuple[int, int]) -> tuple[Case, list[list[Push]], Settings]:
    """Draw a case, its micro-batches and settings until rows of both sides are late and some meet."""
    while True:
        case = snapped(replace(draw_case(random, 60), columns=None))
        batches = in_batches(random, draw_feed(random, case, sources, "near", (1, 5)), 8)
        needed = lateness_needed(case, [push for batch in batches for push in batch])
        lateness = needed[0] // 4, needed[1] // 3
        silent = random.choice((None, lateness[1] + needed[1] // 2))
        chosen = Settings(lateness, (None, silent), sources)
        foreseen = foresee_batches(case, batches, chosen)
        if all(foreseen.late.values()) and case.expected(foreseen.kept["left"], foreseen.kept["right"]):
            return case, batches, chosen


@pytest.mark.parametrize("sources", [(1, 1), (2, 1), (1, 2), (2, 2)], ids=str)
def test_late_rows_are_those_the_model_says(sources: tuple[int, int]) -> None:
    case, batches, chosen = drawn_late(Random(f"{sources}"), sources)
    foreseen = foresee_batches(case, batches, chosen)
    silent = chosen.idle[1]
    run = played(
        case,
        batches,
        sources,
        lateness=tuple(map(case.span, chosen.lateness)),
        idle=None if silent is None else (None, case.span(silent)),
    )
    expected = case.expected(foreseen.kept["left"], foreseen.kept["right"])
    assert multiset(rows_of(run.table())) == multiset(expected)
    assert run.late() == (len(foreseen.late["left"]), len(foreseen.late["right"]))
    assert run.watermarks() == told_by(case, batches, foreseen)


# --- what a query tells -------------------------------------------------------------------------------


def test_a_query_tells_rows_pairs_state_and_watermark_of_every_batch() -> None:
    left, right = [rows(0, 10), rows(10, 10)], [rows(0, 10), rows(10, 10)]
    run = Run(weft.interval_join(stream_frame(left), stream_frame(right), **SPEC, lateness="1s"))
    told = run.counts()
    assert [(one["rows_left"], one["rows_right"]) for one in told] == [(10, 10), (10, 10)]
    assert sum(one["pairs"] for one in told) == run.table().num_rows == 57
    assert run.watermarks() == [8 * SECOND, 18 * SECOND]
    # A left row goes two seconds after its time, a right row with it: 6, 7, 8, 9 and 8, 9 are still held.
    assert [(one["state_rows_left"], one["state_rows_right"]) for one in told] == [(4, 2), (4, 2)]
    assert all(one["state_bytes"] > 0 for one in told)


def test_two_joins_in_one_query_tell_their_counts_apart() -> None:
    left, right = stream_frame([rows(0, 10)]), stream_frame([rows(0, 10)])
    one = weft.interval_join(left, right, **SPEC, lateness="1s")
    two = weft.interval_join(left, right, **(SPEC | {"upper": "0s"}), lateness="1s")
    run = Run(one.union(two))
    (progress,) = run.progress[:1]
    told = [row["pairs"] for name, row in progress.observedMetrics.items() if name.startswith("weft")]
    assert sorted(told) == [10, 27]
    assert run.table().num_rows == 37


# --- late="fail" --------------------------------------------------------------------------------------

LATE = [rows(0, 10), rows(10, 10), rows(12, 1), rows(20, 10)]
TIMELY = [rows(0, 10), rows(10, 10), rows(20, 1), rows(21, 10)]


def failing(folders: tuple[Path, Path], **more: Any) -> DataFrame:
    """Return a join of which the third batch brings a left row that is seven seconds late."""
    left, right = (read_folder(folder, LATE[0].schema) for folder in folders)
    return weft.interval_join(left, right, **SPEC, **({"lateness": "0s", "late": "fail"} | more))


def test_a_query_that_stopped_on_a_late_row_goes_on_with_its_state() -> None:
    folders = new_folder(), new_folder()
    for folder, tables in zip(folders, (LATE, TIMELY), strict=True):
        add_files(folder, tables)
    checkpoint = new_folder()
    first = Stopped(failing(folders), checkpoint)
    assert sorted(first.tables) == [0, 1]
    for word in ("left input 0", "key=1", "1970-01-01 00:00:12", "late by 7000000 us", "lateness", "Hint"):
        assert word in first.message, word
    # What the watermark has passed is gone: more lateness from now on does not bring it back.
    again = Stopped(failing(folders, lateness="30s"), checkpoint)
    assert again.tables == {}
    assert "late by 7000000 us" in again.message
    last = Run(failing(folders, late="drop", lateness="30s"), checkpoint)
    assert sorted(last.tables) == [2, 3]
    assert last.late() == (1, 0)
    kept = pa.concat_tables([LATE[0], LATE[1], LATE[3]])
    everything = pa.concat_tables([*first.tables.values(), *last.tables.values()])
    assert_joined(oracle(kept, pa.concat_tables(TIMELY)), everything)


def test_rows_that_more_lateness_would_keep_are_kept_after_a_restart() -> None:
    folders, checkpoint = (new_folder(), new_folder()), new_folder()
    for folder in folders:
        add_files(folder, [rows(0, 10)])
    runs = [Run(failing(folders, lateness="1s"), checkpoint)]
    for folder in folders:
        add_files(folder, [rows(30, 10), rows(12, 3)])
    runs.append(Run(failing(folders, lateness="40s"), checkpoint))
    assert runs[-1].watermarks() == [8 * SECOND, 8 * SECOND]
    everything = pa.concat_tables([rows(0, 10), rows(30, 10), rows(12, 3)])
    assert_joined(oracle(everything, everything), pa.concat_tables([run.table() for run in runs]))


class Stopped:
    """A run that fails: what it delivered before, and with which words it ended."""

    def __init__(self, frame: DataFrame, checkpoint: Path) -> None:
        self.tables: dict[int, pa.Table] = {}
        with pytest.raises(StreamingQueryException) as caught:
            Run(frame, checkpoint, self.tables)
        self.message = said(caught.value)


# --- Spark's own watermarks ---------------------------------------------------------------------------


def test_the_delay_of_sparks_own_watermark_is_the_lateness() -> None:
    sides = {name: stream_frame([rows(0, 10), rows(3, 3)]) for name in ("left", "right")}
    marked = {name: one.withWatermark("ts", "5 seconds") for name, one in sides.items()}
    run = Run(weft.interval_join(**marked, **SPEC))
    assert run.watermarks() == [4 * SECOND, 4 * SECOND]
    assert run.late() == (1, 1)
    run = Run(weft.interval_join(**marked, **SPEC, lateness="9s"))  # what the call says comes first
    assert run.watermarks() == [0, 0]
    assert run.late() == (0, 0)


def test_the_delays_of_several_streams_of_a_side_are_taken_at_their_largest() -> None:
    one, two = (stream_frame([rows(0, 10)]).withWatermark("ts", f"{delay} seconds") for delay in (2, 6))
    right = stream_frame([rows(0, 10)]).withWatermark("ts", "1 second").where("id >= 0").select("ts", "key")
    run = Run(weft.interval_join([one, two], right, **SPEC))
    assert run.watermarks() == [3 * SECOND]


@pytest.mark.parametrize("inputs", [True, False], ids=["inputs have one too", "only the result"])
def test_the_result_may_have_a_watermark_and_windows(inputs: bool) -> None:
    tables = [rows(0, 10), rows(10, 10), rows(100, 1)]
    left, right = stream_frame(tables), stream_frame(tables)
    if inputs:
        left, right = (one.withWatermark("ts", "5 seconds") for one in (left, right))
    joined = weft.interval_join(left, right, **SPEC, **({} if inputs else {"lateness": "5s"}))
    counted = joined.withWatermark("ts", "1 second").groupBy(F.window("ts", "10 seconds").alias("w")).count()
    run = Run(counted.select(F.col("w.start").cast("long").alias("start"), "count"))
    assert sorted(map(tuple, (row.values() for row in run.table().to_pylist()))) == [(0, 30), (10, 27)]


# --- sinks --------------------------------------------------------------------------------------------


def test_results_go_into_memory_and_parquet(spark: SparkSession) -> None:
    tables = [rows(0, 10), rows(10, 10)]
    expected = oracle(pa.concat_tables(tables), pa.concat_tables(tables))
    for sink in ("memory", "parquet"):
        left, right = stream_frame(tables), stream_frame(tables)
        joined = weft.interval_join(left, right, **SPEC, lateness="1s")
        folder = new_folder()
        writer = joined.writeStream.format(sink).option("checkpointLocation", str(new_folder()))
        where = writer.queryName("weft_result") if sink == "memory" else writer.option("path", str(folder))
        where.trigger(availableNow=True).start().awaitTermination()
        got = spark.table("weft_result") if sink == "memory" else spark.read.parquet(str(folder))
        assert_joined(expected, got.toArrow())
    spark.catalog.dropTempView("weft_result")


def test_the_result_may_be_filtered_projected_and_joined_to_a_table(spark: SparkSession) -> None:
    tables = [rows(0, 10), rows(10, 10)]
    joined = weft.interval_join(stream_frame(tables), stream_frame(tables), **SPEC, lateness="1s")
    names = spark.createDataFrame([(1, "one")], "key long, name string")
    run = Run(joined.where("id = 3").join(names, "key").selectExpr("id", "name", "id_right + 1 AS more"))
    assert sorted(row["more"] for row in run.table().to_pylist()) == [4, 5, 6]
    assert set(run.table()["name"].to_pylist()) == {"one"}


def test_streams_in_the_plan_keep_their_batches_apart() -> None:
    left, right = streams_of(SIDED.case(0, 0), alone(SIDED), (1, 1)).values()
    assert left[0].isStreaming
    assert weft.interval_join(left, right, on="key", time="ts", lower=0, upper=0, lateness=0).isStreaming

"""One checkpoint, several runs: what may change between them, what is refused before anything is emitted."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import weft
from tests.support.batches import foresee_batches, in_batches, rows_in, told_by
from tests.support.cases import assert_joined
from tests.support.feeds import draw_feed, lateness_needed
from tests.support.players import SIDES, Settings
from tests.support.rows import multiset, rows_of
from tests.support.spark import Run, add_files, new_folder, read_folder, said, settings
from tests.support.spark_types import snapped
from tests.support.streams import draw_case

ROWS = pa.table(
    {
        "id": pa.array(range(8), pa.int64()),
        "key": pa.array([1, 2] * 4, pa.int64()),
        "k2": pa.array([1] * 8, pa.int64()),
        "ts": pa.array(range(8), pa.int64()),
        "p": pa.array([str(at) for at in range(8)]),
    }
)
SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": 0, "upper": 4, "lateness": 2}


@dataclass(frozen=True, slots=True)
class Begun:
    """Two files of each side, and the checkpoint of a query that has taken the first."""

    left: Path
    right: Path
    checkpoint: Path

    def again(self) -> Begun:
        """Return the same with a copy of the checkpoint."""
        copy = new_folder() / "checkpoint"
        shutil.copytree(self.checkpoint, copy)
        return replace(self, checkpoint=copy)

    def frames(self) -> list[DataFrame]:
        """Return both streams."""
        return [read_folder(folder, ROWS.schema) for folder in (self.left, self.right)]


@pytest.fixture(scope="module")
def begun() -> Begun:
    made = Begun(new_folder(), new_folder(), new_folder())
    for folder in (made.left, made.right):
        add_files(folder, [ROWS])
    run = Run(weft.interval_join(*made.frames(), **SPEC), made.checkpoint)
    assert run.table().num_rows == 18
    for folder in (made.left, made.right):
        add_files(folder, [ROWS])
    return made


def test_a_query_goes_on_where_it_stopped(begun: Begun) -> None:
    there = begun.again()
    run = Run(weft.interval_join(*there.frames(), **SPEC), there.checkpoint)
    assert sorted(run.tables) == [1]
    assert [(one["rows_left"], one["rows_right"]) for one in run.counts()] == [(8, 8)]


@pytest.mark.parametrize("seed", range(2))
def test_restarts_between_any_two_batches_change_nothing(seed: int) -> None:
    random = Random(seed)
    case = snapped(draw_case(random, 60))
    batches = in_batches(random, draw_feed(random, case, (1, 1), "near"), 8)
    needed = lateness_needed(case, [push for batch in batches for push in batch])
    foreseen = foresee_batches(case, batches, Settings(needed))
    folders = {side: new_folder() for side in SIDES}
    checkpoint, tables, watermarks = new_folder(), [], []
    for batch in batches:
        for side in SIDES:
            whole = case.left if side == "left" else case.right
            add_files(folders[side], [whole.table(rows_in(batch, side, 0))])
        frames = {side: read_folder(folders[side], getattr(case, side).schema) for side in SIDES}
        lateness = tuple(case.span(one) for one in needed)
        run = Run(weft.interval_join(**frames, **case.arguments(), lateness=lateness), checkpoint)
        assert len(run.tables) == 1
        tables.append(run.table())
        watermarks += run.watermarks()
    assert_joined(case, pa.concat_tables(tables))
    assert watermarks == told_by(case, batches, foreseen)


# --- what must not change -----------------------------------------------------------------------------

CHANGED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "on": ({"on": "k2"}, ("`on`", "key", "k2")),
    "more keys": ({"on": ["key", "k2"]}, ("`on`", "k2")),
    "lower": ({"lower": -1}, ("`lower`", "0", "-1")),
    "upper": ({"upper": 5}, ("`upper`", "4", "5")),
    "closed": ({"closed": "left"}, ("`closed`", "both", "left")),
    "columns": ({"columns": ["id", "ts"]}, ("`columns`",)),
    "replicas": ({"replicas": 3}, ("2 shards", "3", "replicas=2")),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_call_is_refused_before_anything_is_emitted(begun: Begun, name: str) -> None:
    changes, words = CHANGED[name]
    there = begun.again()
    refused = refusal(weft.interval_join(*there.frames(), **(SPEC | changes)), there.checkpoint)
    for word in (*words, "StateError", "Hint:"):
        assert word in refused


def test_another_number_of_partitions_is_no_change_where_replicas_say_the_shards(begun: Begun) -> None:
    # Spark keeps the partitions of the checkpoint, whatever the session says: the shards must not follow.
    there = begun.again()
    with settings({"spark.sql.shuffle.partitions": 3}):
        refused = refusal(weft.interval_join(*there.frames(), **SPEC), there.checkpoint)
        assert "replicas=2" in refused
        run = Run(weft.interval_join(*there.frames(), **SPEC, replicas=2), there.checkpoint)
    assert sorted(run.tables) == [1]


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [("p", "binary", ("p (string)", "p (binary)")), ("key", "int", ("key (int64)", "key (int32)"))],
)
def test_another_type_of_a_column_is_refused(
    begun: Begun, column: str, kind: str, words: tuple[str, ...]
) -> None:
    there = begun.again()
    left, right = (one.withColumn(column, F.col(column).cast(kind)) for one in there.frames())
    refused = refusal(weft.interval_join(left, right, **SPEC), there.checkpoint)
    for word in (*words, "StateError", "Hint:"):
        assert word in refused


def test_another_column_is_refused(begun: Begun) -> None:
    there = begun.again()
    left, right = there.frames()
    refused = refusal(weft.interval_join(left, right.withColumn("new", F.lit(1)), **SPEC), there.checkpoint)
    assert "StateError" in refused
    assert "new (int32)" in refused


def test_another_number_of_inputs_is_refused(begun: Begun) -> None:
    there = begun.again()
    left, right = there.frames()
    more = read_folder(there.left, ROWS.schema)
    assert refusal(weft.interval_join([left, more], right, **SPEC), there.checkpoint)


def refusal(frame: DataFrame, checkpoint: Path) -> str:
    """Run a query that must not start; return what it said, nothing having been emitted."""
    tables: dict[int, pa.Table] = {}
    with pytest.raises(StreamingQueryException) as caught:
        Run(frame, checkpoint, tables)
    assert sum(table.num_rows for table in tables.values()) == 0
    return said(caught.value)


# --- what may -----------------------------------------------------------------------------------------

ALLOWED: dict[str, dict[str, Any]] = {
    "lateness": {"lateness": (5, 0)},
    "late": {"late": "fail", "lateness": 20},
    "idle": {"idle": 10},
    "another spelling": {"on": ["key"], "time": None, "left_time": "ts", "right_time": "ts"},
    "the shards said": {"replicas": 2},
    "one list": {"left": "a list of one"},
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_may_change_changes_without_a_word(begun: Begun, name: str) -> None:
    there = begun.again()
    left, right = there.frames()
    changes = {key: value for key, value in ALLOWED[name].items() if key != "left"}
    start: Any = [left] if "left" in ALLOWED[name] else left
    if name == "late":  # rows of the second batch are late by the watermark of the first, which stays
        assert "late by" in refusal(weft.interval_join(start, right, **(SPEC | changes)), there.checkpoint)
        return
    run = Run(weft.interval_join(start, right, **(SPEC | changes)), there.checkpoint)
    assert sorted(run.tables) == [1]
    assert run.late() == (5, 5)  # below 7 - 2, the watermark of the first batch


def test_columns_that_the_result_does_not_hold_may_come_and_go() -> None:
    folders, checkpoint = (new_folder(), new_folder()), new_folder()
    narrow = SPEC | {"columns": ["id", "id_right"]}
    for folder in folders:
        add_files(folder, [ROWS])
    first = Run(weft.interval_join(*_both(folders), **narrow), checkpoint)
    for folder in folders:
        add_files(folder, [ROWS.set_column(3, "ts", pa.array(range(8, 16), pa.int64()))])
    wider = [frame.withColumn("new", F.lit(1)).drop("p") for frame in _both(folders)]
    second = Run(weft.interval_join(*wider, **narrow), checkpoint)
    twice = pa.concat_tables([ROWS, ROWS.set_column(3, "ts", pa.array(range(8, 16), pa.int64()))])
    whole = weft.interval_join(twice, twice, **narrow)
    got = pa.concat_tables([first.table(), second.table()])
    assert multiset(rows_of(got)) == multiset(rows_of(whole))


def _both(folders: tuple[Path, Path]) -> list[DataFrame]:
    return [read_folder(folder, ROWS.schema) for folder in folders]

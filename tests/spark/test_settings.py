"""What a session may be set to: partitions, adaptive plans, ANSI, time zones, sizes of batches, case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import weft
from tests.support.cases import Case, side_of
from tests.support.rows import multiset, rows_of
from tests.support.spark import Run, settings, stream_frame, table_frame

SECOND = 10**9
COUNT = 60
UTC = pa.timestamp("us", "UTC")


def side(start: int = 0) -> pa.Table:
    """Return rows around the night in which New York sets its clocks back, a few minutes apart."""
    first = 1_667_703_600_000_000  # 2022-11-06 03:00 UTC
    times = [first + (start + at) * 300 * 10**6 for at in range(COUNT)]
    return pa.table(
        {
            "id": pa.array(range(start, start + COUNT), pa.int64()),
            "key": pa.array([f"k{at % 5}" for at in range(start, start + COUNT)]),
            "ts": pa.array(times, UTC),
            "local": pa.array(times, pa.timestamp("us")),
            "day": pa.array([at // 10 for at in range(COUNT)], pa.date32()),
            "deep": pa.array([{"at": time, "all": [time]} for time in times], DEEP),
        }
    )


DEEP = pa.struct([("at", UTC), ("all", pa.list_(UTC))])
SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": "-30 min", "upper": "1 hour"}


def case_of(left: pa.Table, right: pa.Table) -> Case:
    """Return what the two sides have to give."""
    return Case(side_of(left), side_of(right), -1800 * SECOND, 3600 * SECOND)


def on_tables(left: pa.Table, right: pa.Table, **more: Any) -> pa.Table:
    """Join two tables."""
    return weft.interval_join(table_frame(left), table_frame(right), **(SPEC | more)).toArrow()


def on_streams(left: pa.Table, right: pa.Table, cut: int = 25, **more: Any) -> pa.Table:
    """Join two streams of two batches each, cut after some rows."""
    frames = [
        stream_frame([table.slice(0, cut), table.slice(cut)][: 1 + (cut < COUNT)]) for table in (left, right)
    ]
    run = Run(weft.interval_join(*frames, **(SPEC | {"lateness": "1 min"} | more)))
    assert run.late() == (0, 0)
    return run.table()


BOTH = pytest.mark.parametrize("join", [on_tables, on_streams], ids=["tables", "streams"])
PLAIN = ["id", "key", "ts"]


def plain_sides() -> tuple[pa.Table, pa.Table]:
    """Return two sides of plain columns."""
    return side().select(PLAIN), side(3).select(PLAIN)


def assert_same(join: Any, conf: Mapping[str, object], **more: Any) -> None:
    """Claim that a setting changes nothing."""
    left, right = plain_sides()
    with settings(conf):
        result = join(left, right, **more)
    assert multiset(rows_of(result)) == multiset(case_of(left, right).expected())


@BOTH
@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_any_number_of_partitions_gives_the_same(join: Any, partitions: int) -> None:
    assert_same(join, {"spark.sql.shuffle.partitions": partitions})


@BOTH
@pytest.mark.parametrize("replicas", [1, 7])
def test_shards_need_not_be_as_many_as_partitions(join: Any, replicas: int) -> None:
    assert_same(join, {}, replicas=replicas)


def test_two_hundred_partitions_give_the_same() -> None:
    conf = {"spark.sql.shuffle.partitions": 200}
    assert_same(on_tables, conf)
    assert_same(on_streams, conf, cut=COUNT)  # one batch: two hundred tasks take their time


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("replicas", [None, 5])
def test_adaptive_plans_give_the_same(adaptive: str, replicas: int | None) -> None:
    assert_same(on_tables, {"spark.sql.adaptive.enabled": adaptive}, replicas=replicas)


@BOTH
def test_ansi_is_not_leaned_on(join: Any) -> None:
    assert_same(join, {"spark.sql.ansi.enabled": "false"})


def test_streams_do_not_lean_on_adaptive_plans() -> None:
    assert_same(on_streams, {"spark.sql.adaptive.enabled": "false"})


@BOTH
@pytest.mark.parametrize("size", [7, 1])
def test_the_size_of_arrow_batches_does_not_matter(join: Any, size: int) -> None:
    assert_same(join, {"spark.sql.execution.arrow.maxRecordsPerBatch": size})


@BOTH
def test_large_text_in_udfs_does_not_matter(join: Any) -> None:
    assert_same(join, {"spark.sql.execution.arrow.useLargeVarTypes": "true"})


@BOTH
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_times_are_instants_in_any_zone(join: Any, zone: str) -> None:
    left, right = side(), side(3)
    with settings({"spark.sql.session.timeZone": zone}):
        result = join(left, right)
    assert multiset(instants(result)) == multiset(instants(in_memory(left, right)))


@BOTH
def test_local_times_have_no_zone_in_any_zone(join: Any) -> None:
    left, right = side().drop_columns("deep"), side(3).drop_columns("deep")
    with settings({"spark.sql.session.timeZone": "America/New_York"}):
        result = join(left, right, time="local")
    assert multiset(rows_of(result)) == multiset(rows_of(in_memory(left, right, time="local")))


@BOTH
def test_a_time_may_be_a_key_in_any_zone(join: Any) -> None:
    left, right = plain_sides()
    with settings({"spark.sql.session.timeZone": "Asia/Kolkata"}):
        result = join(left, right, on=["key", "ts"])
    assert multiset(rows_of(result)) == multiset(rows_of(in_memory(left, right, on=["key", "ts"])))


def in_memory(left: pa.Table, right: pa.Table, **more: Any) -> pa.Table:
    """Return what one process gives."""
    return weft.interval_join(left, right, **(SPEC | more))


def instants(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows whose times, nested ones too, are instants."""
    nested = pa.struct([("at", pa.int64()), ("all", pa.list_(pa.int64()))])
    for at, field in enumerate(table.schema):
        if pa.types.is_struct(field.type):
            table = table.set_column(at, field.name, table[field.name].cast(nested))
    return rows_of(table)


# --- names --------------------------------------------------------------------------------------------


def named(**names: str) -> DataFrame:
    """Return a table whose columns have these names."""
    rows = pa.table({"id": [1, 2], "user": ["a", "b"], "ts": [10, 20]})
    return table_frame(rows.rename_columns([names.get(name, name) for name in rows.column_names]))


def test_names_are_found_whatever_their_case() -> None:
    joined = weft.interval_join(named(), named(), on="USER", time="Ts", lower=0, upper=0)
    assert joined.columns == ["id", "user", "ts", "id_right", "ts_right"]
    assert joined.count() == 2
    some = weft.interval_join(
        named(), named(), on="USER", time="Ts", lower=0, upper=0, columns=["ID", "Id_Right"]
    )
    assert [name.lower() for name in some.columns] == ["id", "id_right"]
    assert sorted(map(tuple, some.collect())) == [(1, 1), (2, 2)]


def test_names_that_differ_in_case_alone_clash_and_get_suffixes() -> None:
    joined = weft.interval_join(named(id="ID"), named(), on="user", time="ts", lower=0, upper=0)
    assert joined.columns == ["ID", "user", "ts", "id_right", "ts_right"]
    assert sorted(map(tuple, joined.select("id", "id_right").collect())) == [(1, 1), (2, 2)]


def test_a_key_may_be_written_in_another_case_on_each_side() -> None:
    joined = weft.interval_join(
        named(user="User"), named(user="USER"), on="user", time="ts", lower=0, upper=0
    )
    assert joined.columns == ["id", "User", "ts", "id_right", "ts_right"]
    assert joined.count() == 2


def test_where_case_counts_names_are_taken_as_they_are() -> None:
    with settings({"spark.sql.caseSensitive": "true"}):
        with pytest.raises(weft.errors.ColumnError, match='"USER"'):
            weft.interval_join(named(), named(), on="USER", time="ts", lower=0, upper=0)
        joined = weft.interval_join(named(id="ID"), named(), on="user", time="ts", lower=0, upper=0)
        assert joined.columns == ["ID", "user", "ts", "id", "ts_right"]
        assert sorted(map(tuple, joined.select("ID", "id").collect())) == [(1, 1), (2, 2)]


@pytest.mark.parametrize("name", ["a.b", "with space", "tick`s", "é", "id.", "1", "select"])
def test_a_name_may_be_anything(name: str) -> None:
    joined = weft.interval_join(named(user=name), named(user=name), on=name, time="ts", lower=0, upper=0)
    assert joined.columns[1] == name
    assert joined.count() == 2


def test_names_that_need_quotes_get_into_no_ones_way() -> None:
    frame = named(user="a.b", id="c1", ts="c0")  # as weft might call them on the way
    joined = weft.interval_join(frame, frame, on="a.b", time="c0", lower=0, upper=0)
    assert joined.columns == ["c1", "a.b", "c0", "c1_right", "c0_right"]
    assert sorted(map(tuple, joined.collect())) == [(1, "a", 10, 1, 10), (2, "b", 20, 2, 20)]

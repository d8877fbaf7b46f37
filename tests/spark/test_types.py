"""Columns of every type that Spark knows: carried as they are, or refused by name at the call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import weft
from tests.support.spark import settings, stream_frame, table_frame

COUNT = 7
SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": 0, "upper": 0}
ROWS = pa.table(
    {
        "id": pa.array(range(COUNT), pa.int64()),
        "key": pa.array([at % 2 for at in range(COUNT)], pa.int64()),
        "ts": pa.array(range(COUNT), pa.int64()),
    }
)

# Each is an expression over `id`; every third row is null.
PLAIN = {
    "byte": "CAST(id - 3 AS TINYINT)",
    "short": "CAST(id - 3 AS SMALLINT)",
    "int": "CAST(id - 3 AS INT)",
    "long": "(id - 3) * 1317624576693539401",
    "float": "CAST(id / 3 AS FLOAT)",
    "double": "CASE WHEN id = 1 THEN double('NaN') WHEN id = 2 THEN double('-Infinity') ELSE id / 7 END",
    "decimal": "CAST(id AS DECIMAL(38, 18)) / 3",
    "small_decimal": "CAST(id AS DECIMAL(5, 2))",
    "string": "repeat(concat('é', id), id * 10)",
    "char": "CAST(concat('c', id) AS CHAR(5))",
    "varchar": "CAST(concat('v', id) AS VARCHAR(5))",
    "collated": "concat('A', id) COLLATE UTF8_LCASE",
    "binary": "CAST(repeat(chr(CAST(id AS INT)), id) AS BINARY)",
    "boolean": "id % 2 = 0",
    "date": "date_add(DATE'1582-10-10', CAST(id AS INT) * 100000)",
    "timestamp": "timestamp_micros((id - 3) * 123456789012345)",
    "ntz": "TIMESTAMP_NTZ'0001-01-01 00:00:00' + make_dt_interval(id * 100000, 0, 0, 0.000001)",
    "day_time": "make_dt_interval(id, 1, 2, -3.000004)",
    "hours": "CAST(make_dt_interval(0, id) AS INTERVAL HOUR)",
    "time": "TIME'12:34:56.123456'",
    "void": "NULL",
}
NESTED = {
    "array": "array(id, NULL, id + 1)",
    "empty": "CASE WHEN id = 1 THEN array() ELSE array(NULL) END",
    "map": "map(concat('k', id), id, 'other', NULL)",
    "struct": "named_struct('a', id, 'b', CASE WHEN id > 3 THEN 'x' END, 'at', timestamp_micros(id))",
    "structs": "array(named_struct('a', array(id), 'b', map(id, named_struct('c', date'2020-01-01'))), NULL)",
    "times": "map('at', array(TIMESTAMP_NTZ'2020-01-01 00:00:00'))",
    "intervals": "array(make_dt_interval(id, 1))",
    "decimals": "array(CAST(id AS DECIMAL(30, 5)))",
    "variant": "parse_json(concat('{\"a\": [', id, ', \"x\"]}'))",
    "variants": "array(parse_json(CAST(id AS STRING)))",
    "void_inside": "named_struct('nothing', NULL, 'a', id)",
}
REFUSED = {
    "year_month": ("make_ym_interval(1, 2)", "interval year to month"),
    "calendar": ("make_interval(1, 2, 3)", "interval"),
    "years": ("array(make_ym_interval(1, 2))", "array<interval year to month>"),
    "calendars": ("named_struct('a', make_interval(1))", "struct<a:interval>"),
}


@pytest.fixture(autouse=True, scope="module")
def times_of_day() -> Iterator[None]:
    """Let Spark know the type TIME, which it does not yet by itself."""
    with settings({"spark.sql.timeType.enabled": "true"}):
        yield


def with_columns(frame: DataFrame, kinds: dict[str, str]) -> DataFrame:
    """Add a column of each type; the first row and every third has a null there."""
    added = [F.expr(f"CASE WHEN id % 3 > 0 THEN {text} END").alias(name) for name, text in kinds.items()]
    return frame.select("*", *added)


def doubled(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return what a join of a frame with itself has to give: each row beside itself."""
    return frame.select("*", *(F.col(name).alias(f"{name}_right") for name in names))


def comparable(frame: DataFrame) -> DataFrame:
    """Return a frame whose columns can be compared: variants as text, and all as Spark shows them."""
    return frame.selectExpr(*(_text(field) for field in frame.schema))


def _text(field: Any) -> str:
    kind = field.dataType.simpleString()
    return f"to_json({field.name}) AS {field.name}" if kind == "variant" else field.name


def assert_carried(got: DataFrame, expected: DataFrame) -> None:
    """Claim that columns, types and values are those expected, in any order of the rows."""
    assert [(field.name, field.dataType) for field in got.schema] == [
        (field.name, field.dataType) for field in expected.schema
    ]
    one, two = (sorted(map(repr, comparable(frame).collect())) for frame in (got, expected))
    assert one == two


@pytest.mark.parametrize("kinds", [PLAIN, PLAIN | NESTED], ids=["plain", "nested"])
def test_tables_carry_columns_of_every_type_unchanged(kinds: dict[str, str]) -> None:
    frame = with_columns(table_frame(ROWS), kinds)
    joined = weft.interval_join(frame, frame, **SPEC)
    assert_carried(joined, doubled(frame, ["id", "ts", *kinds]))


@pytest.mark.parametrize("kinds", [PLAIN, PLAIN | NESTED], ids=["plain", "nested"])
def test_streams_carry_columns_of_every_type_unchanged(spark: SparkSession, kinds: dict[str, str]) -> None:
    # The right rows come a batch later than the left ones: those go through the state and back.
    left = with_columns(stream_frame([ROWS, ROWS.slice(0, 0)]), kinds)
    right = with_columns(stream_frame([ROWS.slice(0, 0), ROWS]), kinds)
    joined = weft.interval_join(left, right, **SPEC, lateness=10)
    writer = joined.writeStream.format("memory").queryName("weft_types").trigger(availableNow=True)
    writer.start().awaitTermination()
    table = with_columns(table_frame(ROWS), kinds)
    assert_carried(spark.table("weft_types"), doubled(table, ["id", "ts", *kinds]))
    spark.catalog.dropTempView("weft_types")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("streaming", [False, True], ids=["tables", "streams"])
def test_a_type_that_does_not_travel_is_refused_by_name(name: str, streaming: bool) -> None:
    text, kind = REFUSED[name]
    frame = stream_frame([ROWS]) if streaming else table_frame(ROWS)
    wide = frame.select("*", F.expr(text).alias("p"))
    more = {"lateness": 0} if streaming else {}
    with pytest.raises(weft.errors.InputError, match="travels by Arrow") as caught:
        weft.interval_join(frame, wide, **SPEC, **more)
    assert f'right "p" ({kind})' in str(caught.value)
    narrow = weft.interval_join(frame, wide, **SPEC, **more, columns=["id", "id_right"])
    assert narrow.columns == ["id", "id_right"]
    if not streaming:
        assert narrow.count() == COUNT


def test_a_key_with_a_collation_of_its_own_is_refused() -> None:
    frame = table_frame(ROWS).withColumn("word", F.expr("'a' COLLATE UTF8_LCASE"))
    with pytest.raises(weft.errors.InputError, match="UTF8_LCASE"):
        weft.interval_join(frame, frame, **(SPEC | {"on": "word"}))


def test_char_and_varchar_that_keep_their_length_are_text_in_the_result() -> None:
    with settings({"spark.sql.preserveCharVarcharTypeInfo": "true"}):
        frame = with_columns(table_frame(ROWS), {"c": "CAST('a' AS CHAR(5))", "v": "CAST('b' AS VARCHAR(5))"})
        joined = weft.interval_join(frame, frame, **SPEC)
        text = frame.withColumns({name: F.col(name).cast("string") for name in ("c", "v")})
        assert_carried(joined, doubled(text, ["id", "ts", "c", "v"]))


KEYS = ("byte", "short", "int", "long", "decimal", "string", "char", "varchar", "binary", "boolean", "date")
KEYS += ("timestamp", "ntz")


@pytest.mark.parametrize("names", [KEYS[:6], KEYS[6:]], ids=["numbers", "the rest"])
def test_every_type_that_may_be_a_key_is_one(names: tuple[str, ...]) -> None:
    frame = with_columns(table_frame(ROWS), {name: PLAIN[name] for name in names}).select("id", "ts", *names)
    joined = weft.interval_join(frame, frame, on=[*names], time="ts", lower=0, upper=0)
    assert sorted(map(tuple, joined.select("id", "id_right").collect())) == [
        (at, at) for at in range(COUNT) if at % 3
    ]


@pytest.mark.parametrize("name", ["float", "double", "day_time", "time", "array", "struct", "map", "variant"])
def test_a_type_that_is_no_key_is_refused_by_name(name: str) -> None:
    frame = with_columns(table_frame(ROWS), {"p": (PLAIN | NESTED)[name]})
    with pytest.raises(weft.errors.InputError, match="a key in `on` must be"):
        weft.interval_join(frame, frame, **(SPEC | {"on": "p"}))


def test_widths_of_integers_and_scales_of_decimals_meet_by_value() -> None:
    left = table_frame(ROWS).select("id", "ts", F.col("key").cast("byte").alias("key"))
    right = table_frame(ROWS).select("id", "ts", F.col("key").cast("long").alias("key"))
    assert weft.interval_join(left, right, **SPEC).count() == COUNT
    small, large = (
        table_frame(ROWS).select("id", "ts", F.expr(f"CAST(key + 0.5 AS DECIMAL({kind})) AS key"))
        for kind in ("5, 1", "38, 18")
    )
    assert weft.interval_join(small, large, **SPEC).count() == COUNT


def test_columns_without_rows_have_their_types(spark: SparkSession) -> None:
    frame = with_columns(table_frame(ROWS), PLAIN | NESTED)
    none = weft.interval_join(frame, frame.where("false"), **SPEC)
    assert_carried(none, doubled(frame, ["id", "ts", *PLAIN, *NESTED]).where("false"))
    assert none.count() == 0

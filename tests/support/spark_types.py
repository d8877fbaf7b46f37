"""Cases in Spark's types: translated where Spark has an equal type and holds every value, else with a reason.

Spark has no unsigned numbers, no nanoseconds, one width of text, decimals of 38 digits, one kind of list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyarrow import types as pt

from tests.support.cases import Case, Side
from tests.support.families import Column, array_of, fits
from tests.support.rows import NS, tick_of, values_of

MOST_DIGITS = 38  # of Spark's decimals
WIDER = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "uint64": pa.int64()}
PLAIN = ("bool", "int8", "int16", "int32", "int64", "float", "double", "string", "binary", "null")


def spark_kind(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that Spark's equal of an Arrow type travels as; None where it has none."""
    if isinstance(kind, pa.BaseExtensionType):
        return spark_kind(kind.storage_type)
    if pt.is_dictionary(kind):
        return spark_kind(kind.value_type)
    if pt.is_nested(kind):
        return _nested(kind)
    return kind if str(kind) in PLAIN else next((to(kind) for test, to in EQUAL if test(kind)), None)


def _decimal(kind: pa.DataType) -> pa.DataType | None:
    digits = min(kind.precision, MOST_DIGITS)
    return pa.decimal128(digits, kind.scale) if 0 <= kind.scale <= digits else None


def _is_text(kind: pa.DataType) -> bool:
    return pt.is_large_string(kind) or pt.is_string_view(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return pt.is_large_binary(kind) or pt.is_binary_view(kind) or pt.is_fixed_size_binary(kind)


EQUAL: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], pa.DataType | None]], ...] = (
    (pt.is_unsigned_integer, lambda kind: WIDER[str(kind)]),
    (pt.is_float16, lambda _: pa.float32()),
    (pt.is_decimal, _decimal),
    (pt.is_timestamp, lambda kind: pa.timestamp("us", "UTC" if kind.tz else None)),
    (pt.is_date, lambda _: pa.date32()),
    (pt.is_time, lambda _: pa.time64("ns")),
    (pt.is_duration, lambda _: pa.duration("us")),
    (_is_text, lambda _: pa.string()),
    (_is_bytes, lambda _: pa.binary()),
)


def _nested(kind: pa.DataType) -> pa.DataType | None:
    if pt.is_struct(kind):
        parts = [(field.name, spark_kind(field.type)) for field in kind]
        return pa.struct(parts) if all(part for _, part in parts) else None
    if pt.is_map(kind):
        key, item = spark_kind(kind.key_type), spark_kind(kind.item_type)
        return pa.map_(key, item) if key and item else None
    item = spark_kind(kind.value_type) if hasattr(kind, "value_type") else None
    return pa.list_(pa.field("element", item)) if item else None


def spark_can(case: Case) -> str | None:
    """Say why Spark cannot hold the columns of a case; None where it can."""
    for side in (case.left, case.right):
        for name, column in side.columns.items():
            kind = spark_kind(column.kind)
            if kind is None:
                return f"Spark has no equal of {column.kind}"
            value = next((one for one in _values(column) if not fits(kind, one)), None)
            if value is not None:
                return f"Spark's {kind} does not hold {value!r} of {name} {column.kind}"
    return None


def in_spark_types(case: Case) -> Case:
    """Return a case that Spark can hold, in the types it has there."""
    return _changed(case, lambda column: Column(_kind(column), _values(column)))


def snapped(case: Case) -> Case:
    """Return the case that is nearest to one among those that Spark can hold: for cases drawn by chance."""
    return _changed(case, _snapped)


def _changed(case: Case, change: Callable[[Column], Column]) -> Case:
    left, right = (
        Side({name: change(column) for name, column in side.columns.items()})
        for side in (case.left, case.right)
    )
    return replace(case, left=left, right=right)


def _kind(column: Column) -> pa.DataType:
    kind = spark_kind(column.kind)
    assert kind is not None
    return kind


def _values(column: Column) -> Sequence[Any]:
    """Return a column's values as its equal in Spark takes them: times of day count nanoseconds there."""
    if not pt.is_time(column.kind):
        return column.values
    tick = NS[column.kind.unit]
    return [None if value is None else value * tick for value in column.values]


def _snapped(column: Column) -> Column:
    kind = spark_kind(column.kind)
    if kind is None:
        return Column(pa.string(), [None if value is None else repr(value) for value in column.values])
    values = [value if fits(kind, value) else _near(kind, value) for value in _values(column)]
    return Column(kind, values)


def _near(kind: pa.DataType, value: Any) -> Any:
    if pt.is_timestamp(kind) or pt.is_duration(kind):
        tick = tick_of(kind)
        return min(max(value // tick, -(2**63)), 2**63 - 1) * tick
    return min(max(value, -(2**63)), 2**63 - 1) if pt.is_integer(kind) else None


def as_told(case: Case, result: pa.Table) -> pa.Table:
    """Return a result from Spark in the types that the case itself has."""
    columns = [_back(column, kind) for column, (_, kind) in zip(result.columns, case.fields(), strict=True)]
    return pa.table(columns, schema=pa.schema(case.fields()))


def _back(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    plain = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if pt.is_time(plain):
        tick = NS[plain.unit]
        values = [None if one is None else one // tick for one in column.cast(pa.int64()).to_pylist()]
    elif pt.is_timestamp(plain) or pt.is_date(plain) or pt.is_duration(plain):
        values = values_of(column)
    else:
        values = column.to_pylist()
    return array_of(kind, values)

"""Arrow tables as plain Python rows of exact, comparable values: what the oracle reads, what tests compare.

Timestamps and dates become integers of nanoseconds, so that columns of unlike units compare exactly and no
value is out of range for Python. Types are lost here on purpose; `schema_of_result` in the oracle speaks of
them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY_NS = 86_400 * 10**9


def tick_of(kind: pa.DataType) -> int:
    """Nanoseconds in one stored integer of a timestamp or a date; 1 for anything else."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return NS[kind.unit]
    if pa.types.is_date32(kind):
        return DAY_NS
    return 10**6 if pa.types.is_date64(kind) else 1


def values_of(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column's values, exact and hashable, None for nulls."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in values_of(chunk)]
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return values_of(column.storage)
    if pa.types.is_dictionary(kind):
        words = values_of(column.dictionary)
        return [None if at is None else words[at] for at in column.indices.to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind):
        tick = tick_of(kind)
        return [None if at is None else at * tick for at in _stored_integers(column)]
    return [_frozen(value) for value in column.to_pylist()]


def _stored_integers(column: pa.Array) -> list[int | None]:
    wide = column.type.bit_width == 64
    stored: list[int | None] = column.view(pa.int64() if wide else pa.int32()).to_pylist()
    return stored


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _frozen(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(_frozen(part) for part in value)
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def rows_of(table: pa.Table) -> list[Row]:
    """Return the rows of a table, in order."""
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def multiset(rows: Sequence[Row]) -> Counter[tuple[Any, ...]]:
    """Return the rows as a multiset: what is left of a result when its order is forgotten."""
    return Counter(tuple(row.items()) for row in rows)


def pairs_of(table: pa.Table, left: str = "id", right: str = "id_right") -> Counter[tuple[Any, Any]]:
    """Return a result as the multiset of the pairs of row names in it."""
    if not table.column_names:
        return Counter()
    return Counter(zip(values_of(table[left]), values_of(table[right]), strict=True))

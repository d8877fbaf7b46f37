"""A pushed batch whose values leave a type open, in the type the stream has for it.

A pandas column of nothing but None has no type of its own, decimals as objects have as many digits as their
batch needs, and text is `string` or `large_string` as the version of pandas decides.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as of


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table with its columns in the schema's types where that keeps every value."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        at = schema.get_field_index(name)
        columns[name] = column if at < 0 else _cast(column, schema.field(at).type)
    return pa.table(columns)


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if column.type == wanted or not is_open(column.type, wanted):
        return column
    try:
        return column.cast(wanted)
    except pa.ArrowException:  # the caller says how the schemas differ
        return column


def is_open(got: pa.DataType, wanted: pa.DataType) -> bool:
    """Say whether `got` comes only from the values or library at hand, so that `wanted` is as good."""
    if of.is_null(got) or got == wanted:
        return True
    if of.is_decimal(got):
        return of.is_decimal(wanted) and _fits(got, wanted)
    if of.is_dictionary(got):
        alike = of.is_dictionary(wanted) and got.ordered == wanted.ordered
        return alike and is_open(got.value_type, wanted.value_type)
    if _is_list(got):
        return _is_list(wanted) and is_open(got.value_type, wanted.value_type)
    return any(of_kind(got) and of_kind(wanted) for of_kind in (_is_text, _is_binary))


def _fits(got: pa.DataType, wanted: pa.DataType) -> bool:
    more_digits = wanted.precision - wanted.scale >= got.precision - got.scale
    return bool(more_digits and wanted.scale >= got.scale)


def _is_list(kind: pa.DataType) -> bool:
    return bool(of.is_list(kind) or of.is_large_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(of.is_binary(kind) or of.is_large_binary(kind) or of.is_binary_view(kind))

"""How columns of every type are stored: as plain types that can be moved and joined, and back again.

Extension types are stored as their storage, run ends as their values, views as large text, dictionaries with
wide indices (those of several batches are unified); dictionaries of nested values, and those inside nested
types, as their values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from weft.columns import compacted
from weft.edge.encodings import described
from weft.errors import InputError

if TYPE_CHECKING:
    from weft.types import Side

VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
WIDE_INDEX = pa.int64()
REFUSED = (pa.ArrowException, TypeError, KeyError, ValueError)  # Arrow's answers to what it cannot move


class TooLongError(Exception):
    """A result needs more than a column's own offsets, indices or run ends can reach: cut it."""


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type that is stored for a column of type `kind`."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain(kind.storage_type)
    if pt.is_run_end_encoded(kind):
        return plain(kind.value_type)
    if pt.is_dictionary(kind):
        words = plain(kind.value_type)
        mixed = pt.is_nested(words) or pt.is_dictionary(words)
        return words if mixed else pa.dictionary(WIDE_INDEX, words, kind.ordered)
    return _plain_nested(kind) if pt.is_nested(kind) else VIEWS.get(kind, kind)


def _inner(field: pa.Field) -> pa.Field:
    """Return a field inside a nested type as it is stored."""
    kind = plain(field.type)
    return field.with_type(kind.value_type if pt.is_dictionary(kind) else kind)


def _plain_nested(kind: pa.DataType) -> pa.DataType:
    if pt.is_struct(kind):
        return pa.struct([_inner(field) for field in kind])
    if pt.is_map(kind):
        return pa.map_(_inner(kind.key_field), _inner(kind.item_field), keys_sorted=kind.keys_sorted)
    if pt.is_fixed_size_list(kind):
        return pa.list_(_inner(kind.value_field), kind.list_size)
    lists = ((pt.is_list, pa.list_), (pt.is_large_list, pa.large_list))
    return next((make(_inner(kind.value_field)) for test, make in lists if test(kind)), kind)


def stored(array: pa.Array) -> pa.Array:
    """Return an array as its plain type."""
    kind = plain(array.type)
    if isinstance(array, pa.ExtensionArray):
        return stored(array.storage)
    if pt.is_run_end_encoded(array.type):
        ends = np.asarray(array.run_ends)
        places = np.searchsorted(ends, np.arange(array.offset, array.offset + len(array)), side="right")
        return stored(array.values).take(pa.array(places))
    if isinstance(array, pa.DictionaryArray):
        return _widened(array, kind)
    return array if array.type == kind else array.cast(kind)


def _widened(array: pa.DictionaryArray, kind: pa.DataType) -> pa.Array:
    words, indices = stored(array.dictionary), array.indices.cast(WIDE_INDEX)
    if kind == words.type:  # words that Arrow cannot encode again
        return words.take(indices)
    if words.null_count:  # Arrow does not unify dictionaries in which a word is null
        encoded = words.dictionary_encode()
        words, indices = encoded.dictionary, encoded.indices.cast(WIDE_INDEX).take(indices)
    return pa.DictionaryArray.from_arrays(indices, words, ordered=kind.ordered)


def restored(array: Any, kind: pa.DataType) -> Any:
    """Give an array of the plain type the column's own type again."""
    if array.type == kind:
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([restored(chunk, kind) for chunk in array.chunks], type=kind)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, restored(array, kind.storage_type))
    if pt.is_run_end_encoded(kind):
        return _run_ends(array, kind)
    if not pt.is_dictionary(kind):
        return array.cast(kind)
    return _narrowed(array if pt.is_dictionary(array.type) else _each_its_own(array), kind)


def _each_its_own(array: pa.Array) -> pa.DictionaryArray:
    """Make a word of every value: Arrow does not encode nested ones."""
    numbers = pa.array(np.arange(len(array)), mask=np.asarray(array.is_null()))
    return pa.DictionaryArray.from_arrays(numbers, array)


def _run_ends(array: pa.Array, kind: pa.RunEndEncodedType) -> pa.Array:
    if len(array) >= 2 ** (kind.run_end_type.bit_width - 1):
        raise TooLongError
    encoded = pc.run_end_encode(array, run_end_type=kind.run_end_type)
    return pa.RunEndEncodedArray.from_arrays(
        encoded.run_ends, restored(encoded.values, kind.value_type), kind
    )


def _narrowed(array: pa.DictionaryArray, kind: pa.DictionaryType) -> pa.DictionaryArray:
    """Give a dictionary its own index type again; where too many words are used for it, the result is cut."""
    if len(array.dictionary) > 2 ** (kind.index_type.bit_width - 1):
        array = compacted(array, spare=0)
    try:
        indices = array.indices.cast(kind.index_type)
    except pa.ArrowInvalid as error:
        raise TooLongError from error
    return pa.DictionaryArray.from_arrays(
        indices, restored(array.dictionary, kind.value_type), ordered=kind.ordered
    )


def stored_table(table: pa.Table) -> pa.Table:
    """Return a table with every column as its plain type."""
    columns = [
        pa.chunked_array([stored(chunk) for chunk in column.chunks], plain(column.type))
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def restored_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give a table of plain types its own types again."""
    columns = [restored(column, kind) for column, kind in zip(table.columns, schema.types, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def check_carried(side: Side, field: pa.Field) -> None:
    """Refuse a payload column of a type that cannot be moved: Arrow itself has no way for a few."""
    try:
        one = pa.nulls(1, plain(field.type)).take(pa.array([0]))
        stored(restored(one, field.type))
    except REFUSED as error:
        message = f"a column must be of a type that Arrow can gather; got {described(side, field)}."
        hint = "cast it to a plainer type, or keep other columns with columns=[...]"
        raise InputError(message, hint) from error

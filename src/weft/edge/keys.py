"""Key columns to comparable codes: equal keys have equal codes, in any encoding, width, scale or unit.

One column of whole numbers is a word a row; everything else is bytes: text as it is, several columns as
eight bytes for each number, and length and bytes for each text. A null in any column leaves a row no key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from weft.columns import WORD
from weft.edge.encodings import UNIT_NS
from weft.edge.families import MOST_DIGITS, KeyFamily
from weft.edge.payload import read
from weft.edge.stored import stored
from weft.kernels.hashing import write_text, write_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.columns import Bytes, Cells, Rows, Text

SMALL_DECIMAL = 18  # digits that fit a word
DAY_MS = 86_400_000

Flags: TypeAlias = npt.NDArray[np.bool_]
ArrowColumn: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True, slots=True)
class Codes:
    """A code for each row: words, or offsets and bytes. `valid` is None where every row has one."""

    values: Rows
    data: Bytes | None
    valid: Flags | None

    def __len__(self) -> int:
        return self.values.size - (self.data is not None)


def as_words(families: Sequence[KeyFamily]) -> bool:
    """Tell whether the codes of these keys are words."""
    return len(families) == 1 and _is_word(families[0])


def _is_word(family: KeyFamily) -> bool:
    if family.kind == "decimal":
        return family.precision <= SMALL_DECIMAL
    return family.kind not in ("string", "binary")


def key_codes(columns: Sequence[ArrowColumn], families: Sequence[KeyFamily]) -> Codes:
    """Return the codes of the rows of one side's key columns."""
    each = [column_codes(column, family) for column, family in zip(columns, families, strict=True)]
    return each[0] if len(each) == 1 else _composed(each)


def column_codes(column: ArrowColumn, family: KeyFamily) -> Codes:
    """Return the codes of one key column."""
    if not isinstance(column, pa.ChunkedArray):
        return _codes_of(plain_array(column), family)
    if column.num_chunks == 1:
        return _codes_of(plain_array(column.chunk(0)), family)
    chunks = column.chunks or [pa.nulls(0, column.type)]
    return _concat([_codes_of(plain_array(chunk), family) for chunk in chunks])


def plain_array(array: pa.Array) -> pa.Array:
    """Return an array without extension types, run ends, dictionaries."""
    if isinstance(array, pa.ExtensionArray):
        return plain_array(array.storage)
    if isinstance(array, pa.DictionaryArray):
        return plain_array(array.dictionary_decode())
    return plain_array(stored(array)) if pt.is_run_end_encoded(array.type) else array


def _codes_of(array: pa.Array, family: KeyFamily) -> Codes:
    if pt.is_null(array.type):
        array = pa.nulls(len(array), pa.int64() if _is_word(family) else pa.large_binary())
    elif family.kind == "decimal":
        return _decimal_codes(array, family)
    if not _is_word(family):
        return _text_codes(array)
    values, valid = whole_numbers(array)
    if pt.is_timestamp(array.type):
        values, valid = _scaled(values, valid, UNIT_NS[array.type.unit] // family.tick)
    elif pt.is_date64(array.type):
        values = values // DAY_MS
    elif pt.is_uint64(array.type) and not family.unsigned:
        valid = both(valid, values >= 0)  # above int64: equal to nothing that the other side can hold
    return Codes(values, None, valid)


def whole_numbers(array: pa.Array) -> tuple[Rows, Flags | None]:
    """Return the stored integers of a plain array as int64 (uint64 by its bits), and which rows have one."""
    cells = cast("Cells", read(array))
    signed = pt.is_signed_integer(array.type) or pt.is_temporal(array.type) or pt.is_decimal(array.type)
    kind = f"{'i' if signed or cells.width == WORD else 'u'}{cells.width}"
    values = cells.values.view(kind)
    return values if cells.width == WORD else values.astype(np.int64), _flags(cells.valid)


def _flags(valid: Bytes | None) -> Flags | None:
    return None if valid is None else valid.view(np.bool_)


def both(one: Flags | None, other: Flags | None) -> Flags | None:
    """Return where both hold; None stands for all rows."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _scaled(values: Rows, valid: Flags | None, factor: int) -> tuple[Rows, Flags | None]:
    """Multiply; what leaves int64 is equal to nothing that the finer side can hold."""
    if factor == 1:
        return values, valid
    most = int(np.iinfo(np.int64).max) // factor
    return values * factor, both(valid, (values <= most) & (values >= -most))


def _decimal_codes(array: pa.Array, family: KeyFamily) -> Codes:
    """Return decimals at the common scale: as words where they fit, else as 32 bytes."""
    if _is_word(family):
        cells = cast("Cells", read(array.cast(pa.decimal128(SMALL_DECIMAL, family.scale))))
        return Codes(np.ascontiguousarray(cells.values[::2]).view(np.int64), None, _flags(cells.valid))
    cells = cast("Cells", read(array.cast(pa.decimal256(MOST_DIGITS, family.scale))))
    return Codes(np.arange(len(array) + 1) * 32, cells.values.view(np.uint8), _flags(cells.valid))


def _text_codes(array: pa.Array) -> Codes:
    if pt.is_fixed_size_binary(array.type):
        array = array.cast(pa.large_binary())
    text = cast("Text", read(array))
    return Codes(text.offsets, text.data, _flags(text.valid))


def _concat(each: Sequence[Codes]) -> Codes:
    valid = None
    if any(codes.valid is not None for codes in each):
        valid = np.concatenate([np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in each])
    if each[0].data is None:
        return Codes(np.concatenate([codes.values for codes in each]), None, valid)
    data = [cast("Bytes", codes.data) for codes in each]
    starts = np.cumsum([0, *(part.size for part in data)])
    ends = [codes.values[1:] + start for codes, start in zip(each, starts, strict=False)]
    return Codes(np.concatenate([np.zeros(1, np.int64), *ends]), np.concatenate(data), valid)


def _composed(each: Sequence[Codes]) -> Codes:
    """Write the codes of several columns into one byte string a row, in which no two keys look alike."""
    valid: Flags | None = None
    sizes = np.full(len(each[0]), 8 * len(each), np.int64)
    for codes in each:
        valid = both(valid, codes.valid)
        if codes.data is not None:
            sizes += np.diff(codes.values)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    cursors, data = offsets[:-1].copy(), np.empty(int(offsets[-1]), np.uint8)
    for codes in each:
        if codes.data is None:
            write_words(codes.values, cursors, data)
        else:
            write_words(np.diff(codes.values), cursors, data)
            write_text(codes.values, codes.data, cursors, data)
    return Codes(offsets, data, valid)

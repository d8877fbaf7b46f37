"""From hits to a result table: each column is written once, as slices and splats, or gathered by Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from weft.columns import Cells, Column, Held, Rows, Text, chunks_of, compacted, joined
from weft.edge.payload import LARGE, layout, read, words
from weft.edge.stored import VIEWS, TooLongError, restored
from weft.indexes.pairs import Pairs, halved, row_numbers
from weft.kernels.fill import REPEAT, SPARE, gather, gather_wide, slices, splat, splat_wide
from weft.kernels.text import measure, size_of_slices, size_of_splats, text_rows, text_slices, text_splats
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.edge.binding import Binding

LONGEST = 2**31 - 1  # bytes of text that 32-bit offsets reach

C = TypeVar("C", bound=Column)
Part: TypeAlias = tuple[C, bool, Pairs]  # a column, whether it is the probe's, and its pairs


@dataclass(frozen=True, slots=True)
class OutColumn:
    """A column of the result: the side it comes from and its place among that side's payload."""

    side: Side
    place: int
    kind: pa.DataType


def rows_table(data: pa.Table | pa.RecordBatch, rows: Rows) -> pa.Table:
    """Return some rows of a table, of every type, also of those that Arrow's `take` refuses."""
    columns = tuple(read(data.column(place)) for place in range(data.num_columns))
    hits = np.zeros((rows.size, 3), np.int64)
    hits[:, 0], hits[:, 2] = rows, 1
    whole = [OutColumn("left", place, kind) for place, kind in enumerate(data.schema.types)]
    return result_table(data.schema, whole, [Pairs(hits.ravel(), rows.size, "left", columns, ())])


def out_columns(binding: Binding) -> tuple[OutColumn, ...]:
    """Return where each result column is found among its side's payload."""
    return tuple(
        OutColumn(side, binding.kept[SIDES.index(side)].index(place), kind)
        for (side, place), kind in zip(binding.output, binding.schema.types, strict=True)
    )


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table without rows; `schema.empty_table()` fails for unions and extensions inside structs."""
    return pa.Table.from_batches([], schema)


def result_table(schema: pa.Schema, columns: Sequence[OutColumn], pairs: Sequence[Pairs]) -> pa.Table:
    """Build the table of all pairs; cut in two, again and again, where text outgrows its offsets."""
    found = [part for part in pairs if part.count]
    if not found:
        return empty_table(schema)
    try:
        arrays = [_write(column, found) for column in columns]
    except TooLongError:
        if sum(part.count for part in found) == 1:
            raise
        first, second = halved(found)
        return pa.concat_tables([result_table(schema, columns, first), result_table(schema, columns, second)])
    return pa.Table.from_arrays(arrays, schema=schema)


def _write(column: OutColumn, pairs: Sequence[Pairs]) -> pa.Array | pa.ChunkedArray:
    # The first column's kind is that of all: whoever writes them takes parts of its own kind.
    parts: list[Part[Any]] = []
    for part in pairs:
        of_probe = part.probe_side == column.side
        parts.append(((part.probe if of_probe else part.base)[column.place], of_probe, part))
    kind = layout(column.kind)[0]
    first = parts[0][0]
    if isinstance(first, Held):
        pieces = [piece for part in parts for piece in _held(part)]
        return restored(pa.chunked_array(pieces, type=kind), column.kind)
    if isinstance(first, Text):
        array = _write_text(kind, parts, limited=kind not in LARGE or column.kind in VIEWS)
    else:
        array = _write_cells(kind, parts)
    return restored(array, column.kind)


def _write_cells(kind: pa.DataType, parts: Sequence[Part[Cells]]) -> pa.Array:
    total = sum(pairs.count for _, _, pairs in parts)
    width = parts[0][0].width
    data = pa.allocate_buffer(total * width + SPARE)
    start = 0
    for part in parts:
        _fill(part[0].values, part, (data, width, start))
        start += part[2].count
    data = _packed(data, total) if pt.is_boolean(kind) else data.slice(0, total * width)
    return pa.Array.from_buffers(kind, total, [_write_validity(parts, total), data])


def _write_validity(parts: Sequence[Part[Cells | Text]], total: int) -> pa.Buffer | None:
    if all(column.valid is None for column, _, _ in parts):
        return None
    data = pa.allocate_buffer(total + SPARE)
    start = 0
    for part in parts:
        valid, count = part[0].valid, part[2].count
        if valid is None:
            words(data, np.uint8, start, count)[:] = 1
        else:
            _fill(valid, part, (data, 1, start))
        start += count
    return _packed(data, total)


def _packed(data: pa.Buffer, count: int) -> pa.Buffer:
    """Pack a byte a row into a bit a row."""
    return pa.py_buffer(np.packbits(words(data, np.uint8, 0, count), bitorder="little"))


def _fill(values: npt.NDArray[Any], part: Part[Any], out: tuple[pa.Buffer, int, int]) -> None:
    """Write a part's values of fixed width into `out`: a buffer, the width, the row to begin at."""
    _, of_probe, pairs = part
    data, width, start = out
    if width not in REPEAT:
        _fill_wide(values, part, out)
    elif of_probe:
        splat(values, pairs.hits, REPEAT[width], width, data.address + start * width)
    elif pairs.order is None:
        slices(values.ctypes.data, width, pairs.hits, data.address + start * width)
    else:
        gather(values, row_numbers(pairs)[1], words(data, values.dtype, start, pairs.count))


def _fill_wide(values: npt.NDArray[Any], part: Part[Any], out: tuple[pa.Buffer, int, int]) -> None:
    _, of_probe, pairs = part
    data, width, start = out
    size = width // 8
    target = words(data, np.uint64, start * size, pairs.count * size)
    if of_probe:
        splat_wide(values, size, pairs.hits, target)
    elif pairs.order is None:
        slices(values.ctypes.data, width, pairs.hits, data.address + start * width)
    else:
        gather_wide(values, size, row_numbers(pairs)[1], target)


def _write_text(kind: pa.DataType, parts: Sequence[Part[Text]], *, limited: bool) -> pa.Array:
    sizes = [_text_size(part) for part in parts]
    if limited and sum(sizes) > LONGEST:
        raise TooLongError
    total = sum(pairs.count for _, _, pairs in parts)
    data = pa.allocate_buffer(sum(sizes) + SPARE)
    offsets = np.empty(total + 1, np.int64 if kind in LARGE else np.int32)
    offsets[0] = first = end = 0
    for part, size in zip(parts, sizes, strict=True):
        count = part[2].count
        _fill_text(part, offsets[first + 1 : first + 1 + count], end, data.address)
        first, end = first + count, end + size
    buffers = [_write_validity(parts, total), pa.py_buffer(offsets), data.slice(0, end)]
    return pa.Array.from_buffers(kind, total, buffers)


def _text_size(part: Part[Text]) -> int:
    text, of_probe, pairs = part
    if of_probe:
        return size_of_splats(text.offsets, pairs.hits)
    if pairs.order is None:
        return size_of_slices(text.offsets, pairs.hits)
    rows = row_numbers(pairs)[1]
    return measure(text.offsets, rows, np.empty(rows.size + 1, np.int64))


def _fill_text(part: Part[Text], ends: npt.NDArray[Any], end: int, address: int) -> None:
    """Write one part of a text column: its bytes to address + end, and where each value ends."""
    column, of_probe, pairs = part
    text = (column.offsets, column.data)
    if of_probe:
        text_splats(text, pairs.hits, ends, end, address)
    elif pairs.order is None:
        text_slices(text, pairs.hits, ends, end, address)
    else:
        text_rows(text, row_numbers(pairs)[1], ends, end, address)


def _held(part: Part[Held]) -> list[pa.Array]:
    column, of_probe, pairs = part
    try:
        taken = column.array.take(pa.array(row_numbers(pairs)[not of_probe]))
    except pa.ArrowInvalid as error:  # the offsets of a nested column overflow
        if pairs.count > 1:
            raise TooLongError from error
        raise
    return [compacted(chunk) for chunk in chunks_of(joined([taken]))]

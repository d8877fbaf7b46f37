"""Rows of a window as a chunk: one Arrow IPC stream that holds key values, never only dense integers.

Columns: `key` (the code of the row's key: int64 or bytes, none for a join on time alone), `time` (int64, in
the time column's own unit), then the columns that the result needs, called 0, 1, ..., each as its plain
stored type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from weft.columns import Cells, Column, Text
from weft.edge.interner import Interner, chosen
from weft.edge.keys import Codes
from weft.edge.payload import read
from weft.edge.result import OutColumn, result_table
from weft.edge.stored import plain
from weft.indexes.pairs import Pairs
from weft.indexes.run import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.columns import Rows

# Handing ten rows to Arrow's threads and waiting takes five times as long as compressing them; where tables
# are large, the other cores have tables of their own.
WRITING = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
READING = pa.ipc.IpcReadOptions(use_threads=False)


def encode(batch: Batch, interner: Interner | None, payload: Sequence[pa.Field]) -> bytes:
    """Return the rows of a batch with a key as a chunk; `payload` says what its columns are."""
    keyed = np.flatnonzero(batch.ids >= 0)
    columns: list[Column] = [Cells(batch.lead.view(np.uint64), None, 8), *batch.columns]
    fields = [
        pa.field("time", pa.int64()),
        *(pa.field(str(at), plain(one.type)) for at, one in enumerate(payload)),
    ]
    table = _table(fields, columns, keyed)
    if interner is not None:
        table = table.add_column(
            0, "key", _key_array(chosen(interner.keys(), batch.ids[keyed].astype(np.int64)))
        )
    return write_table(table)


def decode(data: bytes, interner: Interner | None) -> Batch:
    """Return the rows of a chunk, their keys as integers of this interner."""
    table = read_table(data)
    times = cast("Cells", read(table.column("time"))).values.view(np.int64)
    columns = tuple(read(table.column(at)) for at in range(1 + (interner is not None), table.num_columns))
    if interner is None:
        return Batch(np.zeros(times.size, np.int32), times, columns)
    return Batch(interner.intern(_codes(table.column("key"))), times, columns)


def write_table(table: pa.Table) -> bytes:
    """Return a table as an IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=WRITING) as writer:
        writer.write_table(table)
    return cast("bytes", sink.getvalue().to_pybytes())


def read_table(data: bytes) -> pa.Table:
    """Return the table of an IPC stream."""
    return pa.ipc.open_stream(data, options=READING).read_all()


def _table(fields: Sequence[pa.Field], columns: Sequence[Column], rows: Rows) -> pa.Table:
    hits = np.zeros((rows.size, 3), np.int64)
    hits[:, 0], hits[:, 2] = rows, 1
    out = [OutColumn("left", place, field.type) for place, field in enumerate(fields)]
    return result_table(pa.schema(fields), out, [Pairs(hits.ravel(), rows.size, "left", tuple(columns), ())])


def _key_array(codes: Codes) -> pa.Array:
    if codes.data is None:
        return pa.array(codes.values)
    buffers = [None, pa.py_buffer(codes.values), pa.py_buffer(codes.data)]
    return pa.Array.from_buffers(pa.large_binary(), len(codes), buffers)


def _codes(column: pa.ChunkedArray) -> Codes:
    keys = read(column)
    if isinstance(keys, Text):
        return Codes(keys.offsets, keys.data, None)
    return Codes(cast("Cells", keys).values.view(np.int64), None, None)

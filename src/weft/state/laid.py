"""Runs, rows and keys as arrays of a file and a description of them, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.columns import Cells, Column, Held, Text
from weft.edge.keys import Codes
from weft.indexes.run import Batch, Run
from weft.state.mapped import Sheet, found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.columns import Bytes

ARRAYS = ("keys", "offsets", "bits", "ranks", "lead")
SPAN = ("oldest", "newest", "middle")


def put_run(run: Run, sheet: Sheet) -> dict[str, Any]:
    """Put the arrays of a run on a sheet; return where they are."""
    return {
        "columns": [_put_column(column, sheet) for column in run.columns],
        "order": None if run.order is None else sheet.put(run.order),
        **{name: sheet.put(getattr(run, name)) for name in ARRAYS},
        **{name: getattr(run, name) for name in SPAN},
    }


def run_in(laid: dict[str, Any], arrays: Sequence[Bytes]) -> Run:
    """Return a run from where its arrays are."""
    parts: dict[str, Any] = {name: found(laid[name], arrays) for name in ARRAYS}
    parts |= {name: laid[name] for name in SPAN}
    order = None if laid["order"] is None else found(laid["order"], arrays)
    return Run(columns=tuple(_column_in(column, arrays) for column in laid["columns"]), order=order, **parts)


def put_batch(batch: Batch, sheet: Sheet) -> dict[str, Any]:
    """Put the arrays of rows on a sheet; return where they are."""
    columns = [_put_column(column, sheet) for column in batch.columns]
    return {"ids": sheet.put(batch.ids), "lead": sheet.put(batch.lead), "columns": columns}


def batch_in(laid: dict[str, Any], arrays: Sequence[Bytes]) -> Batch:
    """Return rows from where their arrays are."""
    columns = tuple(_column_in(column, arrays) for column in laid["columns"])
    return Batch(found(laid["ids"], arrays), found(laid["lead"], arrays), columns)


def put_keys(codes: Codes, sheet: Sheet) -> dict[str, Any]:
    """Put the codes of keys on a sheet; return where they are."""
    data = None if codes.data is None else sheet.put(codes.data)
    return {"values": sheet.put(codes.values), "data": data}


def keys_in(laid: dict[str, Any], arrays: Sequence[Bytes]) -> Codes:
    """Return the codes of keys from where they are."""
    data = None if laid["data"] is None else found(laid["data"], arrays)
    return Codes(found(laid["values"], arrays), data, None)


def _put_column(column: Column, sheet: Sheet) -> dict[str, Any]:
    if isinstance(column, Held):
        return {"held": sheet.put(_written(column.array))}
    valid = None if column.valid is None else sheet.put(column.valid)
    if isinstance(column, Text):
        return {"offsets": sheet.put(column.offsets), "data": sheet.put(column.data), "valid": valid}
    return {"values": sheet.put(column.values), "width": column.width, "valid": valid}


def _column_in(laid: dict[str, Any], arrays: Sequence[Bytes]) -> Column:
    if "held" in laid:
        return Held(_read(found(laid["held"], arrays)))
    valid = None if laid["valid"] is None else found(laid["valid"], arrays)
    if "offsets" in laid:
        return Text(found(laid["offsets"], arrays), found(laid["data"], arrays), valid)
    return Cells(found(laid["values"], arrays), valid, laid["width"])


def _written(array: pa.Array | pa.ChunkedArray) -> Bytes:
    """Return an Arrow array as an IPC stream that can be read where it lies."""
    table = pa.table([array], ["held"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _read(data: Bytes) -> pa.Array | pa.ChunkedArray:
    column = pa.ipc.open_stream(pa.py_buffer(data)).read_all().column(0)
    return column.chunk(0) if column.num_chunks == 1 else column

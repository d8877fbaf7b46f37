"""pandas DataFrames. Imported only when the user's own object is one.

The index is no column: it is left out, and a result has a fresh one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from weft.edge.libraries import UNCARRIED, Loaded, Origins, check_once, row_numbers, uncarried
from weft.edge.pandas_columns import from_arrow, is_shared, to_arrow
from weft.errors import ColumnError, InputError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from weft.types import Side


def check(argument: str, frame: pd.DataFrame) -> None:
    """Refuse column names that are not text or not there once, and several levels of names."""
    levels = frame.columns.nlevels
    if levels > 1:
        message = f"`{argument}` must have one level of column names; got a MultiIndex of {levels}."
        raise InputError(message, hint=f'{argument}.set_axis({argument}.columns.map("_".join), axis=1)')
    for name in frame.columns:
        if not isinstance(name, str):
            kind = type(name).__name__
            message = f"`{argument}` must have text as column names; got {kind} ({shown(name)})."
            raise InputError(message, hint=f"{argument}.rename(columns=str)")
    check_once(argument, list(frame.columns))


def schema(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the dtype of every column, in order."""
    return dict(zip(frame.columns, frame.dtypes, strict=True))


def concat(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of all frames, in order."""
    return pd.concat(frames, ignore_index=True)


def load(argument: str, frame: pd.DataFrame, read: Collection[str]) -> Loaded:
    """Return a frame for a join that reads the columns `read`."""
    _refuse_index_levels(argument, frame, read)
    held = {name for name, dtype in schema(frame).items() if name in read or is_shared(dtype)}
    numbers = row_numbers(len(frame))
    columns = {name: _held(argument, frame[name]) if name in held else numbers for name in frame.columns}
    return Loaded(frame, pa.table(columns), frozenset(frame.columns) - held)


def whole(argument: str, frame: pd.DataFrame) -> pa.Table:
    """Return the frame as a table that holds every value itself."""
    return pa.table({name: _held(argument, frame[name]) for name in frame.columns})


def give_back(table: pa.Table, origins: Origins, sides: Mapping[Side, Loaded]) -> pd.DataFrame:
    """Return a result as a frame with the dtypes of the columns it came from and a fresh index."""
    columns = zip(table.column_names, table.columns, origins, strict=True)
    series = {name: _given_back(column, sides[side], origin) for name, column, (side, origin) in columns}
    return pd.DataFrame(series, index=pd.RangeIndex(table.num_rows), copy=False)


def _given_back(column: pa.ChunkedArray, loaded: Loaded, origin: str) -> pd.Series:
    own: pd.Series = loaded.frame[origin]
    if origin in loaded.by_row:
        values = own.array.take(column.to_numpy().astype(np.intp, copy=False))
    else:
        values = from_arrow(column, own.dtype)
    return pd.Series(values, dtype=own.dtype, copy=False)


def _held(argument: str, column: pd.Series) -> pa.Array | pa.ChunkedArray:
    try:
        return to_arrow(column)
    except UNCARRIED as error:
        name = shown(column.name)
        hint = f"make it a column of one type, for instance {argument}[{name}].astype(str)"
        raise uncarried(argument, column.name, f"{column.dtype}: {shown(error)}", hint) from None


def _refuse_index_levels(argument: str, frame: pd.DataFrame, read: Collection[str]) -> None:
    for name in read:
        if name in frame.index.names and name not in frame.columns:
            message = f"`{argument}` must have {shown(name)} as a column; got it as a level of the index."
            raise ColumnError(message, hint=f"{argument}.reset_index()")

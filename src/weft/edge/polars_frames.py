"""Polars DataFrames. Imported only when the user's own object is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from weft.edge.libraries import UNCARRIED, Loaded, Origins, row_numbers, uncarried
from weft.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from weft.types import Side

# Arrow holds these in the same bytes. No text: Polars gathers 16-byte views, Arrow copies the text itself.
SHARED = frozenset({
    pl.Boolean, pl.Date, pl.Datetime, pl.Duration, pl.Time, pl.Float32, pl.Float64,
    pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
})  # fmt: skip


def check(argument: str, frame: pl.DataFrame) -> None:
    """Accept the frame: in Polars column names are text, each there once."""


def schema(frame: pl.DataFrame) -> dict[str, pl.DataType]:
    """Return the type of every column, in order."""
    return dict(frame.schema)


def concat(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all frames, in order."""
    return pl.concat(frames)


def load(argument: str, frame: pl.DataFrame, read: Collection[str]) -> Loaded:
    """Return a frame for a join that reads the columns `read`."""
    held = {name for name, dtype in frame.schema.items() if name in read or dtype.base_type() in SHARED}
    table = _to_arrow(argument, frame.select(name for name in frame.columns if name in held))
    numbers = row_numbers(frame.height)
    columns = {name: table[name] if name in held else numbers for name in frame.columns}
    return Loaded(frame, pa.table(columns), frozenset(frame.columns) - held)


def whole(argument: str, frame: pl.DataFrame) -> pa.Table:
    """Return the frame as a table that holds every value itself."""
    return _to_arrow(argument, frame)


def give_back(table: pa.Table, origins: Origins, sides: Mapping[Side, Loaded]) -> pl.DataFrame:
    """Return a result as a frame with the types of the columns it came from."""
    columns = zip(table.column_names, table.columns, origins, strict=True)
    return pl.DataFrame(
        [_given_back(column, sides[side], origin).alias(name) for name, column, (side, origin) in columns]
    )


def _given_back(column: pa.ChunkedArray, loaded: Loaded, origin: str) -> pl.Series:
    own: pl.Series = loaded.frame.get_column(origin)
    values = pl.Series(column)
    return own.gather(values) if origin in loaded.by_row else values.cast(own.dtype)


def _to_arrow(argument: str, frame: pl.DataFrame) -> pa.Table:
    for name, dtype in frame.schema.items():
        # to_arrow would panic (Polars 1.20) or give the addresses of the objects (2.1).
        if any(part == pl.Object for part in _parts(dtype)):
            raise _refused(argument, name, "Python objects")
    try:
        return frame.to_arrow()
    except UNCARRIED:
        raise next(_culprits(argument, frame)) from None


def _culprits(argument: str, frame: pl.DataFrame) -> Iterator[InputError]:
    for name, dtype in frame.schema.items():
        try:
            frame.select(name).to_arrow()
        except UNCARRIED:
            yield _refused(argument, name, str(dtype))


def _parts(dtype: pl.DataType) -> Iterator[pl.DataType]:
    yield dtype
    fields = [field.dtype for field in dtype.fields] if isinstance(dtype, pl.Struct) else []
    for part in [*fields, getattr(dtype, "inner", None)]:
        if isinstance(part, pl.DataType):
            yield from _parts(part)


def _refused(argument: str, name: str, came: str) -> InputError:
    hint = f"cast it to a type that Arrow has, or leave it out: {argument}.drop({shown(name)})"
    return uncarried(argument, name, came, hint)

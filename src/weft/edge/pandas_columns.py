"""One pandas column to Arrow and back. NaN stays NaN; what pandas calls missing elsewhere becomes null."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

# Kinds of objects that pyarrow reads faithfully once it is known that no other kind is among them.
ONE_KIND = frozenset({
    "string", "bytes", "integer", "boolean", "decimal", "time", "floating", "mixed-integer-float", "empty",
})  # fmt: skip


def is_shared(dtype: Any) -> bool:
    """Say whether Arrow holds a column of this dtype in the same bytes (bits for booleans)."""
    if isinstance(dtype, np.dtype):
        # No long doubles (16 bytes), no halves: few of Arrow's functions know them.
        narrow = dtype.itemsize <= 8 and not (dtype.kind == "f" and dtype.itemsize < 4)  # noqa: PLR2004
        return dtype.kind in "iufbmM" and narrow
    return isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow"


def to_arrow(column: pd.Series) -> pa.Array | pa.ChunkedArray:
    """Return a column's values as Arrow's; whatever pyarrow raises means that it cannot carry them."""
    if pd.api.types.is_object_dtype(column.dtype):
        return _objects(column.to_numpy())
    if isinstance(column.dtype, pd.CategoricalDtype):
        # One width for all: pandas picks the narrowest, which changes from batch to batch.
        codes = column.cat.codes.to_numpy().astype(np.int32)
        categories = column.cat.categories.to_series()
        words = to_arrow(categories) if len(categories) else pa.nulls(0)
        indices = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, words, ordered=bool(column.cat.ordered))
    if isinstance(column.dtype, np.dtype) and not column.dtype.isnative:
        return pa.array(column.astype(column.dtype.newbyteorder("=")), from_pandas=False)
    return pa.array(column, from_pandas=False)


def from_arrow(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return values in the dtype their column had before `to_arrow`."""
    if pd.api.types.is_object_dtype(dtype):
        return _to_objects(column)
    if isinstance(dtype, np.dtype):
        # Arrow's memory is read-only; a result can be written to.
        return np.require(column.to_numpy(), dtype, "W")
    if isinstance(dtype, pd.CategoricalDtype):
        return _to_categories(column, dtype)
    if isinstance(dtype, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(column.cast(dtype.pyarrow_dtype))
    return dtype.__from_arrow__(column)


def _objects(values: Any) -> pa.Array:
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in {"date", "datetime", "timedelta"}:
        return _instants(values)
    if kind in ONE_KIND or kind == "mixed":
        read = pa.array(values, from_pandas=True)
        # Containers are "mixed" to pandas. So are text and bytes, of which pyarrow would make bytes.
        if kind != "mixed" or pa.types.is_nested(read.type):
            return read
    message = f"objects that pandas calls {kind}"
    raise pa.ArrowTypeError(message)


def _instants(values: Any) -> pa.Array:
    """Read dates, times or durations; pyarrow would cut datetimes to dates, drop zones and nanoseconds."""
    present = [value for value in values if not pd.isna(value)]
    kinds = {(isinstance(value, dt.datetime), getattr(value, "tzinfo", None) is None) for value in present}
    if len(kinds) > 1:
        message = "dates and times of several kinds (date, naive or zoned)"
        raise pa.ArrowTypeError(message)
    read = pa.array(values, from_pandas=True)
    if not any(getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0) for value in present):
        return read
    zoned = pa.types.is_timestamp(read.type)
    finer = pa.timestamp("ns", read.type.tz) if zoned else pa.duration("ns")
    return pa.array(values, type=finer, from_pandas=True)


def _to_objects(column: pa.ChunkedArray) -> Any:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.to_numpy()
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _to_categories(column: pa.ChunkedArray, dtype: pd.CategoricalDtype) -> pd.Categorical:
    array = column.combine_chunks()
    words = pd.Index(from_arrow(pa.chunked_array([array.dictionary]), dtype.categories.dtype))
    codes = np.append(dtype.categories.get_indexer(words), -1)
    return pd.Categorical.from_codes(codes[array.indices.fill_null(-1).to_numpy()], dtype=dtype)

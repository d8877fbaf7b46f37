"""What the checks of columns share: the type that counts, and how a message shows a column."""

from __future__ import annotations

import pyarrow as pa

from weft.errors import WIDEST, shown

UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

FROM_FLOAT = (
    'cast it to whole numbers: .astype("Int64") in pandas (which turns integers with missing values into '
    'floats), .cast(pl.Int64) in Polars, .cast("int64") in pyarrow, .cast("long") in Spark'
)


def plain_type(column: pa.DataType) -> pa.DataType:
    """Return the type that counts: a dictionary's or a run's values, an extension's storage."""
    if isinstance(column, pa.BaseExtensionType):
        return plain_type(column.storage_type)
    if pa.types.is_dictionary(column) or pa.types.is_run_end_encoded(column):
        return plain_type(column.value_type)
    return column


def strangers(left: pa.Field, right: pa.Field) -> bool:
    """Say whether two extension types differ: equal storage may mean unlike things (days and months)."""
    extended = all(isinstance(one.type, pa.BaseExtensionType) for one in (left, right))
    return extended and left.type != right.type


def described(side: str, column: pa.Field) -> str:
    """Return a column as messages show it: left "ts" (int64)."""
    kind = str(column.type)
    return f"{side} {shown(column.name)} ({kind if len(kind) <= WIDEST else kind[: WIDEST - 3] + '...'})"

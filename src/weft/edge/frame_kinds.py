"""Which library a frame belongs to, and the word to add where it is no frame yet.

No library is imported here: an object can only be one's own where the user has imported the library.
"""

from __future__ import annotations

import sys
from typing import Literal

import pyarrow as pa

from weft.errors import InputError, NotYetError, shown

Kind = Literal["arrow", "pandas", "polars"]

TABLES = "a pyarrow Table, a pandas or a Polars DataFrame"
PUSHED = "a pyarrow Table or RecordBatch, a pandas or a Polars DataFrame"

# (library, type) -> what to write instead. `*` stands for every type of the library, {} for the argument.
INSTEAD = {
    ("builtins", "NoneType"): "give a frame, for an empty side one without rows",
    ("builtins", "dict"): "pa.table({})",
    ("builtins", "str"): "read the file first, for instance pyarrow.parquet.read_table({})",
    ("builtins", "list"): "push one batch at a time",
    ("builtins", "tuple"): "push one batch at a time",
    ("pathlib", "*"): "read the file first, for instance pyarrow.parquet.read_table({})",
    ("pyarrow", "RecordBatch"): "pa.Table.from_batches([{}])",
    ("pyarrow", "RecordBatchReader"): "{}.read_all()",
    ("pyarrow", "Array"): 'pa.table({{"name": {}}})',
    ("pyarrow", "ChunkedArray"): 'pa.table({{"name": {}}})',
    ("pyarrow", "Dataset"): "{}.to_table()",
    ("pyarrow", "Scanner"): "{}.to_table()",
    ("pandas", "Series"): "{}.to_frame()",
    ("pandas", "Index"): "{}.to_frame()",
    ("polars", "LazyFrame"): "{}.collect()",
    ("polars", "Series"): "{}.to_frame()",
    ("numpy", "ndarray"): 'pa.table({{"name": {}}}), one array a column',
    ("dask", "*"): "{}.compute()",
}
SPARK = "{}.toArrow() or {}.toPandas() where the data fits into memory"


def kind_of(argument: str, frame: object, *, allowed: str = TABLES) -> Kind:
    """Return the library of a frame; refuse what is no frame, with the word that makes it one."""
    if isinstance(frame, pa.Table):
        return "arrow"
    if _is_frame_of("pandas", frame):
        return "pandas"
    if _is_frame_of("polars", frame):
        return "polars"
    if _library(type(frame)) == "pyspark" and type(frame).__name__ == "DataFrame":
        message = f"`{argument}` must be {allowed}; got a PySpark DataFrame, which weft does not join yet."
        raise NotYetError(message, hint=SPARK.replace("{}", argument))
    message = f"`{argument}` must be {allowed}; got {named(frame)}."
    raise InputError(message, hint=_instead(argument, frame, allowed))


def is_spark(given: object) -> bool:
    """Tell whether an input, or one of a list of them, is a PySpark DataFrame."""
    each = given if isinstance(given, list | tuple) else (given,)
    return any(_library(type(one)) == "pyspark" and type(one).__name__ == "DataFrame" for one in each)


def named(value: object) -> str:
    """Return the type of a value as a user calls it, a scalar with its value."""
    if value is None:
        return "None"
    library, name = _library(type(value)), type(value).__qualname__
    full = name if library == "builtins" else f"{library}.{name}"
    return f"{full} ({shown(value)})" if isinstance(value, (int, float, str)) else full


def _is_frame_of(library: str, frame: object) -> bool:
    frame_type = getattr(sys.modules.get(library), "DataFrame", None)
    return frame_type is not None and isinstance(frame, frame_type)


def _library(kind: type) -> str:
    return kind.__module__.split(".")[0]


def _instead(argument: str, frame: object, allowed: str) -> str:
    for parent in type(frame).__mro__:
        library = _library(parent)
        word = INSTEAD.get((library, parent.__name__)) or INSTEAD.get((library, "*"))
        if word is not None:
            return word.format(argument)
    # The Arrow stream protocol: every newer frame library speaks it.
    return f"pa.table({argument})" if hasattr(frame, "__arrow_c_stream__") else f"give {allowed}"

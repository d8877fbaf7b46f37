"""weft joins live streams: interval joins on Spark, and for pyarrow, pandas and Polars in one process.

weft.interval_join        PySpark DataFrames (streams or tables), pyarrow tables, pandas or Polars frames in,
                          the same kind out
weft.spark.session        a Spark session with the settings that measured best
weft.stream.IntervalJoin  batches in, the pairs that they complete out
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from weft.errors import (
    ColumnError,
    FinishedError,
    InputError,
    LateRowError,
    NotYetError,
    SpecError,
    StateError,
    WeftError,
)

if TYPE_CHECKING:
    from weft import spark, stream
    from weft.api import interval_join

__version__ = "0.1.0"

__all__ = [
    "ColumnError",
    "FinishedError",
    "InputError",
    "LateRowError",
    "NotYetError",
    "SpecError",
    "StateError",
    "WeftError",
    "interval_join",
    "spark",
    "stream",
]


def __getattr__(name: str) -> Any:
    """Import numba and Arrow when they are first needed, not with the package."""
    if name == "interval_join":
        value = importlib.import_module("weft.api").interval_join
    elif name in ("spark", "stream"):
        value = importlib.import_module(f"weft.{name}")
    else:
        message = f"module 'weft' has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

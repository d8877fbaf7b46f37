"""weft on Spark: sessions that fit it, and the pipeline of `weft.interval_join` on PySpark DataFrames."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.spark.sessions import SessionWarning, session

__all__ = ["SessionWarning", "session"]


def __getattr__(name: str) -> Any:
    """Import what starts sessions when it is first needed: workers never do."""
    if name not in __all__:
        message = f"module 'weft.spark' has no attribute {name!r}"
        raise AttributeError(message)
    # Not a module of the function's name: importing it would put it where the function belongs.
    value = globals()[name] = getattr(importlib.import_module("weft.spark.sessions"), name)
    return value

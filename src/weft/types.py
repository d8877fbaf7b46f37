"""The names that arguments take: a literal type for each, tables of what is allowed and what works now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias, get_args

Side: TypeAlias = Literal["left", "right"]
Closed: TypeAlias = Literal["both", "left", "right", "none"]
How: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]
Pick: TypeAlias = Literal["all", "latest", "earliest", "nearest"]
Late: TypeAlias = Literal["drop", "fail", "route"]
Pattern: TypeAlias = Literal["auto", "key", "data", "hybrid"]
Algorithm: TypeAlias = Literal["auto", "runs"]
Engine: TypeAlias = Literal["auto", "weft", "native"]

Duration: TypeAlias = str | timedelta | int
"""A duration as users write it; integers are for integer time columns and count in their unit."""

SIDES: tuple[Side, Side] = ("left", "right")


class Frame(Protocol):
    """A frame as annotations know it: of PySpark, pyarrow, pandas or Polars; no list is one."""

    @property
    def columns(self) -> Any:
        """Its columns, or their names."""


ALLOWED: dict[str, tuple[str, ...]] = {
    "closed": get_args(Closed),
    "how": get_args(How),
    "pick": get_args(Pick),
    "late": get_args(Late),
    "pattern": get_args(Pattern),
    "algorithm": get_args(Algorithm),
    "engine": get_args(Engine),
}

WORKS_NOW: dict[str, tuple[str, ...]] = ALLOWED | {
    "how": ("inner",),
    "pick": ("all",),
    "pattern": ("auto", "key"),
    "engine": ("auto", "weft"),
}

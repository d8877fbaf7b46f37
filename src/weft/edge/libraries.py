"""What every library of frames has to offer, and the value its frames become.

A column goes into the join as it is where the join reads it (keys, times) or Arrow holds the same bytes.
Every other travels as the number of its row, and the result takes its values from the user's own column:
any dtype comes back exactly, also objects Arrow has no type for, and nothing is converted needlessly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from weft.errors import InputError, listed, shown
from weft.types import Side

Origins: TypeAlias = Sequence[tuple[Side, str]]
"""Where each column of a result comes from: the side and the name there."""

# What pyarrow raises for values it has no type for; AttributeError: a zone it does not know (18, dateutil's).
UNCARRIED = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)


@dataclass(frozen=True, slots=True)
class Loaded:
    """One side's frame, the table that stands for it, and the columns that are row numbers there."""

    frame: Any
    table: pa.Table
    by_row: frozenset[str] = frozenset()


class Library(Protocol):
    """A library of frames: one module each."""

    def check(self, argument: str, frame: Any) -> None:
        """Refuse a frame no table can stand for."""

    def schema(self, frame: Any) -> dict[str, Any]:
        """Return the type of every column, in order."""

    def concat(self, frames: Sequence[Any]) -> Any:
        """Return the rows of all frames, in order."""

    def load(self, argument: str, frame: Any, read: Collection[str]) -> Loaded:
        """Return a frame for a join that reads the columns `read`."""

    def whole(self, argument: str, frame: Any) -> pa.Table:
        """Return the frame as a table that holds every value itself."""

    def give_back(self, table: pa.Table, origins: Origins, sides: Mapping[Side, Loaded]) -> Any:
        """Return a result as a frame with the types of the columns it came from."""


def row_numbers(rows: int) -> pa.Array:
    """Return 0, 1, ... as the narrower type that holds them."""
    narrow = rows <= np.iinfo(np.int32).max
    return pa.array(np.arange(rows, dtype=np.int32 if narrow else np.int64))


def check_once(argument: str, names: Sequence[str]) -> None:
    """Refuse columns that share a name."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        message = f"`{argument}` must have each column once; got {listed(twice, 'and')} more than once."
        raise InputError(message, hint="rename or drop one of them")


def uncarried(argument: str, name: str, came: str, hint: str) -> InputError:
    """Return the refusal of a column whose values Arrow has no type for."""
    message = f"column {shown(name)} of `{argument}` must hold values that Arrow has a type for; got {came}."
    return InputError(message, hint)

"""The interval join as two loops over Python rows. It shares no code with weft and cares for no speed.

Times are exact integers (nanoseconds for timestamps and dates, else the integers themselves); bounds are
integers or fractions of the same unit, so that nothing here rounds or wraps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import pyarrow as pa

from tests.support.rows import Row, rows_of

Closed = Literal["both", "left", "right", "none"]
On = tuple[tuple[str, str], ...]
Exact = int | Fraction


@dataclass(frozen=True, slots=True)
class Condition:
    """Which pairs match: equal keys, and a distance in time within the bounds."""

    on: On
    left_time: str
    right_time: str
    lower: Exact
    upper: Exact
    closed: Closed = "both"

    def holds(self, left: Row, right: Row) -> bool:
        """Say whether one left row and one right row are a pair."""
        for name, other in self.on:
            if left[name] is None or left[name] != right[other]:
                return False
        if left[self.left_time] is None or right[self.right_time] is None:
            return False
        return self.within(right[self.right_time] - left[self.left_time])

    def within(self, distance: Exact) -> bool:
        """Say whether `right.time - left.time` lies within the bounds."""
        above = self.lower <= distance if self.closed in ("both", "left") else self.lower < distance
        below = distance <= self.upper if self.closed in ("both", "right") else distance < self.upper
        return above and below


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of the result: for each its name, the side it comes from and its name there."""

    columns: tuple[tuple[str, Literal["left", "right"], str], ...]

    def row(self, left: Row, right: Row) -> Row:
        """Put one result row together."""
        return {name: (left if side == "left" else right)[own] for name, side, own in self.columns}

    def fields(self, left: pa.Schema, right: pa.Schema) -> list[tuple[str, pa.DataType]]:
        """Return name and type of every result column: an inner join changes no type."""
        return [
            (name, (left if side == "left" else right).field(own).type) for name, side, own in self.columns
        ]


def shape_of(
    left: Sequence[str],
    right: Sequence[str],
    on: On,
    suffixes: tuple[str, str],
    columns: tuple[str, ...] | None,
) -> Shape:
    """Name the result's columns: left ones, then right ones without the keys that have the left's name."""
    shared = {other for name, other in on if name == other}
    rest = [name for name in right if name not in shared]
    clash = set(left) & set(rest)
    named: list[tuple[str, Literal["left", "right"], str]] = []
    named += [(name + suffixes[0] if name in clash else name, "left", name) for name in left]
    named += [(name + suffixes[1] if name in clash else name, "right", name) for name in rest]
    if columns is None:
        return Shape(tuple(named))
    return Shape(tuple(entry for wanted in columns for entry in named if entry[0] == wanted))


def naive_join(left: Sequence[Row], right: Sequence[Row], condition: Condition, shape: Shape) -> list[Row]:
    """Return the result rows in the order of the batch call: the left position, then the right time."""
    by_time = sorted(right, key=lambda row: _before_all(row[condition.right_time]))
    return [shape.row(one, two) for one in left for two in by_time if condition.holds(one, two)]


def _before_all(time: Any) -> tuple[bool, Any]:
    return (time is not None, time or 0)


def naive_tables(
    left: pa.Table,
    right: pa.Table,
    condition: Condition,
    suffixes: tuple[str, str] = ("", "_right"),
    columns: tuple[str, ...] | None = None,
) -> list[Row]:
    """Join two Arrow tables by the two loops."""
    shape = shape_of(left.column_names, right.column_names, condition.on, suffixes, columns)
    return naive_join(rows_of(left), rows_of(right), condition, shape)

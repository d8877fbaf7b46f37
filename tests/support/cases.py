"""A case is what one claim is about: two sides, a condition, and what the result must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tests.support.families import Column, array_of
from tests.support.oracle import Closed, Condition, On, naive_join, shape_of
from tests.support.rows import Row, multiset, rows_of

Bound = int | str


@dataclass(frozen=True, slots=True)
class Side:
    """One logical stream: named columns of equal length."""

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).values)

    def table(self, positions: Sequence[int] | None = None) -> pa.Table:
        """Return the rows at these positions (all, by default) as a new table."""
        at = range(len(self)) if positions is None else positions
        return pa.table({name: column.array(at) for name, column in self.columns.items()})

    @property
    def schema(self) -> pa.Schema:
        """Return the schema every batch of this side has."""
        return pa.schema([(name, column.kind) for name, column in self.columns.items()])

    def rows(self, positions: Sequence[int] | None = None) -> list[Row]:
        """Return the rows at these positions as exact Python values."""
        return rows_of(self.table(positions))


@dataclass(frozen=True, slots=True)
class Case:
    """Two sides and one interval join; bounds in exact nanoseconds, or in ticks for integer times."""

    left: Side
    right: Side
    lower: int
    upper: int
    on: On = (("key", "key"),)
    left_time: str = "ts"
    right_time: str = "ts"
    closed: Closed = "both"
    suffixes: tuple[str, str] = ("", "_right")
    columns: tuple[str, ...] | None = None
    spelled: Mapping[str, Any] = field(default_factory=dict)  # arguments to spell in another way

    @property
    def clocked(self) -> bool:
        """Say whether times are timestamps or dates, not integers."""
        return not pa.types.is_integer(self.left.columns[self.left_time].kind)

    def span(self, exact: int) -> Bound:
        """Spell an exact duration as an argument of weft."""
        return f"{exact} ns" if self.clocked else exact

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `weft.interval_join`."""
        return {
            "on": [*self.on] or None,
            "left_time": self.left_time,
            "right_time": self.right_time,
            "lower": self.span(self.lower),
            "upper": self.span(self.upper),
            "closed": self.closed,
            "suffixes": self.suffixes,
            "columns": None if self.columns is None else list(self.columns),
        } | dict(self.spelled)

    def condition(self) -> Condition:
        """Return the condition as the oracle has it."""
        return Condition(self.on, self.left_time, self.right_time, self.lower, self.upper, self.closed)

    def expected(self, left: Sequence[int] | None = None, right: Sequence[int] | None = None) -> list[Row]:
        """Return what the oracle makes of the rows at these positions, in the order of the batch call."""
        names = ([*self.left.columns], [*self.right.columns])
        shape = shape_of(*names, self.on, self.suffixes, self.columns)
        return naive_join(self.left.rows(left), self.right.rows(right), self.condition(), shape)

    def fields(self) -> list[tuple[str, pa.DataType]]:
        """Return names and types of the result."""
        names = ([*self.left.columns], [*self.right.columns])
        shape = shape_of(*names, self.on, self.suffixes, self.columns)
        return shape.fields(self.left.schema, self.right.schema)

    def mirrored(self) -> Case:
        """Return the same join seen from the other side."""
        turned: dict[Closed, Closed] = {"both": "both", "none": "none", "left": "right", "right": "left"}
        return Case(
            self.right,
            self.left,
            -self.upper,
            -self.lower,
            tuple((other, name) for name, other in self.on),
            self.right_time,
            self.left_time,
            turned[self.closed],
        )

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        return f"Case({given})\nleft:\n{_drawn(self.left)}\nright:\n{_drawn(self.right)}"


def assert_joined(case: Case, result: pa.Table) -> None:
    """Claim that a result has the oracle's columns, types and rows, in any order."""
    assert [(field.name, field.type) for field in result.schema] == case.fields()
    result.validate(full=True)
    assert multiset(rows_of(result)) == multiset(case.expected())


def side_of(table: pa.Table | Mapping[str, tuple[pa.DataType, Sequence[Any]]]) -> Side:
    """Return a mapping of name to (type, values) as a side."""
    if isinstance(table, pa.Table):
        rows = rows_of(table)
        return Side(
            {
                name: Column(table.schema.field(name).type, [row[name] for row in rows])
                for name in table.column_names
            }
        )
    return Side({name: Column(kind, list(values)) for name, (kind, values) in table.items()})


def _drawn(side: Side) -> str:
    head = " | ".join(f"{name} {column.kind}" for name, column in side.columns.items())
    columns = [array_of(column.kind, column.values) for column in side.columns.values()]
    lines = [" | ".join(_cell(column, at) for column in columns) for at in range(len(side))]
    return "\n".join([head, *lines])


def _cell(column: pa.Array, at: int) -> str:
    return str(column.slice(at, 1)).replace("\n", "").strip("[ ]")

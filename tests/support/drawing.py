"""Streams drawn as tables, the way a claim is told on a whiteboard.

    side  | id | key | ts
    left  | l1 | a   | 10
    right | r1 | a   | 12
    ---------------------      a line of dashes ends a push
    right | r2 | a   | .       a dot is null

A column whose cells are all whole numbers holds integers, any other strings; `kinds` gives other types
(timestamps then count from the epoch in the type's own unit). A column `source` names the physical input and
is no column of the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.support.cases import Case, Side
from tests.support.families import Column
from tests.support.feeds import Push
from tests.support.rows import tick_of

Kinds = Mapping[str, pa.DataType]
Pairs = Counter[tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Both sides of a drawn stream and the pushes it is cut into."""

    left: Side
    right: Side
    pushes: tuple[Push, ...]

    def case(self, lower: int, upper: int, **more: Any) -> Case:
        """Return a case over the drawn rows; bounds in exact nanoseconds, or ticks for integer times."""
        return Case(self.left, self.right, lower, upper, **more)


def drawn(text: str, kinds: Kinds | None = None, **of_side: Kinds) -> Drawing:
    """Read a drawing; `left=` and `right=` give types that only one side has."""
    head, *lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    names = [name.strip() for name in head.split("|")]
    blocks: list[list[dict[str, str]]] = [[]]
    for line in lines:
        if set(line) == {"-"}:
            blocks.append([])
        else:
            blocks[-1].append(dict(zip(names, [cell.strip() for cell in line.split("|")], strict=True)))
    rows = [row for block in blocks for row in block]
    columns = [name for name in names if name not in ("side", "source")]
    sides = {
        side: _side(rows, columns, side, {**(kinds or {}), **of_side.get(side, {})})
        for side in ("left", "right")
    }
    return Drawing(sides["left"], sides["right"], _pushes(blocks))


def _side(rows: list[dict[str, str]], columns: list[str], side: str, kinds: Kinds) -> Side:
    own = [row for row in rows if row["side"] == side]
    every = {name: [row[name] for row in rows] for name in columns}
    types = {name: kinds.get(name) or _guessed(every[name]) for name in columns}
    return Side(
        {name: Column(types[name], [_value(row[name], types[name]) for row in own]) for name in columns}
    )


def _guessed(cells: list[str]) -> pa.DataType:
    whole = all(cell == "." or cell.lstrip("-").isdigit() for cell in cells)
    return pa.int64() if whole else pa.string()


def _value(cell: str, kind: pa.DataType) -> Any:
    if cell == ".":
        return None
    if pa.types.is_integer(kind):
        return int(cell)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return int(cell) * tick_of(kind)
    return cell


def _pushes(blocks: list[list[dict[str, str]]]) -> tuple[Push, ...]:
    counted: dict[str, int] = {"left": 0, "right": 0}
    pushes: list[Push] = []
    for block in blocks:
        at: dict[str, list[int]] = {}
        for row in block:
            at.setdefault(row["side"], []).append(counted[row["side"]])
            counted[row["side"]] += 1
        sources = {int(row.get("source", "0")) for row in block} or {0}
        (source,) = sources  # one push, one input
        left, right = (tuple(at[side]) if side in at else None for side in ("left", "right"))
        if left is None and right is None:
            left, right = (), ()
        pushes.append(Push(left, right, source))
    return tuple(pushes)


def pairs(text: str) -> Pairs:
    """Read pairs of row names: `l1 r1, l1 r2`."""
    told = [pair.split() for pair in text.split(",") if pair.strip()]
    return Counter((left, right) for left, right in told)

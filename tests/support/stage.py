"""A drawn stream pushed into an operator push by push: what comes back, told as pairs of row names."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tests.support.drawing import Drawing, Pairs
from tests.support.feeds import parts_of
from tests.support.rows import pairs_of, values_of


def push_all(op: Any, told: Drawing) -> list[Pairs]:
    """Push every block of a drawing; return the pairs each push gave."""
    return [pairs_of(push_one(op, told, at)) for at in range(len(told.pushes))]


def push_one(op: Any, told: Drawing, at: int) -> pa.Table:
    """Push one block of a drawing; return the table it gave."""
    push = told.pushes[at]
    batches = {
        side: (told.left if side == "left" else told.right).table(rows) for side, rows in parts_of(push)
    }
    if len(batches) == 1:
        ((side, batch),) = batches.items()
        return op.push(side, batch, source=push.source)
    return op.push(**batches)


def names_in(table: pa.Table, column: str = "id") -> list[Any]:
    """Return the row names in a table; none where the schema is not known yet."""
    return values_of(table[column]) if table.column_names else []

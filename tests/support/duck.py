"""The same join said in SQL and run by DuckDB: a second oracle, fast enough for long streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import duckdb
import pyarrow as pa

from tests.support.cases import Case
from tests.support.rows import tick_of

SIGNS = {"both": (">=", "<="), "left": (">=", "<"), "right": (">", "<="), "none": (">", "<")}


def duck_pairs(
    case: Case, left: Sequence[int] | None = None, right: Sequence[int] | None = None
) -> Counter[tuple[int, int]]:
    """Return the pairs of row numbers (`id`) of a case, or of the rows at these positions."""
    tables = {"l": case.left.table(left), "r": case.right.table(right)}
    with duckdb.connect() as duck:
        for name, table in tables.items():
            duck.register(name, _with_integer_time(table, case.left_time if name == "l" else case.right_time))
        rows = duck.execute(_query(case)).fetchall()
    return Counter(rows)


def _with_integer_time(table: pa.Table, time: str) -> pa.Table:
    column = table[time]
    stored = (
        column.cast(pa.int32()).cast(pa.int64())
        if pa.types.is_date32(column.type)
        else column.cast(pa.int64())
    )
    kept = [name for name in table.column_names if name != time]
    return table.select(kept).append_column("_time", stored)


def _query(case: Case) -> str:
    ticks = [
        tick_of(side.columns[time].kind)
        for side, time in ((case.left, case.left_time), (case.right, case.right_time))
    ]
    distance = f"(r._time::HUGEINT * {ticks[1]} - l._time::HUGEINT * {ticks[0]})"
    above, below = SIGNS[case.closed]
    keys = [f'l."{name}" = r."{other}"' for name, other in case.on]
    within = [f"{distance} {above} {case.lower}::HUGEINT", f"{distance} {below} {case.upper}::HUGEINT"]
    return f"SELECT l.id, r.id FROM l, r WHERE {' AND '.join([*keys, *within])}"

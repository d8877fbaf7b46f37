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
            keys = ["id", *(pair[name == "r"] for pair in case.on)]
            time = case.left_time if name == "l" else case.right_time
            duck.register(name, table.select(keys).append_column("_time", _stored(table[time])))
        rows = duck.execute(_query(case)).fetchall()
    return Counter(rows)


def _stored(time: pa.ChunkedArray) -> pa.ChunkedArray:
    return (time.cast(pa.int32()) if pa.types.is_date32(time.type) else time).cast(pa.int64())


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

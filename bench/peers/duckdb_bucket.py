"""DuckDB: the same bucket join in SQL, from tables of its own, fetched as one Arrow table.

`UNION ALL` for the copies and native tables are each about 5 % faster than `unnest(range(...))` and than
scanning Arrow; key and bucket packed into one integer gain 6 % at most.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import duckdb

from bench.peers.tuning import CUTS, bucket_width, whole

if TYPE_CHECKING:
    import pyarrow as pa

    from bench.joins import JoinCase, Run

DISTANCE = "epoch_us(r.ts) - epoch_us(l.ts)"


def select_list(case: JoinCase) -> str:
    """Return the result's columns as SQL."""
    left = case.left.column_names
    right = [name for name in case.right.column_names if name != "key"]
    renamed = [f"r.{name} AS {name}_right" if name in left else f"r.{name}" for name in right]
    return ", ".join([f"l.{name}" for name in left] + renamed)


def query(case: JoinCase, cuts: int) -> str:
    """Return the join as SQL."""
    width = bucket_width(case, cuts)
    bucket = f"(epoch_us(ts) + {case.lower}) // {width}"
    copies = " UNION ALL ".join(
        f"SELECT *, {bucket} + {copy} AS _bucket FROM left_rows" for copy in range(cuts + 1)
    )
    return (
        f"SELECT {select_list(case)} FROM ({copies}) l "
        f"JOIN (SELECT *, epoch_us(ts) // {width} AS _bucket FROM right_rows) r "
        f"ON l.key = r.key AND l._bucket = r._bucket "
        f"WHERE {DISTANCE} BETWEEN {case.lower} AND {case.upper}"
    )


def load(case: JoinCase) -> duckdb.DuckDBPyConnection:
    """Return a database in memory that holds both sides."""
    database = duckdb.connect(config={"threads": 1})
    database.execute("SET preserve_insertion_order = false")
    for name, table in (("left_rows", case.left), ("right_rows", case.right)):
        database.register("arrow", table)
        database.execute(f"CREATE TABLE {name} AS FROM arrow")
        database.unregister("arrow")
    return database


def fetch(database: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """Return the whole result."""
    return database.sql(sql).to_arrow_table()


def open_case(case: JoinCase) -> Run:
    """Load both sides into DuckDB and keep the faster bucket width."""
    database = load(case)
    return whole([partial(fetch, database, query(case, cuts)) for cuts in CUTS])

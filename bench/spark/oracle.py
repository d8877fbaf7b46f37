"""How many pairs each micro-batch completes, by DuckDB: it shares no code with any contender."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.spark.feed import Data
    from bench.spark.model import SparkCase

# A pair is complete with the batch that brings the later of its rows.
COUNTED = """
WITH l AS (SELECT key, epoch_us(ts) AS at, batch, unnest([0, 1]) + (epoch_us(ts) + {lower}) // {width} AS cut
           FROM left_rows),
     r AS (SELECT key, epoch_us(ts) AS at, batch, epoch_us(ts) // {width} AS cut FROM right_rows)
SELECT greatest(l.batch, r.batch), count(*) FROM l JOIN r ON l.key = r.key AND l.cut = r.cut
WHERE r.at - l.at BETWEEN {lower} AND {upper} GROUP BY ALL
"""


def pairs_by_batch(case: SparkCase, data: Data, sizes: Sequence[int]) -> list[int]:
    """Return the pairs of each batch, given how many rows a side each has."""
    batch = pa.array(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
    database = duckdb.connect()
    for name, table in (("left_rows", data.left), ("right_rows", data.right)):
        database.register(
            name, table.slice(0, len(batch)).select(["key", "ts"]).append_column("batch", batch)
        )
    width = case.upper - case.lower or 1
    sql = COUNTED.format(lower=case.lower, upper=case.upper, width=width)
    counted = dict(database.sql(sql).fetchall())
    return [counted.get(number, 0) for number in range(len(sizes))]

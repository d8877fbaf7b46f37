"""Buckets of keys whose memory ends where a page begins that must not be touched; run as a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tests.kernels.guarded import table
from weft.edge.buckets import buckets_of
from weft.edge.families import key_family

ROWS = 130
KEYS: list[tuple[pa.DataType, Callable[[int], Any]]] = [
    (pa.int64(), lambda at: at),
    (pa.int8(), lambda at: None if at % 5 == 0 else at % 100),
    (pa.bool_(), lambda at: at % 3 == 0),
    (pa.date32(), lambda at: at),
    (pa.timestamp("us"), lambda at: at),
    (pa.decimal128(9, 1), lambda at: at),
    (pa.decimal128(38, 1), lambda at: at),
    (pa.string(), lambda at: "x" * (at % 20)),
    (pa.large_string(), lambda at: None if at % 7 == 0 else str(at) * (at % 9)),
    (pa.binary(), lambda at: b"y" * (130 - at)),
    (pa.binary(12), lambda at: b"%012d" % at),
]


def buckets(columns: Sequence[Any], rows: int) -> list[int]:
    """Return the buckets of key columns."""
    families = [key_family(pa.field("l", one.type), pa.field("r", one.type)) for one in columns]
    return buckets_of(columns, families, np.arange(rows)).tolist()


def main() -> None:
    """Compare the buckets of guarded columns with those of plain ones; print how many were compared."""
    for rows in (0, 1, 7, ROWS):
        plain = {
            f"k{place}": pa.array(map(make, range(rows)), kind) for place, (kind, make) in enumerate(KEYS)
        }
        guarded = table(rows, plain)
        for name, column in plain.items():
            print(name, rows, buckets([column], rows) == buckets([guarded[name]], rows))
        every = [guarded[name] for name in plain]
        print("all", rows, buckets([*plain.values()], rows) == buckets(every, rows))


if __name__ == "__main__":
    sys.exit(main())

"""Rows that say who they are: every payload column of a row is told by its serial number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from weft.edge.payload import read
from weft.edge.result import OutColumn, result_table
from weft.indexes.pairs import Pairs
from weft.indexes.run import Batch, Times

LOW, HIGH = -(2**63), 2**63 - 1
LEAD_PLACE = 1  # the place of the lead column in the payload

IDS = st.one_of(st.integers(-1, 4), st.integers(-1, 4), st.integers(0, 150))
LEADS = st.one_of(*[st.integers(-10, 30)] * 5, st.sampled_from([LOW, LOW + 1, HIGH - 1, HIGH]))


@dataclass(frozen=True, slots=True)
class Row:
    """A row as the models hold it."""

    id: int
    lead: int
    serial: int


Wanted = tuple[int, int, int]  # id, low, high
WANTED = st.lists(st.tuples(st.integers(-1, 160), LEADS, LEADS), max_size=25)
NEAR_WANTED = st.lists(st.tuples(st.integers(-1, 5), LEADS, st.just(HIGH)), max_size=25)


def text_of(serial: int) -> str | None:
    return None if serial % 5 == 0 else "x" * (serial % 9) + str(serial)


def small_of(serial: int) -> int | None:
    return None if serial % 7 == 0 else serial % 65_521


BASE = pa.schema(
    [
        ("b", pa.int64()),
        ("lead", pa.int64()),
        ("text", pa.string()),
        ("small", pa.uint16()),
        ("wide", pa.binary(16)),
        ("held", pa.list_(pa.int64())),
    ]
)
SCHEMA = pa.schema([pa.field("p", pa.int64()), *BASE])
COLUMNS = [
    OutColumn("left", 0, pa.int64()),
    *(OutColumn("right", place, kind) for place, kind in enumerate(BASE.types)),
]


def values_of(row: Row) -> tuple[Any, ...]:
    """Return the payload of a row."""
    serial = row.serial
    wide = serial.to_bytes(8, "little") + (2**63 - serial).to_bytes(8, "big")
    return serial, row.lead, text_of(serial), small_of(serial), wide, [serial, None, -serial]


def batch_of(rows: Sequence[Row]) -> Batch:
    """Return rows as an index takes them."""
    columns = list(zip(*map(values_of, rows), strict=True)) or [()] * len(BASE)
    return Batch(
        np.array([row.id for row in rows], np.int32),
        np.array([row.lead for row in rows], np.int64),
        tuple(read(pa.array(values, kind)) for values, kind in zip(columns, BASE.types, strict=True)),
    )


def probe_of(wanted: Sequence[Wanted]) -> tuple[Batch, Times]:
    """Return probe rows, numbered from 0, and their reach."""
    ids = np.array([id_ for id_, _, _ in wanted], np.int32)
    numbers = read(pa.array(range(len(wanted)), pa.int64()))
    reach = np.array([bound for _, low, high in wanted for bound in (low, high)], np.int64)
    return Batch(ids, np.zeros(ids.size, np.int64), (numbers,)), reach


def met_by(wanted: Sequence[Wanted], rows: Sequence[Row]) -> Counter[tuple[int, Row]]:
    """Return what each probe row meets, by two loops."""
    return Counter(
        (at, row)
        for at, (id_, low, high) in enumerate(wanted)
        for row in rows
        if id_ >= 0 and row.id == id_ and low <= row.lead <= high
    )


def met_in(pairs: Sequence[Pairs], rows: Sequence[Row]) -> Counter[tuple[int, Row]]:
    """Return what pairs say, read from the result table; every column must be that of its row."""
    table = result_table(SCHEMA, COLUMNS, pairs)
    table.validate(full=True)
    assert table.num_rows == sum(one.count for one in pairs)
    known = {row.serial: row for row in rows}
    told: Counter[tuple[int, Row]] = Counter()
    for at, *values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        row = known[values[0]]
        assert tuple(values) == values_of(row)
        told[at, row] += 1
    return told


def rows_in(batch: Batch, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a batch in order; every column must be that of its row."""
    numbers = np.arange(len(batch))
    hits = np.stack([numbers, numbers, np.ones_like(numbers)], axis=1).ravel()
    whole = [OutColumn("left", place, kind) for place, kind in enumerate(BASE.types)]
    pairs = [Pairs(hits, len(batch), "left", batch.columns, ())]
    table = result_table(BASE, whole, pairs)
    known = {row.serial: row for row in rows}
    found = []
    for at, values in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True)):
        row = known[values[0]]
        assert values == values_of(row)
        assert (batch.ids[at], batch.lead[at]) == (row.id, row.lead)
        found.append(row)
    return found

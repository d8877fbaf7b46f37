"""The emitter: rows as Spark gives them in, one pack a shard out, and a word to every shard about time.

It runs in `mapInArrow`, once a task. It coalesces batches of ten thousand rows until they are worth packing,
orders the rows by shard, and writes each shard's rows as one Arrow stream of at most about PACK bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from weft.columns import arrow_size
from weft.edge.arrivals import arrive
from weft.edge.buckets import buckets_of
from weft.edge.result import rows_table
from weft.spark.shards import shard_keys, shards_of, table_of
from weft.spark.workers import settle_in
from weft.state.chunks import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from weft.edge.arrivals import Arrived
    from weft.spark.plan import ShardPlan

PACK = 1 << 25  # bytes of rows that are packed together: a pack has a shard's share of them
# `newest` counts only where `told`: pandas makes floats of integers among which one is missing.
PACKED = "shard long, input int, told boolean, newest long, rows long, pack binary"
PACKED_ARROW = pa.schema(
    [
        ("shard", pa.int64()),
        ("input", pa.int32()),
        ("told", pa.bool_()),
        ("newest", pa.int64()),
        ("rows", pa.int64()),
        ("pack", pa.binary()),
    ]
)


Packed: TypeAlias = tuple[int, bytes | None]
"""How many rows of a shard, and the rows."""


@dataclass(frozen=True, slots=True)
class Emitter:
    """The function that `mapInArrow` calls for one input of a join."""

    plan: ShardPlan
    input: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the rows of one task; the last packs, and a row for each shard without one, tell the time."""
        settle_in()
        newest: int | None = None
        side, source = self.plan.input_of(self.input)
        binding = self.plan.side(side)
        rows = 0
        packs: dict[int, Packed] = {}
        for table in coalesced(batches, binding.schema):
            if packs:
                yield self._rows(packs, None, 0)
            arrived = arrive(side, source, table, binding)
            packs = self._packed(arrived)
            if arrived.largest is not None:
                newest = arrived.largest if newest is None else max(newest, arrived.largest)
            rows += table.num_rows - sum(count for count, _ in packs.values())
        if packs or rows:
            yield self._rows(dict.fromkeys(range(self.plan.shards), (0, None)) | packs, newest, rows)

    def _packed(self, arrived: Arrived) -> dict[int, Packed]:
        """Return the rows of each shard; those without a time match nothing and stay behind."""
        binding = self.plan.side(arrived.side)
        keys = [arrived.data.column(place) for place in binding.keys]
        buckets = buckets_of(keys, self.plan.binding.families, arrived.times)
        shards = shards_of(buckets, table_of(self.plan.shards))
        rows = np.argsort(shards, kind="stable")
        if arrived.timed is not None:
            rows = rows[arrived.timed[rows]]
        table = rows_table(arrived.data, rows)
        present, first = np.unique(shards[rows], return_index=True)
        ends = [*first.tolist(), rows.size][1:]
        return {
            int(shard): (end - start, write_table(table.slice(start, end - start)))
            for shard, start, end in zip(present, first.tolist(), ends, strict=True)
        }

    def _rows(self, packs: Mapping[int, Packed], newest: int | None, untimed: int) -> pa.RecordBatch:
        keys = shard_keys(self.plan.shards)
        counts = [count for count, _ in packs.values()]
        counts[0] += untimed  # rows without a time belong to no shard; they are counted
        columns = [
            [keys[shard] for shard in packs],
            [self.input] * len(packs),
            [newest is not None] * len(packs),
            [newest or 0] * len(packs),
            counts,
            [pack for _, pack in packs.values()],
        ]
        arrays = [pa.array(values, kind) for values, kind in zip(columns, PACKED_ARROW.types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKED_ARROW)


def coalesced(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Put batches together to tables of at most PACK bytes, cut those that are larger; a row stays whole."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for part in map(partial(_as, schema=schema), _cut(batch)):
            more = arrow_size(part)
            if held and size + more > PACK:
                yield pa.Table.from_batches(held, schema)
                held, size = [], 0
            held.append(part)
            size += more
    if held:
        yield pa.Table.from_batches(held, schema)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= 1 or arrow_size(batch) <= PACK:
        if batch.num_rows:
            yield batch
        return
    half = batch.num_rows // 2
    yield from _cut(batch.slice(0, half))
    yield from _cut(batch.slice(half))


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch in the types the plan knows: time zones and widths of text follow settings in Spark."""
    arrays = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)

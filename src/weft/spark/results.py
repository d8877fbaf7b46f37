"""How pairs leave a worker: as columns that Spark takes without a copy, or packed where they are nested.

Beside the pairs goes one row a shard and batch in the reserved column `_weft`: what was counted, as JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql import functions as F  # noqa: N812 - everyone's name for it

from weft.progress.promise import shown_watermark
from weft.runtimes.replica import COUNTED
from weft.state.chunks import read_table, write_table
from weft.types import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column

    from weft.edge.binding import Binding
    from weft.runtimes.replica import Replica
    from weft.state.manifest import Manifest

HELD = ("state_rows_left", "state_rows_right", "state_bytes")
TOLD = "_weft"
PACK = "_weft_pack"


@dataclass(frozen=True, slots=True)
class Results:
    """The columns of a result under the names that Spark knows."""

    schema: pa.Schema
    packed: bool

    def frames(self, table: pa.Table) -> Iterator[pd.DataFrame]:
        """Return pairs as Spark takes them: columns in one piece."""
        table = pa.table(table.columns, schema=self.schema)
        if self.packed:
            yield _frame({PACK: pa.array([write_table(table)], pa.binary()), TOLD: pa.nulls(1, pa.string())})
            return
        for batch in table.to_batches():
            columns = dict(zip(table.column_names, batch.columns, strict=True))
            yield _frame(columns | {TOLD: pa.nulls(batch.num_rows, pa.string())})

    def told(self, before: Manifest, replica: Replica) -> pd.DataFrame:
        """Return the row of a batch in which its counts are."""
        names = [PACK] if self.packed else self.schema.names
        kinds = [pa.binary()] if self.packed else self.schema.types
        empty = {name: pa.nulls(1, kind) for name, kind in zip(names, kinds, strict=True)}
        return _frame(empty | {TOLD: pa.array([json.dumps(counted(before, replica))])})


def counted(before: Manifest, replica: Replica) -> dict[str, int | str | None]:
    """Return what one shard counted in one batch, and what it holds after it."""
    after = replica.manifest
    told: dict[str, int | str | None] = {
        name: after.counts[name] - before.counts.get(name, 0) for name in COUNTED
    }
    for side in SIDES:
        told[f"state_rows_{side}"] = sum(chunk.rows for chunk in after.chunks if chunk.side == side)
    told["state_bytes"] = sum(chunk.size for chunk in after.chunks)
    told["watermark"] = shown(after.watermark, replica.join.binding)
    return told


def shown(watermark: int | None, binding: Binding) -> int | str | None:
    """Return a watermark as text in UTC that keeps every digit; of integer times, as the nearest int64."""
    clock = binding.left.clock
    if watermark is None or clock.kind == "integer":
        return None if watermark is None else max(-(2**63), min(2**63 - 1, watermark))
    found = shown_watermark(watermark, {"left": binding.left, "right": binding.right}, integers=False)
    return f"{found}{'Z' if clock.zoned else ''}"


def observed(binding: Binding) -> list[Column]:
    """Return what an observation makes of the rows that `counted` left: sums, and the watermark of all."""

    def value(name: str) -> Column:
        return F.get_json_object(TOLD, f"$.{name}")

    counts = [F.coalesce(F.sum(value(name).cast("long")), F.lit(0)).alias(name) for name in COUNTED]
    held = [F.sum(value(name).cast("long")).alias(name) for name in HELD]
    watermark = F.max(value("watermark"))
    integers = binding.left.clock.kind == "integer"
    return [*counts, *held, (watermark.cast("long") if integers else watermark).alias("watermark")]


def is_nested(schema: pa.Schema) -> bool:
    """Tell whether a column is nested: pandas would take it value by value."""
    return any(pt.is_nested(kind) for kind in schema.types)


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the pairs that packs hold; for `mapInArrow`."""
    for batch in batches:
        for pack in batch.column(0):
            yield from read_table(pack.as_buffer()).to_batches()


def _frame(columns: dict[str, pa.Array]) -> pd.DataFrame:
    series = {name: pd.Series(pd.arrays.ArrowExtensionArray(column)) for name, column in columns.items()}
    return pd.DataFrame(series, copy=False)

"""Tables joined in one pass: right packs sorted once, left packs looked up in them, a partition at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.runtimes.batch import join_packs
from weft.spark.workers import settle_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from weft.spark.plan import ShardPlan
    from weft.types import Side


@dataclass(frozen=True, slots=True)
class TableJoin:
    """The function that `mapInArrow` calls for the shards of one partition."""

    plan: ShardPlan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the pairs of all packs."""
        settle_in()
        packs: dict[Side, list[Any]] = {"left": [], "right": []}
        for batch in batches:
            for number, pack in zip(batch.column("input").to_pylist(), batch.column("pack"), strict=True):
                if pack.is_valid:
                    packs[self.plan.input_of(number)[0]].append(pack.as_buffer())
        for table in join_packs(self.plan.binding, packs["left"], packs["right"]):
            yield from table.to_batches()

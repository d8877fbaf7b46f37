"""The stateful processor: Spark calls it for every shard and batch.

State of a shard: `manifest` (small, written with every commit), `identity` (what may never change, written
once) and `chunks` (a map from number to bytes).

This module is light, and what it needs travels packed: at each start of a query Spark runs a fresh Python
that only wants to know the state.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import (
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

    from weft.spark.plan import ShardPlan
    from weft.spark.results import Results

BLOB = "data binary"


@dataclass(frozen=True, slots=True)
class ShardState:
    """The state of the shard whose turn it is, as Spark keeps it."""

    manifest: ValueState
    identity: ValueState
    chunks: MapState


class JoinProcessor(StatefulProcessor):
    """The join of one shard at a time."""

    def __init__(self, plan: ShardPlan, results: Results) -> None:
        self._packed = pickle.dumps((plan, results))

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._state = ShardState(
            manifest=handle.getValueState("manifest", BLOB),
            identity=handle.getValueState("identity", BLOB),
            chunks=handle.getMapState("chunks", "number long", BLOB),
        )

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Take the packs of one shard in one batch."""
        from weft.spark.turn import Turn

        plan, results = pickle.loads(self._packed)
        return Turn(plan, results, int(key[0]), self._state).take(rows)

    def close(self) -> None:
        """Do nothing: what is held stays for the next batch."""

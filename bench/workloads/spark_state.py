"""Bytes of state on Spark over raw column bytes: a horizon of ten micro-batches of 20k rows a side.

Beside what weft counts itself: RocksDB's files of the last snapshot, and what goes into the changelog, both
for weft and for Spark's own join on the same stream.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from bench.data import DELAY, SECOND, Stream
from bench.model import Figure
from bench.spark.model import Found, Run, SparkCase, SparkWorkload

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench.spark.lanes import Batch, Lane

ROWS = 20_000
HORIZON = SECOND + DELAY  # how long a row is held: the bound and the lateness
KEYS = 80_000
# A batch lasts a tenth of the horizon.
STREAM = Stream(rows=ROWS, keys=KEYS, matches=2 * SECOND * ROWS / (HORIZON / 10) / KEYS)
WARM, BATCHES = 25, 20
LIVE, FILES, WRITTEN = "of rows held", "RocksDB's files, of rows held", "written, of rows come"


def held(batch: Batch) -> int:
    """Return how many rows are held after a batch: weft says so; what Spark's join keeps is a row each."""
    if "state_rows_left" in batch.told:
        return int(batch.told["state_rows_left"]) + int(batch.told["state_rows_right"])
    return int(batch.state["numRowsTotal"])


def in_files(batch: Batch) -> int:
    """Return the bytes of RocksDB's files in the last snapshot that was uploaded."""
    metrics: Mapping[str, int] = batch.state["customMetrics"]
    return metrics["rocksdbSstFileSize"]


def changelog(checkpoint: Path) -> int:
    """Return the bytes that all batches have written to the changelog."""
    return sum(path.stat().st_size for path in (checkpoint / "state").rglob("*.changelog"))


def ratios(lane: Lane, checkpoint: Path, warm: int) -> dict[str, list[float]]:
    """Return the figures of one contender, those of state batch by batch."""
    from bench.spark.feed import ROW_BYTES

    batches = lane.batches[warm:]
    came = sum(batch.rows for batch in lane.batches) * ROW_BYTES
    found = {
        FILES: [median(in_files(batch) / (held(batch) * ROW_BYTES) for batch in batches)],
        WRITTEN: [changelog(checkpoint) / came],
    }
    if "state_bytes" in batches[0].told:
        found[LIVE] = [batch.told["state_bytes"] / (held(batch) * ROW_BYTES) for batch in batches]
    return found


def measure(run: Run) -> Found:
    """Run weft, then Spark's own join, over the same batches."""
    from bench.peers import spark_join, spark_weft
    from bench.spark.compare import check_pairs
    from bench.spark.feed import draw
    from bench.spark.lanes import checkpoint, open_lane

    case, warm = SparkCase(STREAM), WARM
    sizes = [run.rows] * (warm + BATCHES)
    data = draw(case, sum(sizes), run.seed)
    found = Found(2 * run.rows, None, {})
    for name, query in (("weft", spark_weft.pairs), ("spark-join", spark_join.pairs)):
        lane = open_lane(name, run, data, case, query)
        lane.take(sizes)
        lane.query.stop()
        check_pairs(case, data, lane)
        found.turns[name] = [ratios(lane, checkpoint(run.folder, name), warm)]
        run.tell(f"{name}: {found.turns[name][0]}")
    return found


SPARK_STATE = SparkWorkload(
    name="spark-state-bytes",
    summary="bytes of state on Spark over raw column bytes, horizon of ten micro-batches of 40k rows",
    measure=measure,
    figures=(
        Figure(LIVE, "ratio", "lower", 1.2, 0.5),
        Figure(FILES, "ratio", "lower"),
        Figure(WRITTEN, "ratio", "lower"),
    ),
    rows=ROWS,
    turns=1,
)

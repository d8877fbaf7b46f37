"""The workloads by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.workloads.batch_sizes import BATCH_SIZES
from bench.workloads.endless import ENDLESS
from bench.workloads.first_result import FIRST_RESULT
from bench.workloads.import_time import IMPORT_TIME
from bench.workloads.spark_flat import SPARK_FLAT
from bench.workloads.spark_small import SPARK_SMALL
from bench.workloads.spark_state import SPARK_STATE
from bench.workloads.spark_streams import SPARK_STREAMS
from bench.workloads.spark_table import SPARK_TABLE
from bench.workloads.state_bytes import STATE_BYTES
from bench.workloads.stream_many_keys import MANY_KEYS
from bench.workloads.stream_skewed import STREAM_SKEWED
from bench.workloads.stream_strings import STREAM_STRINGS
from bench.workloads.stream_uniform import STREAM_UNIFORM
from bench.workloads.trace import traces
from bench.workloads.w1 import W1
from bench.workloads.w2 import W2

if TYPE_CHECKING:
    from pathlib import Path

    from bench.model import Workload
    from bench.spark.model import SparkWorkload

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        W1,
        W2,
        STREAM_UNIFORM,
        STREAM_SKEWED,
        STREAM_STRINGS,
        *MANY_KEYS,
        BATCH_SIZES,
        STATE_BYTES,
        ENDLESS,
        IMPORT_TIME,
        FIRST_RESULT,
    )
}
# What `weft bench --on spark` runs: each in a session of its own.
SPARK: dict[str, SparkWorkload] = {
    workload.name: workload
    for workload in (*SPARK_STREAMS, SPARK_SMALL, SPARK_TABLE, SPARK_FLAT, SPARK_STATE)
}
TRACE = "trace"  # stands for every trace of `--data`


def available(data: Path | None) -> dict[str, Workload]:
    """Return all workloads by name, with the traces of a folder where one is given."""
    return WORKLOADS | {workload.name: workload for workload in (traces(data) if data else [])}

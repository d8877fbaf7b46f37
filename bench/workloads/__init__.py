"""The workloads by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.workloads.batch_sizes import BATCH_SIZES
from bench.workloads.endless import ENDLESS
from bench.workloads.first_result import FIRST_RESULT
from bench.workloads.import_time import IMPORT_TIME
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
TRACE = "trace"  # stands for every trace of `--data`


def available(data: Path | None) -> dict[str, Workload]:
    """Return all workloads by name, with the traces of a folder where one is given."""
    return WORKLOADS | {workload.name: workload for workload in (traces(data) if data else [])}

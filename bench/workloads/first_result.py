"""From the start of a process to its first result: kernels compiled before, and never on this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.model import Figure, Setting, Trial, Workload
from bench.workloads.fresh import seconds

TABLE = """
import numpy as np
import pyarrow as pa
import weft
at = np.arange(100_000)
rows = pa.table({"key": at % 1000, "ts": pa.array(at * 1000, pa.timestamp("us")), "a": at})
RESULT
assert result.num_rows == 199_000, result.num_rows
"""
SCRIPTS = {
    "table": TABLE.replace(
        "RESULT", 'result = weft.interval_join(rows, rows, on="key", time="ts", lower="0 s", upper="1 s")'
    ),
    "stream": TABLE.replace(
        "RESULT",
        """from weft.stream import IntervalJoin
join = IntervalJoin(on="key", time="ts", lower="0 s", upper="1 s", lateness="1 s")
result = join.push(left=rows, right=rows)""",
    ),
}


def job(_setting: Setting) -> Trial:
    """One repetition is four processes: a table and a stream, each with a warm and with an empty cache."""
    kept = tempfile.TemporaryDirectory(prefix="weft-bench-")
    warm_cache = Path(kept.name)

    def warm() -> None:
        for script in SCRIPTS.values():
            seconds(script, warm_cache)

    def measure() -> dict[str, float]:
        found = {}
        for name, script in SCRIPTS.items():
            found[f"{name}, compiled before"] = seconds(script, warm_cache)
            with tempfile.TemporaryDirectory(dir=kept.name) as empty:
                found[f"{name}, never compiled"] = seconds(script, Path(empty))
        return found

    return Trial(0, warm, measure)


FIRST_RESULT = Workload(
    name="first-result",
    summary="a fresh process to its first result",
    jobs={"weft": job},
    figures=tuple(
        figure
        for name in SCRIPTS
        for figure in (
            Figure(f"{name}, compiled before", "s", "lower", 1.5, 0.5),
            Figure(f"{name}, never compiled", "s", "lower", 20, 8),
        )
    ),
    sized=False,
)

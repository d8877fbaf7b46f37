"""One workload on Spark in a process of its own: `python -m bench.spark.worker '{"workload": ...}'`.

It writes a JSON line for each step, and at the end one with the entry for the result file, or with the error.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.spark.entries import entry_of
from bench.spark.model import Run
from bench.spark.session import opened
from bench.workloads import SPARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.store import Entry


def measured(order: dict[str, Any], tell: Callable[[str], None]) -> Entry:
    """Run the workload that is ordered; its files go with it."""
    workload = SPARK[order["workload"]]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        folder = Path(name)
        tell("starts Spark")
        spark = opened(folder)
        try:
            run = Run(spark, folder, order["rows"], order["turns"], workload.seed, tell, order["quick"])
            found = workload.measure(run)
            found.versions = {"spark": spark.version, "java": java_version(spark)}
        finally:
            spark.stop()
    return entry_of(workload, found)


def java_version(spark: Any) -> str:
    """Return the version of the Java that Spark runs on."""
    return str(spark.sparkContext._jvm.java.lang.System.getProperty("java.version"))


def main() -> None:
    """Keep stdout for the lines: what Spark prints goes to stderr."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    start = time.monotonic()

    def say(line: dict[str, Any]) -> None:
        lines.write(json.dumps(line) + "\n")
        lines.flush()

    try:
        entry = measured(
            json.loads(sys.argv[1]), lambda text: say({"tell": text, "at": time.monotonic() - start})
        )
        say({"entry": entry})
    except Exception:  # whatever it is, the runner has to hear of it
        say({"error": traceback.format_exc()})
        sys.exit(1)


if __name__ == "__main__":
    main()

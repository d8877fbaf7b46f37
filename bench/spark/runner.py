"""The runner's side of a workload on Spark: a process is started, heard, and ended when it takes too long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from threading import Timer
from typing import IO, TYPE_CHECKING, Any, cast

from bench.machine import ROOT
from bench.runner import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.runner import Options
    from bench.spark.model import SparkWorkload
    from bench.store import Entry

QUICK_ROWS, QUICK_TURNS = 10, 2
LIMIT = 1800  # seconds: several times what a workload takes on two cores
LAST = 4000  # characters of what Spark printed that go with an error


def order_of(workload: SparkWorkload, options: Options) -> dict[str, Any]:
    """Return what the process is told."""
    rows = options.rows or (max(1, workload.rows // QUICK_ROWS) if options.quick else workload.rows)
    turns = min(QUICK_TURNS if options.quick else options.repeat, workload.turns)
    return {"workload": workload.name, "rows": rows, "turns": turns, "quick": options.quick}


@contextmanager
def started(order: dict[str, Any], log: IO[str]) -> Iterator[subprocess.Popen[str]]:
    """Start the process in a group of its own; the group ends with the block, or when its time is over."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.spark.worker", json.dumps(order)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,
    )
    timer = Timer(LIMIT, end, [process])
    timer.start()
    try:
        with process:
            try:
                yield process
            except BaseException:
                end(process)
                raise
    finally:
        timer.cancel()


def end(process: subprocess.Popen[str]) -> None:
    """End a process and the JVM that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def run(workload: SparkWorkload, options: Options, tell: Callable[[str], None] = lambda _: None) -> Entry:
    """Run one workload on Spark with all its contenders."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        started(order_of(workload, options), log) as process,
    ):
        for line in cast("IO[str]", process.stdout):
            said = json.loads(line)
            if "entry" in said:
                return cast("Entry", said["entry"])
            if "error" in said:
                message = f"{workload.name} failed:\n{said['error']}"
                raise BenchError(message)
            tell(f"{workload.name}: {said['at']:.0f} s: {said['tell']}")
        log.seek(0)
        message = f"{workload.name} ended before it answered; it said:\n{log.read()[-LAST:]}"
        raise BenchError(message)

"""Spark's daemon of Python workers, whose workers die at chosen points of their work.

`spark.python.daemon.module` names it. Nothing of weft knows of it: what Spark calls, and what weft calls of
Spark, is wrapped in each worker. Points, in the order of a batch:

emit      an emitter has given packs away
take      a shard's turn begins
put       a chunk has been written; drop: one has been removed
pairs     pairs have been given away
commit    chunks are written, the manifest is not
committed the manifest is written
laid      a file for the shard's neighbours has been written
done      a shard's work is done and all is given away; Spark has not heard of the end
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any

# PySpark as it is installed: Spark puts its zip first, which holds no compiled modules and is slow to read.
sys.path.sort(key=lambda path: path.endswith(".zip"))

from pyspark import daemon

FOLDER = Path(os.environ.get("WEFT_CRASH", ""))  # of the trial


@cache
def plan() -> dict[str, Any]:
    """Return the plan of a trial."""
    read: dict[str, Any] = json.loads((FOLDER / "plan.json").read_text())
    return read


def reached(point: str) -> None:
    """Count that a worker came to a point, over all workers of a trial; die where the plan says so."""
    log = os.open(FOLDER / f"{point}.count", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, b".")
    number = os.lseek(log, 0, os.SEEK_CUR)
    os.close(log)
    for death in plan()["deaths"]:
        if (death["at"], death["number"]) == (point, number):
            (FOLDER / f"{point}.{number}.{death['whom']}.{os.getpid()}.death").touch()
            if death["whom"] == "worker":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(3600)  # the trial kills who is to die as soon as it sees the file


def told(work: Callable[..., Any], point: str) -> Any:
    """Return a function that comes to a point after its work."""

    @wraps(work)
    def call(*values: Any, **named: Any) -> Any:
        result = work(*values, **named)
        reached(point)
        return result

    return call


def given(method: Callable[..., Iterator[Any]], begun: str | None, each: str, done: str | None) -> Any:
    """Return a generator's method that comes to points when it begins, gives something away, and ends."""

    @wraps(method)
    def call(self: Any, *values: Any, **named: Any) -> Iterator[Any]:
        if begun:
            reached(begun)
        for one in method(self, *values, **named):
            yield one
            reached(each)
        if done:
            reached(done)

    return call


@cache
def prepare() -> None:
    """Wrap what a worker calls, once: it is a worker again for every task."""
    from pyspark.sql.streaming.stateful_processor import MapState, ValueState

    from weft.spark import residents
    from weft.spark.emitter import Emitter
    from weft.spark.processor import JoinProcessor
    from weft.state import images

    update = ValueState.update

    def updated(self: Any, value: Any) -> None:
        manifest = self._stateName == "manifest"
        if manifest:
            reached("commit")
        update(self, value)
        if manifest:
            reached("committed")

    ValueState.update = updated
    MapState.updateValue = told(MapState.updateValue, "put")
    MapState.removeKey = told(MapState.removeKey, "drop")
    Emitter.__call__ = given(Emitter.__call__, None, "emit", None)
    work = given(JoinProcessor.handleInputRows, "take", "pairs", "done")
    JoinProcessor.handleInputRows = work
    images.write = told(images.write, "laid")
    residents.WORTH = plan()["worth"]


def main() -> None:
    """Be Spark's daemon."""
    work = daemon.worker

    def worker(*values: Any) -> int:
        prepare()
        return work(*values)

    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()

"""Clocks around what workers do, put on from outside: the product's code knows nothing of them.

`python -m bench.spark.hooks pyspark.worker` is a daemon that Spark starts instead of its own. Each worker
that it forks times the functions named below and writes a JSON line a task into the folder that
WEFT_BENCH_CLOCKS names. A function that is not there any more is left out.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "WEFT_BENCH_CLOCKS"
MODULE = "bench.spark.hooks"

# Part of the work: where the functions are. Time counts where it is spent: no inner part is in the outer one.
PARTS = {
    "unpack": (
        "weft.runtimes.replica:read_table",
        "weft.runtimes.replica:arrive",
        "weft.runtimes.replica:judge",
    ),
    "keys": ("weft.runtimes.replica:batch_of",),
    "match": (
        "weft.operators.interval:IntervalJoin.prepare",
        "weft.operators.interval:IntervalJoin.match",
        "weft.indexes.runs:Runs.insert",
    ),
    "write pairs": ("weft.runtimes.replica:result_table",),
    "frames": ("weft.spark.results:Results.frames", "weft.spark.results:Results.told"),
    "commit": ("weft.runtimes.replica:Replica._commit",),
    "state store": (
        "weft.spark.turn:ChunkStore.get",
        "weft.spark.turn:ChunkStore.put",
        "weft.spark.turn:ChunkStore.drop",
        "pyspark.sql.streaming.stateful_processor:ValueState.get",
        "pyspark.sql.streaming.stateful_processor:ValueState.update",
    ),
    "read state back": ("weft.spark.turn:caught_up",),
    "map images": ("weft.spark.residents:mapped",),
    "write images": ("weft.spark.residents:keep",),
    "route": ("weft.spark.emitter:Emitter._packed",),
}
# Generators that are a task's work: what they take in, and the place of that argument.
WORK = {
    "emitter": ("weft.spark.emitter:Emitter.__call__", 1),
    "replica": ("weft.spark.turn:Turn.take", 1),
}
OTHERS = ("waits for rows", "hands over", "other")


class Clock:
    """Seconds and processor seconds by part, of the task at hand; parts inside parts count once."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin a new task."""
        self.wall: dict[str, float] = {}
        self.work: dict[str, float] = {}
        self._open: list[tuple[str, float, float]] = []
        self._since = time.perf_counter(), time.thread_time()

    def _spend(self) -> None:
        now = time.perf_counter(), time.thread_time()
        name = self._open[-1][0] if self._open else ""
        self.wall[name] = self.wall.get(name, 0.0) + now[0] - self._since[0]
        self.work[name] = self.work.get(name, 0.0) + now[1] - self._since[1]
        self._since = now

    def enter(self, name: str) -> None:
        """From now on time goes to this part."""
        self._spend()
        self._open.append((name, *self._since))

    def leave(self) -> None:
        """And now to the one around it again."""
        self._spend()
        self._open.pop()


CLOCK = Clock()


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose time counts as this part."""

    @functools.wraps(function)
    def clocked(*arguments: Any, **named: Any) -> Any:
        CLOCK.enter(name)
        try:
            return function(*arguments, **named)
        finally:
            CLOCK.leave()

    return clocked


def watched(name: str, iterator: Iterator[Any]) -> Iterator[Any]:
    """Return an iterator whose time counts as this part."""
    while True:
        CLOCK.enter(name)
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            CLOCK.leave()
        yield item


def working(kind: str, function: Callable[..., Iterator[Any]], place: int) -> Callable[..., Iterator[Any]]:
    """Return a generator function that counts what it does, what it waits for, and what it hands over."""

    @functools.wraps(function)
    def clocked(*arguments: Any, **named: Any) -> Iterator[Any]:
        given, keys = list(arguments), dict(named)
        holder: Any = given if len(given) > place else keys
        slot: Any = place if holder is given else "rows"
        holder[slot] = watched("waits for rows", iter(holder[slot]))
        CLOCK.enter("other")
        try:
            for item in function(*given, **keys):
                CLOCK.enter("hands over")
                yield item
                CLOCK.leave()
        finally:
            CLOCK.leave()
        KINDS.append(kind)

    return clocked


KINDS: list[str] = []


def found(place: str) -> tuple[Any, str] | None:
    """Return the owner and the name of a function; None where it is not there."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    try:
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
    return (owner, name) if hasattr(owner, name) else None


def missing() -> list[str]:
    """Return the functions that are not there any more: their time counts as `other`."""
    places = [place for part in PARTS.values() for place in part] + [place for place, _ in WORK.values()]
    return [place for place in places if found(place) is None]


def install(folder: Path) -> None:
    """Put all clocks on, in this process."""
    for name, places in PARTS.items():
        for owner, attribute in filter(None, map(found, places)):
            setattr(owner, attribute, timed(name, getattr(owner, attribute)))
    for kind, (place, argument) in WORK.items():
        if here := found(place):
            setattr(here[0], here[1], working(kind, getattr(*here), argument))
    tasks(folder)


def tasks(folder: Path) -> None:
    """Have every task of this worker write its line."""
    worker: Any = importlib.import_module("pyspark.worker")
    run, read = worker.main, worker.WorkerInitInfo.from_stream
    started = time.time()
    begun = {"at": started, "clock": 0.0, "cpu": 0.0}

    def from_stream(stream: Any) -> Any:
        """The worker has waited for its next task until now."""
        CLOCK.forget()
        KINDS.clear()
        begun.update(at=time.time(), clock=time.perf_counter(), cpu=time.process_time())
        return read(stream)

    def main(infile: Any, outfile: Any) -> None:
        try:
            run(infile, outfile)
        finally:
            CLOCK.enter("")
            line = {
                "kind": KINDS[0] if KINDS else "",
                "worker": os.getpid(),
                "alive": begun["at"] - started,
                "begun": begun["at"],
                "seconds": time.perf_counter() - begun["clock"],
                "cpu": time.process_time() - begun["cpu"],
                "wall": CLOCK.wall,
                "work": CLOCK.work,
            }
            with (folder / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    worker.WorkerInitInfo.from_stream = from_stream
    worker.main = main


def serve() -> None:
    """Be Spark's daemon, whose workers have clocks."""
    daemon: Any = importlib.import_module("pyspark.daemon")
    folder = Path(os.environ[FOLDER])
    forked = daemon.worker
    ready: list[bool] = []

    def worker(sock: Any, authenticated: bool) -> int:  # noqa: FBT001 - Spark's own signature
        if not ready:
            install(folder)
            ready.append(True)
        return int(forked(sock, authenticated))

    daemon.worker = worker
    daemon.manager()


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return what all tasks have written, in the order in which they began."""
    written = [
        json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines() if line
    ]
    return sorted(written, key=lambda line: line["begun"])


if __name__ == "__main__":
    serve()

"""One run: files are written, the query joins them; what was seen of both is kept for view and picture."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from threading import Event
from typing import TYPE_CHECKING, Any

from weft.demo.traffic import Traffic, sides
from weft.demo.writer import Arrival, write_files
from weft.errors import WeftError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

SIDES = ("impressions", "clicks")
LOOK = 0.25  # seconds between two looks at the query
PATIENCE = 300  # seconds without a batch, once all is written, after which the query is given up
MOST_CORES = 4  # a task takes a Python process: no more of them than any laptop has room for
SETTINGS = {"spark.ui.enabled": False, "spark.ui.showConsoleProgress": False}


class DemoError(Exception):
    """The demo cannot go on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a micro-batch told: when it ended, how long it took, its counts, the watermark, the state."""

    batch: int
    ended: float
    seconds: float
    rows: int
    pairs: int
    late: int
    watermark: float | None
    state_rows: Mapping[str, int]
    state_bytes: int


@dataclass(slots=True)
class Run:
    """All that is known of a run: times are seconds since 1970."""

    folder: Path
    traffic: Traffic
    began: float = 0
    ended: float = 0
    arrivals: list[Arrival] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    @property
    def picture(self) -> Path:
        """Return where the picture lies."""
        return self.folder / "picture.png"

    @property
    def log(self) -> Path:
        """Return the file that holds what Spark says."""
        return self.folder / "spark.log"

    def until(self, batches: int) -> Run:
        """Return the run as it was after so many batches."""
        return replace(self, readings=self.readings[:batches])

    def written(self, side: str) -> int:
        """Return how many rows of a side have been written."""
        return sum(arrival.rows for arrival in list(self.arrivals) if arrival.side == side)

    @property
    def newest(self) -> float | None:
        """Return the newest time that has been written."""
        return max((each.newest for each in list(self.arrivals) if each.newest is not None), default=None)

    def total(self, what: str) -> int:
        """Return the sum over all batches: of rows, pairs or late."""
        return sum(getattr(reading, what) for reading in self.readings)

    @property
    def ends(self) -> list[float]:
        """Return when the batches ended, and first the start of all, in seconds since the start."""
        return [0.0, *(reading.ended - self.began for reading in self.readings)]

    def rates(self, what: str) -> list[float]:
        """Return rows or pairs a second of each batch, counted from the end of the one before."""
        spans = (max(end - start, 1e-3) for start, end in pairwise(self.ends))
        return [getattr(reading, what) / span for reading, span in zip(self.readings, spans, strict=True)]


def reading_of(progress: Any) -> Reading | None:
    """Return what a `StreamingQueryProgress` tells; None where it is of no batch of the join."""
    told = next((row for name, row in progress.observedMetrics.items() if name.startswith("weft")), None)
    if told is None or told["pairs"] is None:
        return None
    seconds = progress.durationMs["triggerExecution"] / 1000
    return Reading(
        batch=progress.batchId,
        ended=seconds_of(progress.timestamp) + seconds,
        seconds=seconds,
        rows=progress.numInputRows,
        pairs=told["pairs"],
        late=told["late_left"] + told["late_right"],
        watermark=None if told["watermark"] is None else seconds_of(told["watermark"]),
        state_rows={"impressions": told["state_rows_left"], "clicks": told["state_rows_right"]},
        state_bytes=told["state_bytes"],
    )


def seconds_of(text: str) -> float:
    """Return a time such as 2026-03-01T12:00:00.000Z in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


@contextlib.contextmanager
def errors_to(path: Path) -> Iterator[None]:
    """Send what this process and those it starts write to stderr to a file; those it starts keep to it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def started(run: Run) -> Iterator[None]:
    """Start Spark on a few cores, its words sent to a file, and stop it at the end."""
    import weft.spark

    cores = min(os.cpu_count() or 1, MOST_CORES)
    with errors_to(run.log):
        with told("Spark did not start", run), no_orphans():
            spark = weft.spark.session(f"local[{cores}]", "weft demo", **SETTINGS)
        try:
            yield
        finally:
            spark.stop()


@contextlib.contextmanager
def no_orphans() -> Iterator[None]:
    """End what this process has started if it is interrupted: a JVM that has just begun outlives PySpark."""
    import psutil

    try:
        yield
    except BaseException:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave it half done
        for child in psutil.Process().children(recursive=True):
            child.kill()
        signal.signal(signal.SIGINT, before)
        raise


@contextlib.contextmanager
def told(what: str, run: Run) -> Iterator[None]:
    """Say in short what failed; the whole of it goes to the log."""
    try:
        yield
    except WeftError:
        raise
    except Exception as error:
        traceback.print_exc()
        first = str(error).strip().splitlines()[:2]
        message = f"{what}: {' '.join(first)}\n\nHint: weft doctor; all that Spark said is in {run.log}"
        raise DemoError(message) from error


def play(run: Run, show: Callable[[], None]) -> None:
    """Write the files and join them, `show` four times a second, until every row has been through."""
    from weft.demo.join import live_join

    files = sides(run.traffic)
    for side in SIDES:
        (run.folder / side).mkdir()
    stop = Event()
    with ThreadPoolExecutor(1, "files") as pool:
        run.began = time.time()
        writing = pool.submit(write_files, run.folder, files, run.traffic.pause, run.arrivals, stop)
        query = None
        try:
            with told("The query did not start", run):
                query = live_join(run.folder)
            follow(run, query, files, show)
            writing.result()
        finally:
            stop.set()
            if query is not None:
                query.stop()
    run.ended = time.time()


def follow(run: Run, query: Any, files: Mapping[str, Sequence[pa.Table]], show: Callable[[], None]) -> None:
    """Read the query's progress until it has taken every row of every file."""
    expected = sum(table.num_rows for tables in files.values() for table in tables)
    hint = f"\n\nHint: all that Spark said is in {run.log}"
    last = time.monotonic()
    while run.total("rows") < expected:
        time.sleep(LOOK)
        if look(run, query) or len(run.arrivals) < len(SIDES) * run.traffic.files:
            last = time.monotonic()
        show()
        if not query.isActive:
            message = f"The query stopped: {query.exception()}{hint}"
            raise DemoError(message)
        if time.monotonic() - last > PATIENCE:
            message = f"No batch ended in {PATIENCE} seconds.{hint}"
            raise DemoError(message)


def look(run: Run, query: Any) -> bool:
    """Read the batches that ended since the last look; tell whether there were any."""
    seen = run.readings[-1].batch if run.readings else -1
    fresh = [progress for progress in query.recentProgress if progress.batchId > seen]
    readings = [reading for progress in fresh if (reading := reading_of(progress)) is not None]
    run.readings.extend(readings)
    return bool(readings)

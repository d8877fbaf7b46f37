"""Where the time of a warm micro-batch goes: Spark's fixed steps, the emitter, the replica part by part."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.spark.feed import draw
from bench.spark.hooks import FOLDER, MODULE, OTHERS, PARTS, lines, missing
from bench.spark.lanes import open_lane
from bench.spark.model import Run
from bench.spark.processes import Sample, sampled
from bench.spark.samples import recorded, shares
from bench.spark.session import opened

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from bench.spark.compare import Contender
    from bench.spark.lanes import Batch
    from bench.spark.model import SparkCase, SparkWorkload

BATCHES = 8
MOST = 16  # methods of the JVM
LEAST = 0.05  # milliseconds: parts below it are left out
FRESH = 0.5  # seconds since its fork: a task on such a worker waited for imports
STEPS = ("latestOffset", "queryPlanning", "getBatch", "walCommit", "addBatch", "commitOffsets", "commitBatch")


@dataclass(frozen=True, slots=True)
class Profile:
    """Measured batches, what every Python task of theirs wrote, and the processes before and after."""

    batches: Sequence[Batch]
    tasks: Sequence[Mapping[str, Any]]
    before: Sample
    after: Sample
    samples: tuple[Counter[str], Counter[str]]


def profile(workload: SparkWorkload) -> list[str]:
    """Run weft's side of a workload with clocks in its workers; return the lines of the report."""
    if workload.lanes is None:
        return [f"{workload.name} has no micro-batches of its own to look into"]
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        folder = Path(name)
        clocks = folder / "clocks"
        clocks.mkdir()
        os.environ[FOLDER] = str(clocks)
        spark = opened(folder, {"spark.python.daemon.module": MODULE})
        try:
            run = Run(spark, folder, workload.rows, 1, workload.seed, lambda _: None)
            case, contenders = workload.lanes(run)
            taken = watched(run, case, contenders["weft"], clocks)
        finally:
            spark.stop()
    return [f"{workload.name}: {workload.summary}", *report(taken)]


def watched(run: Run, case: SparkCase, weft: Contender, clocks: Path) -> Profile:
    """Warm up, then take the batches that count."""
    size = weft.turn[0]
    data = draw(case, sum(weft.warm) + BATCHES * size, run.seed)
    lane = open_lane("weft", run, data, case, weft.make({}))
    lane.take(weft.warm)
    before, since = sampled(run.spark), time.time()
    with recorded(run.spark, run.folder / "samples.jfr"):
        batches = lane.take([size] * BATCHES)
        after = sampled(run.spark)
    lane.query.stop()
    tasks = [task for task in lines(clocks) if task["begun"] >= since]
    return Profile(batches, tasks, before, after, shares(run.spark, run.folder / "samples.jfr"))


def report(taken: Profile) -> list[str]:
    """Return the report as text."""
    seconds = [batch.seconds for batch in taken.batches]
    rows = taken.batches[0].rows
    wall = median(seconds)
    head = f"micro-batch {wall * 1000:.0f} ms ({min(seconds) * 1000:.0f}..{max(seconds) * 1000:.0f}), "
    return [
        f"{head}{rows:,} rows in, {median(batch.out for batch in taken.batches):,.0f} pairs out, "
        f"{rows / wall:,.0f} rows/s",
        "steps of the micro-batch, ms: "
        + ", ".join(f"{name} {value:.0f}" for name, value in steps(taken.batches)),
        *(line for kind in ("emitter", "replica") for line in stage(kind, taken)),
        *processor_lines(taken, wall),
        *worker_lines(taken),
        *(f"not found, counted as other: {place}" for place in missing()),
    ]


def steps(batches: Sequence[Batch]) -> Iterator[tuple[str, float]]:
    """Return Spark's own parts of a batch, in milliseconds."""
    for name in STEPS:
        if any(name in batch.parts for batch in batches):
            yield name, 1000 * median(batch.parts.get(name, 0.0) for batch in batches)


def stage(kind: str, taken: Profile) -> Iterator[str]:
    """Return what a task of this kind does: wall and processor time of each part, a task's mean."""
    tasks = [task for task in taken.tasks if task["kind"] == kind]
    if not tasks:
        yield f"{kind}: no task has been seen"
        return
    count, each = len(tasks), len(tasks) / len(taken.batches)
    wall, cpu = (1000 * sum(task[name] for task in tasks) / count for name in ("seconds", "cpu"))
    slowest = 1000 * median(slowest_tasks(tasks, round(each) or 1))
    yield (
        f"{kind}: {each:g} tasks a batch; a task {wall:.0f} ms (the slowest {slowest:.0f}), "
        f"{cpu:.0f} of processor"
    )
    for part in (*PARTS, *OTHERS, ""):
        spent, worked = (
            1000 * sum(task[which].get(part, 0.0) for task in tasks) / count for which in ("wall", "work")
        )
        if spent >= LEAST:
            yield f"  {part or 'around it: Spark, start':26}{spent:8.1f} ms{worked:8.1f} of processor"


def slowest_tasks(tasks: Sequence[Mapping[str, Any]], each: int) -> list[float]:
    """Return the longest task of every batch."""
    groups = [tasks[start : start + each] for start in range(0, len(tasks), each)]
    return [max(task["seconds"] for task in group) for group in groups]


def processor_lines(taken: Profile, wall: float) -> Iterator[str]:
    """Return who used the processor: Python, the JVM and what in it."""
    count = len(taken.batches)
    python, jvm, collecting, compiling = (
        1000 * (getattr(taken.after, name) - getattr(taken.before, name)) / count
        for name in ("python_cpu", "jvm_cpu", "jvm_gc", "jvm_jit")
    )
    in_tasks = 1000 * sum(task["cpu"] for task in taken.tasks) / count
    yield (
        f"processor, ms a batch (2 cores have {2000 * wall:.0f}): "
        f"Python {python:.0f} ({in_tasks:.0f} in tasks), "
        f"JVM {jvm:.0f} (wall: collecting garbage {collecting:.0f}, compiling {compiling:.0f})"
    )
    owners, methods = taken.samples
    total = max(sum(owners.values()), 1)
    listed = ", ".join(f"{name} {number / total:.0%}" for name, number in owners.most_common())
    yield f"JVM, samples of Java code: {listed}"
    yield from (f"  {number / total:5.1%}  {name}" for name, number in methods.most_common(MOST))


def worker_lines(taken: Profile) -> Iterator[str]:
    """Return how many workers there were, how often state was read back, and what all hold at the end."""
    workers = {task["worker"] for task in taken.tasks}
    fresh = sum(task["alive"] < FRESH for task in taken.tasks)
    caught, mapped = (
        sum(part in task["wall"] for task in taken.tasks) for part in ("read state back", "map images")
    )
    memory = taken.after
    yield (
        f"workers: {len(workers)}, {fresh} tasks on new ones; "
        f"of {len(taken.tasks)} tasks {mapped} looked for another worker's images, {caught} read state back"
    )
    yield (
        f"memory, MiB: Python workers {memory.python:.0f}, "
        f"JVM {memory.jvm:.0f} (heap in use {memory.heap:.0f})"
    )

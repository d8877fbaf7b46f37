"""The runner: a process a contender, answers compared first, then repetitions in turns (A B C, A B C)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, cast

from bench.machine import ROOT, commit, machine, versions
from bench.store import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench.model import Figure, Workload
    from bench.store import Entry, Judged, Measured, Spread

# Read by the libraries when they are imported, so they are set before the process starts.
ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
QUICK_ROWS, QUICK_REPEAT = 10, 2  # a tenth of the rows, two repetitions


class BenchError(Exception):
    """A contender failed, or two of them found different answers."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: repetitions, rows a side (None: the workload's own), where real traces lie."""

    repeat: int = 5
    rows: int | None = None
    data: Path | None = None
    quick: bool = False

    def rows_of(self, workload: Workload) -> int:
        """Return how many rows a side this workload gets."""
        if self.rows is not None and workload.sized:
            return self.rows
        return max(1, workload.rows // QUICK_ROWS) if self.quick and workload.sized else workload.rows

    def repeat_of(self, workload: Workload) -> int:
        """Return how often this workload is measured."""
        return min(QUICK_REPEAT if self.quick else self.repeat, workload.repeat)


@dataclass(frozen=True, slots=True)
class Worker:
    """The runner's end of one contender's process."""

    name: str
    orders: IO[str]
    replies: IO[str]

    def hear(self) -> dict[str, Any]:
        """Return the next reply; raise what went wrong there."""
        line = self.replies.readline()
        if not line:
            message = f"{self.name} ended before it answered (killed? out of memory?)"
            raise BenchError(message)
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            message = f"{self.name} failed:\n{reply['error']}"
            raise BenchError(message)
        return reply

    def ask(self, command: str) -> dict[str, Any]:
        """Give a command and wait for its reply."""
        self.orders.write(command + "\n")
        self.orders.flush()
        return self.hear()


def core() -> int:
    """Return the core to measure on: the last one, as the first serves most interrupts."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


@contextmanager
def started(workload: Workload, contender: str, options: Options) -> Iterator[Worker]:
    """Start a contender's process; it ends with the block."""
    order = {
        "workload": workload.name,
        "contender": contender,
        "rows": options.rows_of(workload),
        "seed": workload.seed,
        "data": str(options.data) if options.data else "",
        "core": core(),
    }
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.worker", json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
    )
    with process:
        try:
            yield Worker(contender, cast("IO[str]", process.stdin), cast("IO[str]", process.stdout))
        except BaseException:
            process.kill()
            raise


@dataclass(slots=True)
class Field:
    """The contenders that are ready, what they said then, and those whose library is not installed."""

    workers: dict[str, Worker]
    ready: dict[str, dict[str, Any]]
    missing: dict[str, str]


def gather(workload: Workload, options: Options, stack: ExitStack, tell: Callable[[str], None]) -> Field:
    """Start all contenders, one after the other."""
    field = Field({}, {}, {})
    for name in workload.jobs:
        tell(f"{workload.name}: {name} loads")
        worker = stack.enter_context(started(workload, name, options))
        reply = worker.hear()
        if "missing" not in reply:
            field.workers[name], field.ready[name] = worker, reply
        else:
            field.missing[name] = f"{reply['missing']} is not installed (pip install 'weft[bench]')"
    return field


def agreed(workload: Workload, answers: dict[str, dict[str, Any]]) -> tuple[int | None, str | None]:
    """Return the pairs and the checksum that all contenders found; fail where they differ."""
    distinct = {(answer.get("pairs"), answer.get("checksum")) for answer in answers.values()}
    if len(distinct) > 1:
        listing = "\n".join(f"  {name}: {answer}" for name, answer in answers.items())
        message = f"{workload.name}: the contenders disagree\n{listing}"
        raise BenchError(message)
    return distinct.pop()


def take_turns(
    workload: Workload, workers: dict[str, Worker], repeat: int, tell: Callable[[str], None]
) -> dict[str, list[dict[str, Any]]]:
    """Return the replies of all repetitions, taken in turns so that a slow minute hits every contender."""
    replies: dict[str, list[dict[str, Any]]] = {name: [] for name in workers}
    for number in range(repeat):
        tell(f"{workload.name}: repetition {number + 1} of {repeat}")
        for name, worker in workers.items():
            replies[name].append(worker.ask("measure"))
    return replies


def figures_of(replies: list[dict[str, Any]]) -> dict[str, Spread]:
    """Return the spread of every figure."""
    return {name: spread([reply["figures"][name] for reply in replies]) for name in replies[0]["figures"]}


def ratio(own: Spread, peer: Spread) -> Spread:
    """Return the spread of the ratios of one turn each."""
    return spread([one / other for one, other in zip(own["values"], peer["values"], strict=True)])


def measured(replies: dict[str, list[dict[str, Any]]]) -> dict[str, Measured]:
    """Return what is written down about every contender."""
    figures = {name: figures_of(given) for name, given in replies.items()}
    first, *peers = figures
    return {
        name: {
            "figures": figures[name],
            "ratios": {each: ratio(figures[first][each], figures[name][each]) for each in figures[name]}
            if name in peers
            else {},
            "memory_mib": round(max(reply["memory_mib"] for reply in given), 1),
        }
        for name, given in replies.items()
    }


def judged(figure: Figure, contenders: dict[str, Measured]) -> Judged | None:
    """Return a figure beside what it should reach; None where it was not measured."""
    own = next(iter(contenders.values()))["figures"].get(figure.name)
    over = [name for name in figure.over if name in contenders]
    if own is None or (figure.over and not over):
        return None
    if over:
        best = [
            max(turn)
            for turn in zip(
                *(contenders[name]["figures"][figure.name]["values"] for name in over), strict=True
            )
        ]
        own = ratio(own, spread(best))
    return {
        "figure": figure.name,
        "unit": figure.unit,
        "better": figure.better,
        "at_least": figure.at_least,
        "goal": figure.goal,
        "over": over,
        "value": own,
    }


def check_pairs(workload: Workload, pairs: int | None, replies: dict[str, list[dict[str, Any]]]) -> None:
    """Fail where a timed repetition gave another number of pairs than the first run."""
    for name, given in replies.items():
        for reply in given:
            counted = reply["figures"].pop("pairs", pairs)
            if counted != pairs:
                message = f"{workload.name}: {name} gave {counted} pairs in a repetition; {pairs} before"
                raise BenchError(message)


def run(workload: Workload, options: Options, tell: Callable[[str], None] = lambda _: None) -> Entry:
    """Run one workload with all its contenders."""
    with ExitStack() as stack:
        field = gather(workload, options, stack, tell)
        tell(f"{workload.name}: first runs, answers compared")
        pairs, total = agreed(workload, {name: worker.ask("warm") for name, worker in field.workers.items()})
        replies = take_turns(workload, field.workers, options.repeat_of(workload), tell)
    check_pairs(workload, pairs, replies)
    contenders = measured(replies)
    first = next(iter(field.ready.values()))
    return {
        "workload": workload.name,
        "summary": workload.summary,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "seed": workload.seed,
        "rows": first["rows"],
        "pairs": pairs,
        "checksum": total,
        "repetitions": options.repeat_of(workload),
        "machine": machine(pinned=first["pinned"]),
        "versions": versions(),
        "contenders": contenders,
        "judged": [line for figure in workload.figures if (line := judged(figure, contenders))],
        "missing": field.missing,
    }

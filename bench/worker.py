"""One contender in a process of its own: one core, one thread, commands on stdin, a JSON line back for each.

`python -m bench.worker '{"workload": "W1", "contender": "weft", ...}'`; the runner starts it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
OPTIONAL = {"polars", "duckdb"}  # peers that are left out where they are not installed


def pin(core: int) -> bool:
    """Stay on this core; False where the system has no such call (macOS)."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {core})
    return True


def one_thread() -> None:
    """Tell Arrow; the others read the environment that the runner has set."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def peak() -> float:
    """Return the most memory this process held at once, in MiB (since `forget_peak`, on Linux)."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB


def forget_peak() -> None:
    """Let the peak start again from what is held now (Linux; elsewhere it stays)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


class Serving:
    """Answers the runner's commands for one contender."""

    def __init__(self, order: dict[str, Any]) -> None:
        from bench.model import Setting
        from bench.workloads import available

        data = Path(order["data"]) if order["data"] else None
        job = available(data)[order["workload"]].jobs[order["contender"]]
        self.trial = job(Setting(order["rows"], order["seed"], data))

    def warm(self) -> dict[str, Any]:
        """Run once; the answer is compared with the other contenders'."""
        answer = self.trial.warm()
        forget_peak()
        return {} if answer is None else {"pairs": answer.pairs, "checksum": f"{answer.checksum:016x}"}

    def measure(self) -> dict[str, Any]:
        """Run one repetition."""
        figures = self.trial.measure()
        return {"figures": figures, "memory_mib": peak()}


def loaded(order: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> Serving | None:
    """Load the contender and say so; None where its library is not installed."""
    pinned = pin(order["core"])
    one_thread()
    try:
        serving = Serving(order)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        say({"missing": error.name})
        return None
    say({"rows": serving.trial.rows, "pinned": pinned})
    return serving


def serve(order: dict[str, Any], lines: IO[str], out: IO[str]) -> None:
    """Load, then obey until the input ends."""

    def say(reply: dict[str, Any]) -> None:
        out.write(json.dumps(reply) + "\n")
        out.flush()

    try:
        if serving := loaded(order, say):
            for line in lines:
                say(serving.warm() if line.strip() == "warm" else serving.measure())
    except Exception:  # whatever it is, the runner has to hear of it
        say({"error": traceback.format_exc()})


def main() -> None:
    """Keep stdout for the replies: what a library prints goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(json.loads(sys.argv[1]), sys.stdin, replies)


if __name__ == "__main__":
    main()

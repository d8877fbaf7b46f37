"""Where the time of a workload goes: `python -m bench.profile W1` prints functions by their own time."""

from __future__ import annotations

import cProfile
import pstats
import sys
from pathlib import Path

from bench.model import Setting
from bench.worker import one_thread, pin
from bench.workloads import available

SEED = 20261119
MOST = 12  # lines


def profiled(name: str) -> pstats.Stats:
    """Run a workload once unmeasured, once measured; return what each function took in the second."""
    workload = available(None)[name]
    job = next(job for contender, job in workload.jobs.items() if contender.startswith("weft"))
    trial = job(Setting(workload.rows, SEED, None))
    trial.warm()
    profile = cProfile.Profile()
    profile.runcall(trial.measure)
    return pstats.Stats(profile)


def lines(stats: pstats.Stats) -> list[str]:
    """Return the functions that took most by themselves: their share of all, calls, file and name."""
    taken = sorted(((own, calls, place) for place, (_, calls, own, *_) in stats.stats.items()), reverse=True)  # type: ignore[attr-defined]
    total = sum(own for own, _, _ in taken)
    return [
        f"{own / total:6.1%}  {calls:>7,} calls  {Path(file).name}: {function}"
        for own, calls, (file, _, function) in taken[:MOST]
    ]


def main() -> None:
    """Profile the workloads that are named."""
    pin(0)
    one_thread()
    for name in sys.argv[1:]:
        print(name, *lines(profiled(name)), sep="\n")


if __name__ == "__main__":
    main()

"""Where the time of a workload goes: `python -m bench.profile W1` prints functions by their own time.

Of a workload on Spark (`python -m bench.profile spark-w1-500k`) it prints the parts of a warm micro-batch.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from pathlib import Path

from bench.model import Setting
from bench.worker import one_thread, pin
from bench.workloads import SPARK, available

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


def on_spark(name: str) -> list[str]:
    """Return the parts of a micro-batch of this workload."""
    from bench.spark.profile import profile

    return profile(SPARK[name])


def main() -> None:
    """Profile the workloads that are named."""
    names = sys.argv[1:]
    for name in names:
        if name in SPARK:  # on all cores
            print(*on_spark(name), sep="\n")
    if single := [name for name in names if name not in SPARK]:
        pin(0)
        one_thread()
        for name in single:
            print(name, *lines(profiled(name)), sep="\n")


if __name__ == "__main__":
    main()

"""What happens in a trial: its join, its session and who dies when, all drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Literal

from tests.crash.data import SECOND, Feed

# The files that Spark writes for a batch, in their order; the state's number is one more.
FILES = {
    "offsets": "checkpoint/offsets/{}",
    "state": "checkpoint/state/0/*/{}.*",
    "sink": "out/_spark_metadata/{}",
    "commits": "checkpoint/commits/{}",
}
POINTS = ("emit", "take", "put", "drop", "pairs", "commit", "committed", "laid", "done")
SPREAD = ((-9, -4), (-4, 6), (-1, 2), (0, 12), (2, 6), (-9, 12))  # seconds
STORE = "spark.sql.streaming.stateStore."

CLUSTER = "local-cluster[2,1,1024]"  # two executors, each a JVM of its own

Whom = Literal["all", "executor", "worker"]


@dataclass(frozen=True, slots=True)
class Death:
    """Who dies when: after a batch's file is there and a part of a batch's time has gone, or at a point.

    A point is one of the daemon's, come to for the `number`-th time. `lost` says how many of a batch's last
    files are taken away then, as if all had died before: the commit, and what the sink says of the batch.
    """

    whom: Whom
    at: str
    number: int
    wait: float = 0.0
    lost: int = 0

    def __str__(self) -> str:
        after = f" and {self.wait} of a batch" if self.wait else ""
        lost = f", the last {self.lost} files lost" if self.lost else ""
        return f"{self.whom} at {self.at} {self.number}{after}{lost}"


@dataclass(frozen=True, slots=True)
class Trial:
    """A join, its input, the session's settings, and the deaths."""

    seed: int
    feed: Feed
    arguments: Mapping[str, Any]
    window: tuple[int, int]  # microseconds
    conf: Mapping[str, str]
    taken: int  # files of each input in a batch
    masters: tuple[str, ...]  # of the runs, in turn: not all are on as large a machine
    worth: int  # rows from which a shard's state lies in files for its neighbours
    deaths: tuple[Death, ...]

    def plan(self) -> dict[str, Any]:
        """Return what the program and the workers have to know."""
        places = self.feed.places()
        return {
            "arguments": self.arguments,
            "conf": self.conf,
            "files": self.taken,
            "worth": self.worth,
            "inputs": [[f"{side}{number}" for side, number in places if side == one] for one in "lr"],
            "deaths": [asdict(death) for death in self.deaths],
        }


def draw(seed: int, whom: Whom | None = None, batches: int = 0, deaths: int = 0) -> Trial:
    """Return the trial of a seed; what is left out is drawn too, and some trials are on a cluster then."""
    random = Random(seed)
    batches = batches or random.choice((8, 8, 12))
    taken, inputs = random.choice((1, 1, 2)), random.choice(((1, 1), (1, 2), (2, 1)))
    lower, upper = random.choice(SPREAD)
    arguments = {
        "on": "key",
        "time": "ts",
        "lower": f"{lower} seconds",
        "upper": f"{upper} seconds",
        "lateness": random.choice(("5 seconds", "12 seconds", "40 seconds")),
        "late": random.choice(("drop", "fail")),
        "replicas": random.choice((None, None, 3)),
    }
    conf = {
        "spark.sql.shuffle.partitions": random.choice(("2", "2", "1", "3")),
        f"{STORE}minDeltasForSnapshot": random.choice(("2", "10")),
        f"{STORE}maintenanceInterval": random.choice(("200ms", "60s")),
        "spark.sql.streaming.minBatchesToRetain": random.choice(("2", "100")),
    }
    width = sum(inputs), int(arguments["replicas"] or conf["spark.sql.shuffle.partitions"])
    cluster = whom is None and random.random() < 0.2
    anybody: tuple[Whom, ...] = ("all", "worker", "executor", "executor") if cluster else ("all", "worker")
    whose = [whom or random.choice(anybody) for _ in range(deaths or random.choice((1, 1, 2, 3)))]
    machines = random.choice((("local[2,4]",), ("local[2,4]", "local[1,4]")))
    return Trial(
        seed=seed,
        feed=Feed(seed, inputs, batches * taken, 400, disorder=5, nested=random.random() < 0.3),
        arguments=arguments,
        window=(lower * SECOND, upper * SECOND),
        conf=conf,
        taken=taken,
        masters=(CLUSTER,) if cluster else machines,
        worth=random.choice((0, 0, 500)),
        deaths=tuple(draw_death(random, one, batches, width) for one in whose),
    )


def draw_death(random: Random, whom: Whom, batches: int, width: tuple[int, int]) -> Death:
    """Return a death in any batch but the last; `width` says how many inputs and shards a batch has."""
    batch = random.randrange(batches - 1)
    if random.random() < 0.5:
        point = random.choice(POINTS)
        each = width[0] if point == "emit" else width[1]  # at least so often it is come to in a batch
        return Death(whom, point, batch * each + random.randrange(each) + 1)
    at = random.choice(tuple(FILES))
    if at == "commits" and whom == "all":
        return Death(whom, at, batch, lost=random.randrange(3))
    return Death(whom, at, batch, round(random.random(), 2))

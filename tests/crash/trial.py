"""One trial: a streaming query is killed, whole or one worker of it, and started again until it ends.

    python -m tests.crash.trial SEED [KIND]

runs one by hand, in a folder that it leaves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

import psutil

from tests.crash.data import SECOND, Feed, differences, pairs

ROOT = Path(__file__).parents[2]
LIMIT = 300  # seconds that one run may take on a machine with other work
FIRST = 3.0  # seconds that a first batch takes about
# A file that Spark writes for a batch, and what it is after: the state's number is one more.
FILES = {
    "offsets": "checkpoint/offsets/{}",
    "state": "checkpoint/state/0/*/{}.changelog",
    "sink": "out/_spark_metadata/{}*",
    "commits": "checkpoint/commits/{}",
}
POINTS = ("emit", "take", "put", "drop", "pairs", "commit", "committed", "laid", "done")

Whom = Literal["all", "worker"]


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


@dataclass(frozen=True, slots=True)
class Trial:
    """A join, its input, the session's settings, and the deaths."""

    seed: int
    feed: Feed
    arguments: dict[str, Any]
    window: tuple[int, int]
    conf: dict[str, str]
    taken: int  # files of each input in a batch
    cores: tuple[int, ...]  # of the machine that each run is on, in turn
    worth: int  # rows from which a shard's state lies in files for its neighbours
    deaths: tuple[Death, ...]


@dataclass(slots=True)
class Story:
    """What happened in a trial."""

    trial: Trial
    runs: list[float] = field(default_factory=list)
    work: float = 0.0  # seconds of processors
    deaths: list[str] = field(default_factory=list)
    pairs: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        runs = " + ".join(f"{run:.0f}" for run in self.runs)
        deaths = "; ".join(self.deaths) or "nobody died"
        return f"seed {self.trial.seed}: {deaths}; {runs} s, {self.work:.0f} s of work; {self.pairs} pairs"


def draw(seed: int, kind: Whom | None = None) -> Trial:
    """Return the trial of a seed; `kind` says who dies where the seed shall not."""
    random = Random(seed)
    taken = random.choice((1, 1, 2))
    feed = Feed(seed, random.choice(((1, 1), (1, 2), (2, 1))), 8 * taken, 400, 5, random.random() < 0.3)
    lower, upper = sorted(random.sample((-9, -4, -1, 0, 2, 6, 12), 2))
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
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": random.choice(("2", "10")),
        "spark.sql.streaming.stateStore.maintenanceInterval": random.choice(("200ms", "60s")),
        "spark.sql.streaming.minBatchesToRetain": random.choice(("2", "100")),
    }
    whom = kind or random.choice(("all", "worker"))
    deaths = tuple(draw_death(random, whom, each) for each in range(random.choice((1, 1, 2, 3))))
    window = (lower * SECOND, upper * SECOND)
    cores = random.choice(((2,), (2, 1)))
    return Trial(seed, feed, arguments, window, conf, taken, cores, random.choice((0, 0, 500)), deaths)


def draw_death(random: Random, whom: Whom, earlier: int) -> Death:
    """Return a death of the first batches, or for one that is not the first of a trial, of later ones."""
    if random.random() < 0.5:
        return Death(whom, random.choice(POINTS), random.randrange(1, 20) + 12 * earlier)
    at, number = random.choice(list(FILES)), random.randrange(6) + earlier
    if at == "commits" and whom == "all":
        return Death(whom, at, number, lost=random.randrange(3))
    return Death(whom, at, number, round(random.random(), 2))


def play(trial: Trial, folder: Path) -> Story:
    """Run a trial in an empty folder; the story says what is wrong with what the query wrote."""
    trial.feed.lay(folder)
    (folder / "plan.json").write_text(json.dumps(plan(trial)))
    story = Story(trial)
    waiting = [death for death in trial.deaths if death.at in FILES]
    died = True
    while not (folder / "ended").exists():
        assert died, f"run {len(story.runs)} failed by itself; {story}\n{last_words(folder)}"
        open_deaths = list(waiting)
        died = run(folder, waiting, story)
        for death in open_deaths[: len(open_deaths) - len(waiting)]:
            lose(folder, death)
    compare(folder, story)
    return story


def plan(trial: Trial) -> dict[str, Any]:
    """Return what the program and the workers have to know."""
    names: dict[str, list[str]] = {"l": [], "r": []}
    for side, number in trial.feed.places():
        names[side].append(f"{side}{number}")
    return {
        "arguments": trial.arguments,
        "conf": trial.conf,
        "files": trial.taken,
        "worth": trial.worth,
        "inputs": list(names.values()),
        "deaths": [asdict(death) for death in trial.deaths],
    }


def run(folder: Path, waiting: list[Death], story: Story) -> bool:
    """Run the program until it ends or is killed; return whether anybody died."""
    (folder / "started").unlink(missing_ok=True)
    begun, before = time.monotonic(), len(story.deaths)
    scratch = folder / "scratch"  # what a killed Spark leaves behind
    scratch.mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    cores = story.trial.cores[len(story.runs) % len(story.trial.cores)]
    known = {"PYTHONPATH": path, "WEFT_CRASH": str(folder), "TMPDIR": str(scratch)}
    with (folder / f"log{len(story.runs)}").open("wb") as log:
        program = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.program", str(folder), str(cores)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | known | {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"},
            start_new_session=True,
        )
    try:
        watch(program, folder, waiting, story)
    finally:
        story.work += kill_all(program)
        story.runs.append(time.monotonic() - begun)
    return len(story.deaths) > before


def watch(program: subprocess.Popen[bytes], folder: Path, waiting: list[Death], story: Story) -> None:
    """Return when the program ends or all are to die; kill single workers on the way."""
    end = time.monotonic() + LIMIT
    due: float | None = None
    batch = FIRST
    newest = (0, time.monotonic())
    while program.poll() is None and not (folder / "ended").exists():
        now = time.monotonic()
        assert now < end, f"a run takes more than {LIMIT} s; {story}\n{last_words(folder)}"
        if killed_at_a_point(folder, story):
            return
        offsets = len(list(folder.glob("checkpoint/offsets/*[0-9]")))
        if offsets > newest[0]:
            batch = now - newest[1] if newest[0] else FIRST
            newest = offsets, now
        if waiting and due is None and there(folder, waiting[0]):
            due = now + waiting[0].wait * batch
        if due is not None and now >= due:
            death, due = waiting.pop(0), None
            if death.whom == "all":
                story.deaths.append(f"all at {death}")
                return
            kill_one(program, death, story)
        time.sleep(0.003)


def there(folder: Path, death: Death) -> bool:
    """Tell whether a run has begun and the file of a death is there."""
    number = death.number + (death.at == "state")
    return (folder / "started").exists() and any(folder.glob(FILES[death.at].format(number)))


def killed_at_a_point(folder: Path, story: Story) -> bool:
    """Note workers that died at a point; tell whether one asks for all to die."""
    for point in POINTS:
        for whom in ("worker", "all"):
            sign = folder / f"{point}.{whom}"
            if sign.exists():
                sign.unlink()
                story.deaths.append(f"{whom} at {point}")
                if whom == "all":
                    return True
    return False


def kill_one(program: subprocess.Popen[bytes], death: Death, story: Story) -> None:
    """Kill one Python worker, if there is any."""
    workers = [one for one in session(program) if is_worker(one)]
    if workers:
        Random(death.number).choice(workers).kill()
    story.deaths.append(f"worker ({len(workers)} there) at {death}")


def is_worker(process: psutil.Process) -> bool:
    """Tell whether a process was forked by Spark's daemon."""
    try:
        parent = process.parent()
        return parent is not None and "tests.crash.daemon" in process.cmdline() == parent.cmdline()
    except psutil.Error:
        return False


def lose(folder: Path, death: Death) -> None:
    """Take a batch's last files and all that came later away, as if all had died before."""
    if not death.lost:
        return
    gone = [
        path
        for kind in ("commits", "sink")[: death.lost]
        for path in folder.glob(FILES[kind].format(death.number))
    ]
    gone += [path for path in folder.glob(FILES["offsets"].format("*")) if number_of(path) > death.number]
    gone += [path for path in folder.glob("checkpoint/state/0/*/*.*") if number_of(path) > death.number + 1]
    for path in gone:
        path.unlink()
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def number_of(path: Path) -> int:
    """Return the number in a file's name, -1 where there is none."""
    name = path.name.split(".")[0]
    return int(name) if name.isdigit() else -1


def session(program: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the processes of a run that live: those in the session that it was started in."""
    found = []
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == program.pid and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(psutil.Process(pid))
        except (ProcessLookupError, psutil.Error):
            continue
    return found


def kill_all(program: subprocess.Popen[bytes]) -> float:
    """Kill every process of a run, at once and for good; return the seconds of processors that it took."""
    work: dict[int, float] = {}
    while alive := session(program):
        for process in alive:
            try:
                work[process.pid] = sum(process.cpu_times())
                process.kill()
            except psutil.Error:
                continue
        program.poll()
        psutil.wait_procs(alive, timeout=0.2)
    program.wait()
    return sum(work.values())


def compare(folder: Path, story: Story) -> None:
    """Hold what was written against DuckDB's pairs, and what was told against the input."""
    trial = story.trial
    wanted = pairs(folder, *trial.window, trial.feed.nested)
    story.pairs, story.wrong = differences(written(folder / "out"), wanted)
    told = json.loads((folder / "ended").read_text())
    late = [one for one in told if one["late_left"] or one["late_right"]]
    if late:
        story.wrong.append(f"late rows where none is late: {late}")
    lateness = int(trial.arguments["lateness"].split()[0]) * SECOND
    watermark = min(trial.feed.newest(folder)) - lateness
    if told and said(told[-1]["watermark"]) != watermark:
        story.wrong.append(f"the watermark is {told[-1]['watermark']}, not {watermark}")


def said(watermark: str) -> int:
    """Return a watermark in microseconds."""
    since = datetime.fromisoformat(watermark) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1)


def written(out: Path) -> list[Path]:
    """Return the files that a file sink's log holds: all that a reader of its folder may see."""
    log = out / "_spark_metadata"
    compacts = sorted(log.glob("*.compact"), key=number_of)
    first = number_of(compacts[-1]) if compacts else -1
    batches = [path for path in log.iterdir() if path.name.isdigit() and number_of(path) > first]
    lines = [line for path in [*compacts[-1:], *batches] for line in path.read_text().splitlines()[1:]]
    return [out / Path(json.loads(line)["path"]).name for line in lines]


def last_words(folder: Path) -> str:
    """Return the end of a run's output."""
    logs = sorted(folder.glob("log*"))
    return logs[-1].read_text(errors="replace")[-6000:] if logs else ""


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="weft-crash-"))
    chosen = draw(int(sys.argv[1]), *sys.argv[2:])  # type: ignore[arg-type]
    print(place, chosen)
    print(played := play(chosen, place), *played.wrong, sep="\n")
    sys.exit(bool(played.wrong))

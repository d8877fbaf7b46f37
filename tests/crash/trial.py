"""One trial: a streaming query is killed, whole or one worker of it, and started again until it ends.

    python -m tests.crash.trial SEED

runs one by hand, in a folder that it leaves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import psutil
import pyspark

from tests.crash.data import SECOND, differences, pairs
from tests.crash.plans import FILES, Death, Trial, draw

ROOT = Path(__file__).parents[2]
LIMIT = 300  # seconds that one run may take on a machine with other work
FIRST = 3.0  # seconds that a first batch takes about


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
        deaths = "; ".join(self.deaths) or "nobody died"
        runs = " + ".join(f"{run:.0f}" for run in self.runs)
        told = f"seed {self.trial.seed}: {deaths}; {runs} s, {self.work:.0f} s of work; {self.pairs} pairs"
        return "\n".join([told, *self.wrong])


def play(trial: Trial, folder: Path) -> Story:
    """Run a trial in an empty folder; the story says what is wrong with what the query wrote."""
    trial.feed.lay(folder)
    (folder / "plan.json").write_text(json.dumps(trial.plan()))
    story = Story(trial)
    waiting = sorted((death for death in trial.deaths if death.at in FILES), key=lambda death: death.number)
    while not (folder / "ended").exists():
        before = len(story.deaths)
        run(folder, waiting, story)
        ended = (folder / "ended").exists() or len(story.deaths) > before
        assert ended, f"{story}\nrun {len(story.runs)} failed by itself:\n{last_words(folder)}"
    compare(folder, story)
    return story


def run(folder: Path, waiting: list[Death], story: Story) -> None:
    """Run the program until it ends or is killed."""
    (folder / "started").unlink(missing_ok=True)
    make_home(folder / "scratch" / "home")
    begun = time.monotonic()
    master = story.trial.masters[len(story.runs) % len(story.trial.masters)]
    with (folder / f"log{len(story.runs):02}").open("wb") as log:
        program = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.program", str(folder), master],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | variables(folder),
            start_new_session=True,
        )
    try:
        watch(program, folder, waiting, story)
    finally:
        story.work += kill_all(program)
        story.runs.append(time.monotonic() - begun)


def make_home(home: Path) -> None:
    """Have Spark's files in another place: a cluster on one machine works in a folder beside them."""
    home.mkdir(parents=True, exist_ok=True)
    for path in Path(pyspark.__file__).parent.iterdir():
        if not (home / path.name).exists():
            (home / path.name).symlink_to(path)


def variables(folder: Path) -> dict[str, str]:
    """Return what a run is told beside its plan; what a killed Spark leaves behind lies in the folder."""
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "PYTHONWARNINGS": "ignore",
        "SPARK_HOME": str(folder / "scratch" / "home"),
        "TMPDIR": str(folder / "scratch"),
        "WEFT_CRASH": str(folder),
    }


def watch(program: subprocess.Popen[bytes], folder: Path, waiting: list[Death], story: Story) -> None:
    """Return when the program has ended or all are to die; kill single workers on the way."""
    end = time.monotonic() + LIMIT
    due: float | None = None
    newest, since, batch = -1, time.monotonic(), FIRST
    while program.poll() is None and not (folder / "ended").exists():
        now = time.monotonic()
        assert now < end, f"{story}\na run takes more than {LIMIT} s:\n{last_words(folder)}"
        if died_at_points(folder, story):
            return
        begun = max(map(number_of, folder.glob(FILES["offsets"].format("*"))), default=-1)
        if begun > newest:
            batch = now - since if newest >= 0 else FIRST
            newest, since = begun, now
        if waiting and due is None and reached(folder, waiting[0]):
            due = now + waiting[0].wait * batch
        if due is not None and now >= due:
            death, due = waiting.pop(0), None
            if death.whom == "all":
                story.deaths.append(str(death))
                story.work += kill_all(program)
                lose(folder, death)
                return
            kill_one(program, death, story)
        time.sleep(0.003)


def reached(folder: Path, death: Death) -> bool:
    """Tell whether a run has begun and the file of a death is there."""
    number = death.number + (death.at == "state")
    return (folder / "started").exists() and any(folder.glob(FILES[death.at].format(number)))


def died_at_points(folder: Path, story: Story) -> bool:
    """Note who died at a point; tell whether all are to die."""
    everybody = False
    for sign in folder.glob("*.death"):
        point, number, whom, pid, _ = sign.name.split(".")
        story.deaths.append(f"{whom} at {point} {number}")
        everybody |= whom == "all"
        if whom == "executor":
            next(one for one in psutil.Process(int(pid)).parents() if is_executor(one)).kill()
        sign.unlink()
    return everybody


def kill_one(program: subprocess.Popen[bytes], death: Death, story: Story) -> None:
    """Kill one executor or one Python worker, if there is any."""
    chosen = is_worker if death.whom == "worker" else is_executor
    those = [one for one in session(program) if chosen(one)]
    if those:
        Random(death.number).choice(those).kill()
    story.deaths.append(f"{death}, one of {len(those)}")


def is_executor(process: psutil.Process) -> bool:
    """Tell whether a process is an executor of a cluster."""
    try:
        return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
    except psutil.Error:
        return False


def is_worker(process: psutil.Process) -> bool:
    """Tell whether a process was forked by Spark's daemon."""
    try:
        parent, command = process.parent(), process.cmdline()
        return "tests.crash.daemon" in command and parent is not None and parent.cmdline() == command
    except psutil.Error:
        return False


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


def lose(folder: Path, death: Death) -> None:
    """Take a batch's last files and all that came later away, as if all had died before."""
    if not death.lost:
        return
    last = {kind: death.number + (kind == "state") for kind in FILES}
    last["commits"] -= 1
    last["sink"] -= death.lost > 1
    for kind, pattern in FILES.items():
        for path in folder.glob(pattern.format("*")):
            if number_of(path) > last[kind]:
                path.unlink()
                (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def number_of(path: Path) -> int:
    """Return the number in a file's name, -1 where there is none."""
    name = path.name.split(".")[0]
    return int(name) if name.isdigit() else -1


def compare(folder: Path, story: Story) -> None:
    """Hold what was written against DuckDB's pairs, and what was told against the input."""
    trial = story.trial
    wanted = pairs(folder, *trial.window, trial.feed.nested)
    story.pairs, story.wrong = differences(written(folder / "out"), wanted)
    told = json.loads((folder / "ended").read_text())
    story.wrong += [
        f"late rows where none is: {one}" for one in told if one["late_left"] or one["late_right"]
    ]
    lateness = int(trial.arguments["lateness"].split()[0]) * SECOND
    watermark = min(trial.feed.newest(folder)) - lateness
    if told and microseconds(told[-1]["watermark"]) != watermark:
        story.wrong.append(f"the watermark is {told[-1]['watermark']}, not {watermark}")


def microseconds(watermark: str) -> int:
    """Return a watermark as Spark's timestamps are kept."""
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
    """Return the end of the last run's output."""
    return max(folder.glob("log*")).read_text(errors="replace")[-6000:]


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="weft-crash-"))
    chosen = draw(int(sys.argv[1]))
    print(place, chosen)
    print(played := play(chosen, place))
    sys.exit(bool(played.wrong))

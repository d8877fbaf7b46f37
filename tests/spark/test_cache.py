"""What workers hold between batches is a cache: whoever serves a shard, whatever failed, the pairs are right.

Queries of one session in turn, some in another pool of workers; the processor notes where each shard's state
came from, and fails after its work where a test says so.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext, cloudpickle
from pyspark.errors import StreamingQueryException

import weft
from tests.support.spark import Run, new_folder, read_folder, scratch, settings, spark_session
from weft.spark.processor import JoinProcessor

FILES, LOG = 0, 10**9  # rows from which a shard's state lies in files for other workers
SECONDS = float(os.environ.get("WEFT_SOAK_SECONDS", "60"))
SPEC: dict[str, Any] = {"on": "key", "time": "ts", "lower": -2, "upper": 5, "lateness": 4}
SCHEMA = pa.schema({"id": pa.int64(), "key": pa.string(), "ts": pa.int64()})


class Watched(JoinProcessor):
    """A processor that notes where the state of a shard came from, and fails after its work if told to."""

    def __init__(self, notes: Path, worth: int, *values: Any) -> None:
        super().__init__(*values)
        self._notes = notes
        self._worth = worth

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        from weft.spark import residents, turn

        real = residents.mapped, turn.caught_up
        context = TaskContext.get()
        batch = context.getLocalProperty("streaming.sql.batchId")
        came = ["held"]

        def mapped(*values: Any) -> Any:
            join = real[0](*values)
            came[0] = "files" if join is not None else came[0]
            return join

        def caught_up(spec: Any, binding: Any, manifest: Any, store: Any) -> Any:
            came[0] = "log" if manifest.nonce else "new"
            return real[1](spec, binding, manifest, store)

        with (
            patch.object(residents, "mapped", mapped),
            patch.object(turn, "caught_up", caught_up),
            patch.object(residents, "WORTH", self._worth),
        ):
            yield from super().handleInputRows(key, rows, timerValues)
        with (self._notes / "turns").open("a") as file:
            file.write(json.dumps([int(batch), came[0]]) + "\n")
        fail = self._notes / f"fail{batch}.{context.attemptNumber()}"
        if fail.exists():
            fail.unlink(missing_ok=True)
            message = "failed after its work, on purpose"
            raise RuntimeError(message)


@pytest.fixture(scope="module", autouse=True)
def travelling() -> Iterator[None]:
    """Let the class above travel to workers, which do not know this module."""
    here = sys.modules[Watched.__module__]
    cloudpickle.register_pickle_by_value(here)
    yield
    cloudpickle.unregister_pickle_by_value(here)


@dataclass
class Story:
    """A join of files: what came in each batch, and its checkpoint."""

    seed: int
    worth: int = FILES
    folders: tuple[Path, Path] = field(default_factory=lambda: (new_folder(), new_folder()))
    checkpoint: Path = field(default_factory=new_folder)
    notes: Path = field(default_factory=new_folder)
    came: tuple[dict[str, pa.Table], dict[str, pa.Table]] = field(default_factory=lambda: ({}, {}))

    def more(self, batches: int = 1) -> Story:
        """Let files come for further batches."""
        for number in range(len(self.came[0]), len(self.came[0]) + batches):
            for side in (0, 1):
                name = f"{number}-{self.seed}.parquet"
                self.came[side][name] = rows(Random(f"{self.seed} {number} {side}"), number)
        return self

    def forked(self, seed: int) -> Story:
        """Return the same query as another one that goes on in its own way: with other files."""
        other = Story(seed, self.worth, self.folders, came=(dict(self.came[0]), dict(self.came[1])))
        shutil.copytree(self.checkpoint, other.checkpoint, dirs_exist_ok=True)
        return other

    def lay(self) -> None:
        """Have just the files of this story in the folders."""
        for folder, tables in zip(self.folders, self.came, strict=True):
            for path in folder.iterdir():
                if path.name not in tables:
                    path.unlink()
            for number, (name, table) in enumerate(tables.items()):
                if not (folder / name).exists():
                    pq.write_table(table, folder / name)
                os.utime(folder / name, (10**9 + number, 10**9 + number))

    def lose_commit(self) -> None:
        """Take away the last commit: its batch comes again."""
        for name in (f"{len(self.came[0]) - 1}", f".{len(self.came[0]) - 1}.crc"):
            # Not every file system of Spark keeps checksums.
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)

    def run(self, pool: str = "a", tables: dict[int, pa.Table] | None = None) -> list[str]:
        """Take all batches that there are; hold each against the oracle; return where states came from."""
        self.lay()
        before = len(self.turns())
        frames = [read_folder(folder, SCHEMA) for folder in self.folders]

        def watched(*values: Any) -> Watched:
            return Watched(self.notes, self.worth, *values)

        # Workers with other variables are others.
        with (
            patch.dict(spark_session().sparkContext.environment, {"WEFT_TESTS_POOL": pool}),
            patch("weft.spark.joins.JoinProcessor", watched),
        ):
            joined = weft.interval_join(*frames, **SPEC)
        run = Run(joined, self.checkpoint, tables)
        for batch, table in run.tables.items():
            assert pairs(table) == self.wanted(batch), batch
        return [came for _, came in self.turns()[before:]]

    def turns(self) -> list[tuple[int, str]]:
        """Return the turns that were noted: the batch, and where the state came from."""
        path = self.notes / "turns"
        return [tuple(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []

    def wanted(self, batch: int) -> Counter[tuple[int, int]]:
        """Return the pairs of a batch: of its rows, and of its rows with earlier ones."""
        lefts, rights = (
            [
                (at, *row.values())
                for at, table in enumerate([*tables.values()][: batch + 1])
                for row in table.to_pylist()
            ]
            for tables in self.came
        )
        return Counter(
            (one, other)
            for at, one, key, time in lefts
            for where, other, same, then in rights
            if key == same and max(at, where) == batch and -2 <= then - time <= 5
        )


def rows(random: Random, number: int) -> pa.Table:
    """Return the rows of one file."""
    size = 30
    times = sorted(random.randrange(10 * number, 10 * number + 10) for _ in range(size))
    keys = [random.choice("aaabcd") for _ in range(size)]
    return pa.table([[1000 * number + at for at in range(size)], keys, times], schema=SCHEMA)


def pairs(table: pa.Table) -> Counter[tuple[int, int]]:
    """Return the pairs of a result."""
    return Counter(zip(table["id"].to_pylist(), table["id_right"].to_pylist(), strict=True))


@pytest.fixture(autouse=True)
def one_shard() -> Iterator[None]:
    """Have one shard, so that a pool is one worker."""
    with settings({"spark.sql.shuffle.partitions": 1}):
        yield


def test_a_worker_goes_on_with_what_it_holds() -> None:
    assert Story(1).more(3).run() == ["new", "held", "held"]


@pytest.mark.parametrize(("worth", "source"), [(FILES, "files"), (LOG, "log")])
def test_a_shard_that_changes_hands_is_read_by_its_new_worker(worth: int, source: str) -> None:
    story = Story(2, worth)
    assert story.more(2).run("a")[0] == "new"
    assert story.more().run("b") == [source]
    assert story.more().run("a") == [source]  # which holds the second batch's state still


@pytest.mark.parametrize(("worth", "source"), [(FILES, "files"), (LOG, "log")])
def test_a_task_that_fails_after_its_work_leaves_nothing_behind(worth: int, source: str) -> None:
    story = Story(3, worth).more(3)
    (story.notes / "fail1.0").touch()  # Spark tries once more
    assert story.run() == ["new", "held", source, "held"]
    assert [batch for batch, *_ in story.turns()] == [0, 1, 1, 2]
    story.more()
    for attempt in (0, 1):
        (story.notes / f"fail3.{attempt}").touch()
    with pytest.raises(StreamingQueryException, match="on purpose"):
        story.run()
    assert story.run() == [source]


@pytest.mark.parametrize("worth", [FILES, LOG], ids=["files", "log"])
def test_a_batch_that_is_replayed_gives_the_same_again(worth: int) -> None:
    story = Story(4, worth).more(3)
    story.run()
    story.lose_commit()
    tables: dict[int, pa.Table] = {}
    assert story.run(tables=tables) != ["held"]
    assert list(tables) == [2]


def test_a_copy_of_a_checkpoint_goes_its_own_way() -> None:
    story = Story(5).more()
    story.run()
    other = story.forked(6)
    story.more().run()
    assert other.more().run() != ["held"]
    assert story.more().run() != ["held"]
    assert other.more().run() != ["held"]


def test_two_queries_of_one_join_run_at_once() -> None:
    stories = [Story(seed).more(3) for seed in (7, 8)]
    with settings({"spark.sql.shuffle.partitions": 2}), ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda story: story.run("two"), stories))


@pytest.mark.parametrize("loss", ["gone", "cut"])
def test_files_that_are_lost_are_read_from_the_log(loss: str) -> None:
    story = Story(9).more(2)
    story.run("a")
    assert lose_files(loss)
    assert story.more().run("b") == ["log"]


EVENTS = ("more", "more", "failure", "commit lost", "fork", "files gone", "files cut")


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("partitions", [1, 2])
def test_whatever_happens_between_batches_each_gives_its_pairs(seed: int, partitions: int) -> None:
    random, end = Random(seed), time.monotonic() + SECONDS
    stories, happened = [Story(seed, random.choice((FILES, LOG, 50)))], [f"repeat with WEFT_SEED={seed}"]
    with settings({"spark.sql.shuffle.partitions": partitions}):
        while time.monotonic() < end:
            story = random.choice(stories)
            event = random.choice(
                ("more", "more", "failure", "commit lost", "fork", "files gone", "files cut")
            )
            pool = random.choice("abc")
            happened.append(f"{event} in pool {pool} of story {story.seed}")
            try:
                happen(event, story, stories, random)
                story.run(pool)
            except BaseException as error:
                error.add_note("\n".join(happened))
                raise
    print(f"{len(happened)} events")


def happen(event: str, story: Story, stories: list[Story], random: Random) -> None:
    """Let something happen to a story before it goes on."""
    if event == "commit lost" and story.turns():
        story.lose_commit()
        return
    if event == "fork" and story.turns():
        stories.append(story.forked(random.randrange(10**6)))
        if len(stories) > 3:
            stories.pop(0)
    elif event.startswith("files"):
        lose_files(event.split()[1])
    story.more(random.choice((1, 1, 2)))
    if event == "failure":
        (story.notes / f"fail{len(story.came[0]) - 1}.0").touch()


def lose_files(loss: str) -> int:
    """Remove, or cut in half, all files that workers have laid for others; return how many."""
    lost = [path for path in scratch().glob("**/weft-*/*") if path.is_file()]
    for path in lost:
        if loss == "gone":
            path.unlink()
        else:
            os.truncate(path, path.stat().st_size // 2)
    return len(lost)

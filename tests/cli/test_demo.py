"""`weft demo`: its traffic, what it shows, its picture, its oracle, and one small run of all of it."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from weft.cli.app import app
from weft.cli.demo import fresh, judgement
from weft.cli.demo_view import is_plain, line, panel, watched
from weft.demo.join import live_join, shown_lines
from weft.demo.oracle import judge
from weft.demo.picture import draw
from weft.demo.run import Reading, Run, reading_of
from weft.demo.traffic import DISORDER, HOT, HOT_SHARE, START, Traffic, sides
from weft.demo.writer import Arrival, hot, newest, write_files

SMALL = Traffic(seconds=8, rate=5000, seed=3)
BEGAN = 1_800_000_000.0


def whole(files: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(files)


def seconds(table: pa.Table) -> np.ndarray:
    return table["ts"].cast(pa.int64()).to_numpy() / 1e6 - START.timestamp()


def after_readings(readings: int = 6) -> Run:
    """A run as it might have been, without Spark."""
    run = Run(Path("there"), SMALL, began=BEGAN)
    for side, files in sides(SMALL).items():
        for number, table in enumerate(files):
            at = BEGAN + number * SMALL.pause
            run.arrivals.append(Arrival(at, side, table.num_rows, hot(table), newest(table)))
    for batch in range(readings):
        watermark = START.timestamp() + 15 * batch - 10 if batch else None
        held = {"impressions": 3000 + batch, "clicks": 800}
        run.readings.append(
            Reading(batch, BEGAN + 3 + batch, 0.9, 6000, 4000 - batch, 7, watermark, held, 1 << 21)
        )
    run.ended = BEGAN + 3 + readings
    return run


# The traffic.


def test_the_same_seed_gives_the_same_rows_and_another_one_others() -> None:
    assert sides(SMALL) == sides(SMALL)
    assert sides(SMALL) != sides(Traffic(seconds=8, rate=5000, seed=4))


def test_there_are_as_many_files_and_rows_as_asked_for() -> None:
    files = sides(SMALL)
    assert [len(tables) for tables in files.values()] == [8, 8]
    rows = {side: whole(tables).num_rows for side, tables in files.items()}
    assert rows["impressions"] == 32_000
    assert 7_000 < rows["clicks"] <= 8_000  # those after the end are left out
    assert Traffic().files == 28


@pytest.mark.parametrize(("side", "at_most"), [("impressions", 0.0), ("clicks", 0.01)])
def test_rows_are_disordered_by_some_seconds_and_few_clicks_by_more(side: str, at_most: float) -> None:
    times = seconds(whole(sides(SMALL)[side]))
    behind = np.maximum.accumulate(times) - times
    assert np.mean(behind > 1) > 0.2
    assert (behind > DISORDER).mean() <= at_most
    assert (behind > DISORDER).any() == (at_most > 0)


def test_one_campaign_is_hot() -> None:
    counts = whole(sides(SMALL)["impressions"])["campaign"].value_counts()
    shares = {each["values"]: each["counts"] / 32_000 for each in counts.to_pylist()}
    assert shares.pop(HOT) == pytest.approx(HOT_SHARE, abs=0.02)
    assert max(shares.values()) < HOT_SHARE / 4


def test_most_clicks_follow_an_impression_and_some_do_not() -> None:
    tables = {side: whole(files) for side, files in sides(SMALL).items()}
    clicks = tables["clicks"].rename_columns({"ts": "clicked"})
    both = clicks.join(tables["impressions"], "user", join_type="left outer")
    gap = pc.subtract(both["clicked"].cast(pa.int64()), both["ts"].cast(pa.int64()))
    within = pc.and_(pc.greater_equal(gap, 0), pc.less_equal(gap, 30_000_000))
    matched = len(pc.unique(both.filter(within)["click_id"]))
    assert 0.8 * clicks.num_rows < matched < 0.97 * clicks.num_rows


def test_files_appear_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    files = sides(Traffic(seconds=2, rate=1000))
    for side in files:
        (tmp_path / side).mkdir()
    arrivals: list[Arrival] = []
    write_files(tmp_path, files, 0.01, arrivals, Event())
    for side, tables in files.items():
        paths = sorted((tmp_path / side).iterdir())
        assert [path.name for path in paths] == ["000.parquet", "001.parquet", "002.parquet", "003.parquet"]
        assert whole([pq.read_table(path) for path in paths]) == whole(tables)
    assert sum(each.rows for each in arrivals) == sum(whole(tables).num_rows for tables in files.values())


def test_writing_ends_when_it_is_told_to(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    arrivals: list[Arrival] = []
    write_files(tmp_path, sides(Traffic(seconds=2, rate=100)), 60, arrivals, stop)
    assert not arrivals


# What is shown.


def test_progress_is_read_from_what_the_join_observes() -> None:
    told = {"pairs": 5, "late_left": 1, "late_right": 2, "state_rows_left": 3, "state_rows_right": 4}
    told |= {"state_bytes": 99, "watermark": "2026-03-01T12:00:10.500000Z"}
    progress = SimpleNamespace(
        batchId=7,
        timestamp="2026-03-01T10:00:00.000Z",
        durationMs={"triggerExecution": 1500},
        numInputRows=20,
        observedMetrics={"mine": {}, "weft_1": told},
    )
    reading = reading_of(progress)
    assert reading is not None
    assert (reading.batch, reading.rows, reading.pairs, reading.late, reading.seconds) == (7, 20, 5, 3, 1.5)
    assert reading.ended == START.timestamp() - 7200 + 1.5
    assert reading.watermark == START.timestamp() + 10.5
    assert reading.state_rows == {"impressions": 3, "clicks": 4}
    progress.observedMetrics = {"mine": {}}
    assert reading_of(progress) is None


def test_a_line_says_rows_in_and_out_rate_watermark_and_state() -> None:
    assert line(after_readings(3)) == (
        "  5.0 s  rows in 18,000 (6,000/s)  pairs out 11,997 (3,998/s)  late 21  watermark 12:00:20  "
        "state 3,802 rows in 2.0 MiB"
    )
    assert "watermark none yet" in line(after_readings(1))


def test_the_panel_says_the_same() -> None:
    console = Console(width=100, record=True, force_terminal=True)
    for readings in (0, 1, 3):
        console.print(panel(after_readings(readings)))
    text = console.export_text()
    for words in (
        "18,000",
        "6,000 a second",
        "11,997",
        "12:00:20",
        "3,802",
        "8 of 8 files",
        "some ten seconds",
    ):
        assert words in text


def test_without_a_terminal_each_batch_is_a_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    run = after_readings(0)
    with watched(run, Console()) as show:
        show()
        run.readings += after_readings(2).readings
        show()
        show()
    out = capsys.readouterr().out
    assert out.count("\n") == 3
    assert out.startswith("Writing files into there. ")
    assert "\x1b" not in out


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_in_ci_and_on_a_dumb_terminal_it_is_plain_too(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    console = Console(force_terminal=True)
    assert not is_plain(console)
    monkeypatch.setenv(name, value)
    assert is_plain(console)


def test_the_ten_lines_shown_are_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown_lines(tmp_path)
    assert len(text.splitlines()) == 10
    weft = MagicMock()
    monkeypatch.setitem(sys.modules, "weft", weft)
    monkeypatch.setitem(live_join.__globals__, "weft", weft)
    live_join(tmp_path)
    ran = list(weft.mock_calls)
    weft.reset_mock()
    exec(text, {})
    assert weft.mock_calls == ran
    weft.interval_join.assert_called_once()
    assert weft.interval_join.call_args.kwargs == {
        "on": "user",
        "time": "ts",
        "lower": "0s",
        "upper": "30s",
        "lateness": "10s",
    }


# The picture.


@pytest.mark.parametrize("readings", [1, 6])
def test_the_picture_is_a_png_of_sane_size_with_something_on_it(tmp_path: Path, readings: int) -> None:
    from matplotlib.image import imread

    path = tmp_path / "picture.png"
    draw(after_readings(readings), path)
    pixels = imread(path)
    height, width = pixels.shape[:2]
    assert 1000 < height < 2400
    assert 1000 < width < 2400
    assert 40_000 < path.stat().st_size < 1_000_000
    inked = (pixels[..., :3].min(axis=2) < 0.8).mean(axis=1)
    assert all(part.max() > 0.05 for part in np.array_split(inked, 6))  # no part of it is empty


# The oracle.


def run_folder(folder: Path, pairs: pa.Table) -> Path:
    """A run of three batches as Spark leaves it: the second is compacted; the last click of all is late."""
    start = int(START.timestamp()) * 10**6

    def put(name: str, columns: dict[str, Any]) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        stamps = pa.array([start + each * 10**6 for each in columns["ts"]], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table(columns | {"ts": stamps}), path)

    put(
        "impressions/000.parquet",
        {"impression_id": [0, 1], "user": [1, 2], "campaign": ["a", "b"], "ts": [0, 5]},
    )
    put("impressions/001.parquet", {"impression_id": [2], "user": [1], "campaign": ["a"], "ts": [100]})
    put("clicks/000.parquet", {"click_id": [0, 1], "user": [1, 2], "ts": [30, 36]})
    put("clicks/001.parquet", {"click_id": [2], "user": [2], "ts": [100]})
    put("clicks/002.parquet", {"click_id": [3, 4], "user": [1, 1], "ts": [110, 20]})
    logs = {
        "0/0": [("impressions", 0, 0)],
        "0/1.compact": [("impressions", 0, 0), ("impressions", 1, 1)],
        "1/0": [("clicks", 0, 0)],
        "1/1.compact": [("clicks", 0, 0), ("clicks", 1, 1)],
        "1/2": [("clicks", 2, 2)],
    }
    for name, entries in logs.items():
        path = folder / "checkpoint/sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        uri = folder.as_uri()
        lines = [{"path": f"{uri}/{side}/{file:03}.parquet", "batchId": step} for side, file, step in entries]
        path.write_text("\n".join(["v1", *map(json.dumps, lines)]))
    offsets = folder / "checkpoint/offsets"
    offsets.mkdir()
    for batch, ends in enumerate(([0, 0], [1, 1], [1, 2])):
        path = offsets / str(batch)
        path.write_text("\n".join(["v1", "{}", *(json.dumps({"logOffset": end}) for end in ends)]))
    (folder / "pairs").mkdir()
    pq.write_table(pairs, folder / "pairs" / "part-0.parquet")
    return folder


def right_pairs() -> pa.Table:
    """Click 1 is 31 seconds after its impression, click 4 comes when the watermark is at 90."""
    start = int(START.timestamp()) * 10**6
    times = {"ts": [0, 100], "ts_right": [30, 110]}
    stamps = {
        name: pa.array([start + each * 10**6 for each in at], pa.timestamp("us", "UTC"))
        for name, at in times.items()
    }
    columns = {"impression_id": [0, 2], "user": [1, 1], "campaign": ["a", "a"], "click_id": [0, 3]}
    return pa.table(columns | stamps)


def test_the_oracle_agrees_with_the_right_pairs_and_knows_what_was_late(tmp_path: Path) -> None:
    verdict = judge(run_folder(tmp_path / "a folder's", right_pairs()))
    assert verdict.agrees
    assert (verdict.expected, verdict.found, verdict.late, verdict.left_out) == (2, 2, 1, 1)
    assert judgement(verdict).startswith(
        "oracle: DuckDB finds the same 2 pairs in these files, each once (1 late rows cost 1 more)"
    )
    assert "\n" not in judgement(verdict)


def doubled(pairs: pa.Table) -> pa.Table:
    return pa.concat_tables([pairs, pairs.slice(1)])


def altered(pairs: pa.Table) -> pa.Table:
    return pairs.set_column(2, "campaign", pa.array(["a", "b"]))


@pytest.mark.parametrize(
    ("wrong", "missing", "surplus"),
    [
        (lambda pairs: pairs.slice(1), 1, 0),
        (lambda pairs: pairs.slice(0, 0), 2, 0),
        (doubled, 0, 1),
        (altered, 1, 1),
    ],
    ids=["missing", "none", "doubled", "altered"],
)
def test_the_oracle_notices_a_wrong_pair(tmp_path: Path, wrong: Any, missing: int, surplus: int) -> None:
    verdict = judge(run_folder(tmp_path / "run", wrong(right_pairs())))
    assert not verdict.agrees
    assert (verdict.missing, verdict.surplus) == (missing, surplus)
    assert f"{missing} missing, {surplus} too many" in judgement(verdict)


def test_the_oracle_notices_that_nothing_was_written(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", right_pairs())
    (folder / "pairs" / "part-0.parquet").unlink()
    assert judge(folder).missing == 2


def test_the_oracle_shares_no_code_with_the_engine() -> None:
    script = "import sys, weft.demo.oracle; print([name for name in sys.modules if name.startswith('weft')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "weft.demo.oracle" in done.stdout
    assert not any(f"weft.{room}" in done.stdout for room in ("kernels", "runtimes", "edge", "spark", "api"))


# The command.


def test_a_folder_in_use_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "--out must be a new or an empty folder" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_each_run_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [fresh(None) for _ in range(3)]
    assert len(set(folders)) == 3
    assert {folder.parent for folder in folders} == {Path("weft-demo")}
    assert fresh(tmp_path / "mine") == tmp_path / "mine"


@pytest.mark.parametrize("library", ["pyspark", "duckdb", "matplotlib", "rich", "typer"])
def test_a_missing_library_is_named_with_what_to_install(tmp_path: Path, library: str) -> None:
    script = f"""
        import importlib.util, sys
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *at: None if name == {library!r} else find(name, *at)
        sys.modules[{library!r}] = None
        sys.argv = ["weft", "demo"]
        from weft.cli import main
        main()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert library in done.stderr
    assert "Hint: pip install 'weft[demo]'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.timeout(600)
def test_a_small_run_ends_well_and_leaves_everything(tmp_path: Path) -> None:
    command = ["demo", "--out", "run", "--seconds", "5", "--rate", "4000"]
    script = "from weft.cli import main; main()"
    start = [sys.executable, "-c", script, *command]
    done = subprocess.run(start, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    (oracle,) = (each for each in done.stdout.splitlines() if "oracle:" in each)
    rows = pq.read_table(tmp_path / "run" / "pairs")
    assert f" the same {rows.num_rows:,} pairs " in oracle
    assert rows.num_rows > 1000
    assert [pa.types.is_timestamp(rows.schema.field(name).type) for name in ("ts", "ts_right")] == [
        True,
        True,
    ]
    assert (tmp_path / "run" / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert shown_lines(Path("run")) in done.stdout
    assert "\x1b" not in done.stdout
    assert not any(noise in done.stdout for noise in ("WARN", "FutureWarning", "Stage"))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

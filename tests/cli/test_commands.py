"""The command line: its version, what it says when something is missing, and `weft bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import weft
from weft.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


def told(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_the_version_is_that_of_the_package() -> None:
    assert told("--version") == (0, f"weft {weft.__version__}\n")


def test_nothing_but_these_commands_is_there_yet() -> None:
    assert {command.callback.__name__ for command in app.registered_commands if command.callback} == {
        "bench",
        "demo",
        "doctor",
    }


@pytest.mark.parametrize("library", ["typer", "rich", "psutil"])
def test_a_missing_library_is_named_with_what_to_install(library: str) -> None:
    script = f"import sys; sys.modules[{library!r}] = None; from weft.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"The command line needs {library}, which is missing.\n\nHint: pip install 'weft[cli]'\n"
    )


def test_the_list_names_every_workload() -> None:
    from bench.workloads import WORKLOADS

    code, text = told("bench", "--list")
    assert code == 0
    assert all(name in text for name in [*WORKLOADS, "trace"])
    assert told("bench") == (code, text)


def test_an_unknown_workload_is_refused_with_the_nearest_name() -> None:
    code, text = told("bench", "W3")
    assert code == 1
    assert "No workload is called 'W3'; there are: W1, W2" in text
    assert "Hint: weft bench W" in text


def test_traces_need_a_folder_with_traces(tmp_path: Path) -> None:
    assert "Hint: weft bench trace --data DIR" in told("bench", "trace")[1]
    code, text = told("bench", "trace", "--data", str(tmp_path))
    assert code == 1
    assert "key, value, eventTime, arrivalTime" in text


def test_without_a_checkout_it_says_where_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.cli.bench.checkout", lambda: None)
    code, text = told("bench", "W1")
    assert code == 1
    assert "from a checkout" in text


def test_a_tiny_run_prints_a_table_and_adds_to_the_file(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "results.json"
    code, text = told("bench", "W1", "import-time", "--rows", "2000", "--repeat", "1", "--out", str(out))
    assert code == 0, text
    assert all(
        word in text for word in ("polars-bucket", "duckdb-bucket", "4x", "one core and one thread each")
    )
    content = json.loads(out.read_text())["workloads"]
    assert list(content) == ["W1", "import-time"]
    w1 = content["W1"]
    assert w1["seed"]
    assert w1["commit"]
    assert {"cpu", "cores", "memory_gib"} <= w1["machine"].keys()
    assert {"python", "numba", "pyarrow", "polars", "duckdb"} <= w1["versions"].keys()
    assert len(w1["contenders"]["weft"]["figures"]["rows/s"]["values"]) == 1

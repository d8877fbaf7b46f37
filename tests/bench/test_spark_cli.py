"""`weft bench --on spark`: names, what stands for what, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from bench.runner import BenchError
from bench.workloads import SPARK
from tests.bench.results import entry
from weft.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.runner import Options
    from bench.spark.model import SparkWorkload
    from bench.store import Entry


def told(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["bench", *words], env={"COLUMNS": "200"})
    return result.exit_code, result.output


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def run(workload: SparkWorkload, options: Options, tell: Callable[[str], None]) -> Entry:
        names.append(workload.name)
        tell(f"{workload.name}: 0 s: starts Spark")
        spark: dict[str, Any] = {"versions": {"spark": "4.3.0"}}
        return entry(workload.name) | spark  # type: ignore[return-value]

    monkeypatch.setattr("bench.spark.runner.run", run)
    return names


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["W1", "--on", "spark"], ["spark-w1-250k", "spark-w1-500k", "spark-table-w1"]),
        (["W2", "spark-flat", "--on", "spark"], ["spark-w2s-100k", "spark-flat"]),
        (["spark-small-2k"], ["spark-small-2k"]),
        (["--on", "spark"], list(SPARK)),
        (["--all", "--on", "spark"], list(SPARK)),
    ],
)
def test_a_name_stands_for_what_asks_the_same_on_spark(
    words: list[str], names: list[str], ran: list[str], tmp_path: Path
) -> None:
    code, text = told(*words, "--out", str(tmp_path / "out.json"))
    assert code == 0, text
    assert ran == names
    assert "local[2]; spark 4.3.0" in text


def test_the_list_names_every_workload_on_spark() -> None:
    code, text = told("--list")
    assert code == 0
    assert all(name in text for name in SPARK)
    assert told("--on", "spark", "--list") == (code, text)


def test_an_unknown_name_and_an_unknown_engine_are_refused() -> None:
    code, text = told("spark-w1", "--on", "spark")
    assert code == 1
    assert "Hint: weft bench spark-w1-500k --on spark" in text
    code, text = told("W1", "--on", "flink")
    assert code == 1
    assert "`--on` must be spark; got 'flink'." in text


def test_what_failed_in_the_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> Entry:
        message = "spark-flat failed:\nno Java"
        raise BenchError(message)

    monkeypatch.setattr("bench.spark.runner.run", run)
    assert told("spark-flat") == (1, "spark-flat failed:\nno Java\n")

"""The report is a function of the result file: the same file gives the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench import report
from bench.store import load, save
from tests.bench.results import entry, judged, latency

if TYPE_CHECKING:
    from pathlib import Path

README = """\
| workload | weft | peers (rows/s) | ratio | at least | goal |
| --- | ---: | ---: | ---: | ---: | ---: |
| whole tables | 30.0 M | polars-bucket 10.0 M, duckdb-bucket 5.00 M | 3.00x | 2x | 4x |
| one push: 1 row, p50 | 7.25 us |  |  | 60 us | 10 us |
| one push: 1 row, p99 | 61.0 us |  |  | 500 us | 50 us |

Measured on Test CPU, 2 cores, 16 GiB; one core and one thread each; numba 0.68.1, polars 2.1.0.
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save(tmp_path / "latest.json", [entry(), latency()])
    return tmp_path / "latest.json"


def test_readme_table_is_what_the_file_gives(file: Path) -> None:
    assert report.readme_table(file) == README


def test_every_line_has_its_spread_ratio_and_verdict() -> None:
    weft, polars, duckdb = report.lines(entry())
    assert (weft.value, weft.ratio) == ("30.0 M (27.0..33.0)", "3.00x (3.00..3.00)")
    assert (weft.at_least, weft.goal) == ("2x met", "4x missed")
    assert (polars.what, polars.ratio) == ("polars-bucket", "3.00x (3.00..3.00)")
    assert duckdb.value == "5.00 M (900 k..5.50 M)"


@pytest.mark.parametrize(
    ("ratio", "at_least", "goal"),
    [(4.0, "2x met", "4x met"), (2.0, "2x met", "4x missed"), (1.9, "2x missed", "4x missed")],
)
def test_a_verdict_is_about_the_median(ratio: float, at_least: str, goal: str) -> None:
    line = judged([ratio, 0.1, 9.0])
    assert [report.verdict(line, "at_least"), report.verdict(line, "goal")] == [at_least, goal]


def test_what_is_only_printed_is_not_judged() -> None:
    line = judged([1.9], at_least=None, goal=2.0)
    assert [report.verdict(line, "at_least"), report.verdict(line, "goal")] == ["", "2x missed"]


def test_lower_is_better_where_the_figure_says_so() -> None:
    found = [(line.at_least, line.goal) for line in report.own_lines(latency())]
    assert found == [("", ""), ("60 us met", "10 us met"), ("500 us met", "50 us missed")]


def test_a_peer_that_was_not_there_is_named() -> None:
    without = entry() | {"missing": {"duckdb-bucket": "duckdb is not installed"}}
    assert list(report.lines(without))[-1].value == "not measured: duckdb is not installed"


def test_the_curve_has_a_row_a_size() -> None:
    row = "| 1 row a push | 123 k | 7.25 us | 61.0 us |"
    assert report.curve({"batch-sizes": latency()}).splitlines()[2:] == [row]
    assert report.curve({}) == "Not measured yet.\n"


def test_pages_are_rewritten_between_the_markers_only(tmp_path: Path) -> None:
    save(tmp_path / "bench" / "results" / "latest.json", [entry(), latency()])
    page = tmp_path / "README.md"
    page.write_text("# weft\n<!-- generated: latest -->\nold\n<!-- end generated -->\ntext\n")
    assert report.stale(tmp_path) == ["README.md"]
    report.write(tmp_path)
    assert page.read_text() == f"# weft\n<!-- generated: latest -->\n{README}<!-- end generated -->\ntext\n"
    assert report.stale(tmp_path) == []


def test_an_unknown_block_is_refused() -> None:
    with pytest.raises(ValueError, match="no generated block is called 'nothing'; there are: latest"):
        report.rendered("<!-- generated: nothing -->\n<!-- end -->", {})


def test_results_are_merged_by_workload_in_the_order_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "latest.json"
    save(path, [entry("W2"), entry("other")])
    save(path, [entry("W1")], order=["W1", "W2"])
    assert list(load(path)) == ["W1", "W2", "other"]
    assert load(path)["W1"] == entry("W1")


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"format": 0}')
    with pytest.raises(ValueError, match="format 0"):
        load(tmp_path / "old.json")

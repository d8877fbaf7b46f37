"""The runner: all contenders give one answer, take turns, and their library may be missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.model import Figure
from bench.runner import BenchError, Options, agreed, check_pairs, judged, measured, run
from bench.workloads import WORKLOADS, available

W1 = WORKLOADS["W1"]


def replies(*throughputs: float, memory: float = 5.0) -> list[dict[str, Any]]:
    return [{"figures": {"rows/s": value}, "memory_mib": memory} for value in throughputs]


REPLIES = {"weft": replies(30.0, 20.0, memory=7.0), "one": replies(10.0, 5.0), "two": replies(6.0, 10.0)}


def test_other_answers_fail_loudly() -> None:
    same = {"pairs": 5, "checksum": "00"}
    assert agreed(W1, {"weft": same, "polars": same}) == (5, "00")
    with pytest.raises(BenchError, match=r"the contenders disagree\n  weft: .*\n  polars: "):
        agreed(W1, {"weft": same, "polars": same | {"checksum": "01"}})


def test_other_pairs_in_a_repetition_fail_loudly() -> None:
    with pytest.raises(BenchError, match="weft gave 4 pairs in a repetition; 5 before"):
        check_pairs(W1, 5, {"weft": [{"figures": {"rows/s": 1.0, "pairs": 4}}]})


def test_ratios_are_taken_turn_by_turn() -> None:
    found = measured(REPLIES)
    assert found["one"]["ratios"]["rows/s"]["values"] == [3.0, 4.0]
    assert found["weft"]["ratios"] == {}
    assert found["weft"]["memory_mib"] == 7.0


def test_a_figure_is_judged_beside_the_fastest_peer_of_each_turn() -> None:
    line = judged(Figure("rows/s", "rows/s", "higher", 2, 4, ("one", "two", "not there")), measured(REPLIES))
    assert line is not None
    assert line["value"]["values"] == [3.0, 2.0]
    assert line["over"] == ["one", "two"]
    assert judged(Figure("rows/s", "rows/s", "higher", 2, 4, ("not there",)), measured(REPLIES)) is None


def test_quick_is_a_tenth_of_the_rows_and_rows_win_over_it() -> None:
    assert Options(quick=True).rows_of(W1) == 100_000
    assert Options(quick=True, rows=5).rows_of(W1) == 5
    assert Options(quick=True).repeat_of(W1) == 2
    assert Options(rows=5).rows_of(WORKLOADS["import-time"]) == WORKLOADS["import-time"].rows


def test_a_workload_may_be_repeated_less_often() -> None:
    assert Options(repeat=5).repeat_of(replace(W1, repeat=1)) == 1


def test_names_are_keys_and_the_first_contender_is_weft() -> None:
    for name, workload in available(None).items():
        assert workload.name == name
        assert next(iter(workload.jobs)).startswith("weft")
        assert workload.figures


def test_a_tiny_run_gives_one_answer_and_every_figure() -> None:
    entry = run(W1, Options(repeat=2, rows=2000))
    assert list(entry["contenders"]) == list(W1.jobs)
    assert entry["rows"] == 4000
    assert 2000 < (entry["pairs"] or 0) < 10_000  # below 5 a row: the stream is shorter than the interval
    assert [len(one["figures"]["rows/s"]["values"]) for one in entry["contenders"].values()] == [2] * 4
    assert entry["judged"][0]["over"] == ["polars-bucket", "polars-packed", "duckdb-bucket"]
    assert entry["missing"] == {}


@pytest.mark.parametrize("name", ["stream-strings", "stream-100k-keys-8k", "batch-sizes", "state-bytes"])
def test_tiny_streams_run(name: str) -> None:
    entry = run(WORKLOADS[name], Options(repeat=1, rows=16_384))
    assert entry["judged"]

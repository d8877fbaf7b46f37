"""The streams are what their tables say: matches a row, disorder, skew, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bench.data import DELAY, SECOND, Stream, collision, draw_keys, sides, with_text


def matches_a_row(stream: Stream) -> float:
    left, right = sides(stream, seed=1)
    key, ts = (right[name].cast(pa.int64()).to_numpy() for name in ("key", "ts"))
    pairs = 0
    for row in left.slice(0, 400).to_pylist():
        time = int(row["ts"].timestamp() * 1e6)
        pairs += int(((key == row["key"]) & (np.abs(ts - time) <= SECOND)).sum())
    return pairs / 400


@pytest.mark.parametrize("skew", [None, 0.35])
def test_a_row_has_as_many_matches_as_asked_for(skew: float | None) -> None:
    found = matches_a_row(Stream(rows=40_000, keys=20, matches=5, skew=skew))
    assert found == pytest.approx(5, rel=0.25)


def test_self_similar_keys_put_most_rows_into_few_keys() -> None:
    keys = draw_keys(Stream(rows=100_000, keys=1000, matches=1, skew=0.35), np.random.default_rng(1))
    assert (keys < 350).mean() == pytest.approx(0.65, abs=0.01)
    assert collision(Stream(rows=1, keys=1000, matches=1)) == 1 / 1000


def test_wide_keys_stay_distinct() -> None:
    keys = draw_keys(Stream(rows=100_000, keys=1000, matches=1, wide=True), np.random.default_rng(1))
    assert len(np.unique(keys)) == 1000
    assert np.abs(keys).max() > 1 << 60


def test_rows_come_at_most_the_delay_out_of_order() -> None:
    left, _ = sides(Stream(rows=20_000, keys=10, matches=5), seed=1)
    times = left["ts"].cast(pa.int64()).to_numpy()
    behind = (np.maximum.accumulate(times) - times).max()
    assert 0 < behind <= DELAY


def test_a_seed_gives_one_stream() -> None:
    stream = Stream(rows=1000, keys=10, matches=5)
    assert sides(stream, 7)[0].equals(sides(stream, 7)[0])
    assert not sides(stream, 7)[0].equals(sides(stream, 8)[0])


def test_text_columns_are_strings_and_nullable() -> None:
    left, _ = sides(Stream(rows=10_000, keys=10, matches=5, wide=True), seed=1)
    text = with_text(left, seed=2, column="b")
    assert text.schema.types == [pa.string(), pa.timestamp("us"), pa.string(), pa.int64()]
    assert len(text["key"].unique()) == 10
    assert 800 < text["b"].null_count < 1200

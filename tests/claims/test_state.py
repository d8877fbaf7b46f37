"""State is what may still match and no more: flat on an endless stream, purged on time, pinning no batch."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest

import weft

Arrays = dict[str, Any]


def batch(start: int, rows: int, keys: int, seed: int = 0) -> pa.Table:
    """Return rows one tick apart, keys drawn at random."""
    random = np.random.default_rng([seed, start])
    return pa.table(
        {
            "key": random.integers(0, keys, rows),
            "ts": np.arange(start, start + rows),
            "v": random.random(rows),
        }
    )


def stream(**more: Any) -> Any:
    """Return a stream with a horizon of a thousand ticks."""
    return weft.stream.IntervalJoin(on="key", time="ts", lower=-500, upper=500, lateness=100, **more)


@pytest.mark.parametrize(("rows", "pushes"), [(1, 12_000), (7, 3000), (200, 500), (5000, 60)])
def test_state_is_flat_on_an_endless_stream(rows: int, pushes: int) -> None:
    op = stream()
    seen, allocated = [], []
    for at in range(pushes):
        op.push("left", batch(at * rows, rows, 50))
        op.push("right", batch(at * rows, rows, 50, seed=1))
        seen.append(op.metrics)
        allocated.append(pa.total_allocated_bytes())
    assert max(allocated[pushes // 2 :]) <= 1.2 * max(allocated[: pushes // 2]) + 10_000
    early, late = seen[: pushes // 2], seen[pushes // 2 :]
    for side in ("left", "right"):
        for name in ("rows", "bytes", "runs"):
            peaks = [max(getattr(metrics, name)[side] for metrics in half) for half in (early, late)]
            assert peaks[1] <= 1.2 * peaks[0], name
        # What has expired waits for a merge: no more than a few small runs, or the live rows again.
        assert max(metrics.rows[side] for metrics in seen) <= 2 * (600 + rows) + 1100
        assert max(metrics.runs[side] for metrics in seen) <= 12


def test_expired_rows_are_never_the_most_of_a_large_state() -> None:
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=-100_000, upper=100_000, lateness=0)
    for at in range(80):
        op.push(left=batch(at * 8192, 8192, 50_000), right=batch(at * 8192, 8192, 50_000, seed=1))
        assert max(op.metrics.rows["left"], op.metrics.rows["right"]) <= 2 * (100_000 + 8192)


def test_what_the_watermark_put_out_of_reach_goes() -> None:
    op = stream()
    for at in range(10):
        op.push(left=batch(at * 200, 200, 50), right=batch(at * 200, 200, 50, seed=1))
    assert op.metrics.rows["left"] > 0
    op.advance(10**9)
    op.push(left=batch(10**9, 1, 1), right=batch(10**9, 1, 1))
    assert op.metrics.rows["left"] <= 1
    assert op.metrics.rows["right"] <= 1


def test_a_side_that_needs_no_memory_of_the_other_keeps_none() -> None:
    # Right rows lie 1000 to 500 ticks before their left rows: a left row is done as soon as it came.
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=-1000, upper=-500, lateness=0)
    for at in range(100):
        op.push(left=batch(at * 200, 200, 50), right=batch(at * 200, 200, 50, seed=1))
    assert op.metrics.rows["left"] <= 1800
    assert op.metrics.rows["right"] <= 2 * 1200 + 1100


def test_rows_without_a_key_or_a_time_are_not_kept() -> None:
    op = stream()
    none = pa.table(
        {"key": pa.array([None, 1], pa.int64()), "ts": pa.array([5, None], pa.int64()), "v": [0.0, 1.0]}
    )
    op.push(left=none, right=none)
    assert op.metrics.rows == {"left": 0, "right": 0}


def _passing_keys(pushes: int, rows: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    for at in range(pushes):
        keys = np.arange(at * rows, (at + 1) * rows) * 2_654_435_761
        times = np.full(rows, at)
        yield pa.table({"key": keys, "ts": times}), pa.table({"key": keys[::-1], "ts": times})


def _as_text(table: pa.Table) -> pa.Table:
    return table.set_column(0, "key", table["key"].cast(pa.string()))


@pytest.mark.parametrize("text", [False, True], ids=["integers", "strings"])
def test_ten_million_passing_keys_leave_no_memory_behind(text: bool) -> None:
    pushes, rows = (150, 65_536) if not text else (40, 16_384)
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=0, lateness=1)
    process, sizes, resident = psutil.Process(), [], []
    for sides in _passing_keys(pushes, rows):
        left, right = map(_as_text, sides) if text else sides
        assert op.push(left=left, right=right).num_rows == rows
        sizes.append(sum(op.metrics.bytes.values()))
        resident.append(process.memory_info().rss)
    half = pushes // 2
    assert max(sizes[half:]) <= 1.3 * max(sizes[5:half])
    assert max(resident[half:]) <= max(resident[5:half]) + 64 * 2**20


def backed_by(rows: int, kind: str) -> tuple[pa.Table, list[weakref.ref[Any]]]:
    """Return a table whose payload lies in numpy's memory, and references that die with that memory."""
    random = np.random.default_rng(0)
    if kind == "string":
        bytes_, offsets = (
            random.integers(97, 122, rows * 4).astype(np.uint8),
            np.arange(rows + 1, dtype=np.int32) * 4,
        )
        held = [bytes_, offsets]
        payload = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(bytes_))
    elif kind == "list":
        items, offsets = random.random(rows * 2), np.arange(rows + 1, dtype=np.int32) * 2
        held = [items, offsets]
        payload = pa.Array.from_buffers(
            pa.list_(pa.float64()), rows, [None, pa.py_buffer(offsets)], children=[pa.array(items)]
        )
    else:
        items = random.random(rows)
        held = [items]
        payload = pa.array(items)
    keys, times = np.arange(rows), np.zeros(rows, np.int64)
    table = pa.table({"key": pa.array(keys), "ts": pa.array(times), "p": payload})
    return table, [weakref.ref(one) for one in (*held, keys, times)]


def stays(op: Any, held: list[weakref.ref[Any]], rows: int) -> None:
    """Claim that so many left rows are held, and nothing of what they came in."""
    gc.collect()
    assert op.metrics.rows["left"] == rows
    assert [one() for one in held] == [None] * len(held)


@pytest.mark.parametrize("kind", ["number", "string", "list"])
@pytest.mark.parametrize("rows", [10, 5000])
@pytest.mark.parametrize("known", [True, False], ids=["schemas known", "schemas unknown"])
def test_a_stored_slice_never_pins_the_batch_it_came_from(kind: str, rows: int, known: bool) -> None:
    table, held = backed_by(200_000, kind)
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=0, lateness=0)
    if known:
        op.push(left=table.slice(0, 0), right=table.slice(0, 0))
    op.push(left=table.slice(100_000, rows))
    del table
    stays(op, held, rows)


@pytest.mark.parametrize("kind", ["number", "string", "list"])
def test_late_rows_not_yet_fetched_pin_no_batch(kind: str) -> None:
    table, held = backed_by(200_000, kind)
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=0, lateness=0, late="route")
    op.advance(1)
    op.push(left=table.slice(100_000, 10))
    del table
    stays(op, held, 0)
    assert op.late()["left"].num_rows == 10


@pytest.mark.parametrize("kind", ["number", "string", "list"])
def test_a_result_kept_pins_no_batch(kind: str) -> None:
    table, held = backed_by(200_000, kind)
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=0, lateness=0)
    result = op.push(left=table.slice(100_000, 10), right=table.slice(0, 150_000))
    op.advance(1)
    del table
    stays(op, held, 0)
    assert result.num_rows == 10


@pytest.mark.parametrize("kind", ["number", "string", "list"])
def test_the_few_rows_that_stay_of_a_large_batch_do_not_hold_the_rest(kind: str) -> None:
    rows = 200_000
    table, held = backed_by(rows, kind)
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=0, lateness=0)
    later = table.slice(0, 10).set_column(1, "ts", pa.array(np.full(10, 1000)))
    op.push(left=pa.concat_tables([table, later]), right=table.slice(0, 0))
    op.advance(1000)
    del table, later
    op.push("left", pa.table({"key": [0], "ts": [1000], "p": _one(kind)}))
    stays(op, held, 11)
    assert op.metrics.bytes["left"] < 10_000  # of 4 MB and more


def _one(kind: str) -> pa.Array:
    return {"number": pa.array([1.0]), "string": pa.array(["word"]), "list": pa.array([[1.0]])}[kind]


def test_a_stored_slice_does_not_hold_arrows_memory_of_its_batch() -> None:
    rows, before = 500_000, pa.total_allocated_bytes()
    table = pa.table(
        {
            "key": range(rows),
            "ts": pa.array([0] * rows),
            "p": pa.array([f"a word of some length {at}" for at in range(rows)]),
        }
    )
    assert pa.total_allocated_bytes() - before > 10**7
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=0, upper=0, lateness=0)
    op.push(left=table.slice(1000, 10), right=table.slice(1000, 10))
    del table
    gc.collect()
    assert pa.total_allocated_bytes() - before < 10**6


def test_an_operator_that_is_gone_leaves_no_memory_behind() -> None:
    before = pa.total_allocated_bytes()
    op = stream()
    result = op.push(left=batch(0, 50_000, 5000), right=batch(0, 50_000, 5000, seed=1))
    del op, result
    gc.collect()
    assert pa.total_allocated_bytes() - before < 10**5


def test_bytes_of_state_are_near_the_raw_bytes_of_the_rows_held() -> None:
    op = weft.stream.IntervalJoin(on="key", time="ts", lower=-40_960, upper=40_960, lateness=0)
    for at in range(30):
        op.push(left=batch(at * 8192, 8192, 1000), right=batch(at * 8192, 8192, 1000, seed=1))
    raw = sum(op.metrics.rows.values()) * 24
    assert sum(op.metrics.bytes.values()) <= 1.5 * raw

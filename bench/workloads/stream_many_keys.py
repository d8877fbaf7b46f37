"""Streams with 100k and 1 M distinct keys: below one pair a row, so that finding is most of the work."""

from bench.data import SECOND, Stream
from bench.joins import join_jobs, throughput
from bench.model import Workload
from bench.workloads.shapes import case_of


def many_keys(keys: int, matches: float, push: int) -> Workload:
    """Return the workload for this many keys and rows a push."""
    stream = Stream(rows=2_000_000, keys=keys, matches=matches, wide=True)
    keys_text = f"{keys // 1_000_000}m" if keys >= 1_000_000 else f"{keys // 1000}k"
    return Workload(
        name=f"stream-{keys_text}-keys-{push // 1024}k",
        summary=f"{push // 1024}k rows a push and side, {keys:,} keys, {matches} pairs a row",
        jobs=join_jobs(case_of(stream, -SECOND, SECOND, push), "weft-stream", "polars-bucket"),
        figures=throughput(1, 2, "polars-bucket"),
        rows=stream.rows,
    )


MANY_KEYS = tuple(
    many_keys(keys, matches, push)
    for keys, matches in ((100_000, 0.4), (1_000_000, 0.04))
    for push in (8192, 65_536)
)

"""A stream in large pushes with skewed keys: 30 pairs a row; writing the result is most of the work."""

from bench.data import SECOND, Stream
from bench.joins import join_jobs, throughput
from bench.model import Workload
from bench.workloads.shapes import case_of

STREAM = Stream(rows=1_000_000, keys=50, matches=30, skew=0.35, wide=True)

STREAM_SKEWED = Workload(
    name="stream-skewed",
    summary="64k rows a push and side, 50 skewed keys, 30 pairs a row",
    jobs=join_jobs(case_of(STREAM, -SECOND, SECOND), "weft-stream", "polars-bucket"),
    figures=throughput(2.5, 5, "polars-bucket"),
    rows=STREAM.rows,
)

"""A stream in large pushes: 64k rows a push and side, uniform keys, 4.5 pairs a row."""

from bench.data import SECOND, Stream
from bench.joins import join_jobs, throughput
from bench.model import Workload
from bench.workloads.shapes import case_of

STREAM = Stream(rows=2_000_000, keys=1000, matches=4.5, wide=True)

STREAM_UNIFORM = Workload(
    name="stream-uniform",
    summary="64k rows a push and side, 1000 uniform keys, 4.5 pairs a row",
    jobs=join_jobs(case_of(STREAM, -SECOND, SECOND), "weft-stream", "polars-bucket"),
    figures=throughput(2, 4, "polars-bucket"),
    rows=STREAM.rows,
)

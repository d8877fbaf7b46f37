"""W1: whole tables, 1000 uniform keys, 5 matches a row within one second."""

from bench.data import SECOND, Stream
from bench.joins import join_jobs, throughput
from bench.model import Workload
from bench.workloads.shapes import case_of

STREAM = Stream(rows=1_000_000, keys=1000, matches=5)

W1 = Workload(
    name="W1",
    summary="whole tables, 1000 uniform keys, -1 s to +1 s, 5 matches a row",
    jobs=join_jobs(
        case_of(STREAM, -SECOND, SECOND), "weft", "polars-bucket", "polars-packed", "duckdb-bucket"
    ),
    figures=throughput(2, 4, "polars-bucket", "polars-packed", "duckdb-bucket"),
    rows=STREAM.rows,
)

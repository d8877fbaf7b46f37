"""W2: whole tables, 50 self-similar keys (65 % of the rows in 35 % of the keys), 20 matches a row."""

from bench.data import SECOND, Stream
from bench.joins import join_jobs, throughput
from bench.model import Workload
from bench.workloads.shapes import case_of

STREAM = Stream(rows=1_000_000, keys=50, matches=20, skew=0.35)

W2 = Workload(
    name="W2",
    summary="whole tables, 50 skewed keys, -1 s to +1 s, 20 matches a row",
    jobs=join_jobs(
        case_of(STREAM, -SECOND, SECOND), "weft", "polars-bucket", "polars-packed", "duckdb-bucket"
    ),
    figures=throughput(2, 4, "polars-bucket", "polars-packed", "duckdb-bucket"),
    rows=STREAM.rows,
)

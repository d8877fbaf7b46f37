"""A stream with string keys, and on each side a string and a nullable column in the payload."""

from bench.data import SECOND, Stream
from bench.joins import join_jobs, throughput
from bench.model import Workload
from bench.workloads.shapes import text_case_of

STREAM = Stream(rows=1_000_000, keys=1000, matches=4.5)

STREAM_STRINGS = Workload(
    name="stream-strings",
    summary="64k rows a push and side, string keys, strings and nulls in the payload, 4.5 pairs a row",
    jobs=join_jobs(text_case_of(STREAM, -SECOND, SECOND), "weft-stream", "polars-bucket"),
    figures=throughput(None, 2, "polars-bucket"),
    rows=STREAM.rows,
)

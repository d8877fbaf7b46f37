"""The calls on frames: tables of one process, and whatever PySpark DataFrames stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from weft.edge.frame_kinds import is_spark
from weft.edge.frames import read_inputs
from weft.runtimes.batch import join_tables
from weft.spec import in_one_process, join_spec
from weft.types import SIDES, Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.types import Algorithm, Closed, Duration, Engine, How, Late, Pattern, Pick

F = TypeVar("F", bound=Frame)


def interval_join(
    left: F | Sequence[F],
    right: F | Sequence[F],
    *,
    on: str | Sequence[str | tuple[str, str]] | None = None,
    time: str | None = None,
    left_time: str | None = None,
    right_time: str | None = None,
    lower: Duration,
    upper: Duration,
    closed: Closed = "both",
    how: How = "inner",
    pick: Pick | int = "all",
    where: str | None = None,
    columns: Sequence[str] | None = None,
    suffixes: tuple[str, str] = ("", "_right"),
    lateness: Duration | tuple[Duration, Duration] | None = None,
    late: Late = "drop",
    idle: Duration | tuple[Duration | None, Duration | None] | None = None,
    order_by: str | Sequence[str] | None = None,
    pattern: Pattern = "auto",
    replicas: int | None = None,
    algorithm: Algorithm = "auto",
    engine: Engine = "auto",
) -> F:
    """Return all pairs of rows with equal keys and lower <= right.time - left.time <= upper.

    >>> import pyarrow as pa, weft
    >>> views = pa.table({"user": [1, 2], "ts": [10, 20]})
    >>> clicks = pa.table({"user": [1, 1, 2], "ts": [15, 45, 20]})
    >>> weft.interval_join(views, clicks, on="user", time="ts", lower=0, upper=30).to_pylist()
    [{'user': 1, 'ts': 10, 'ts_right': 15}, {'user': 2, 'ts': 20, 'ts_right': 20}]

    Both are PySpark DataFrames, pyarrow tables, pandas or Polars frames, or lists of them; the same kind
    comes out. Bounds are durations ("30s"), or integers for integer times. Rows with a null in a key or in
    the time match nothing.

    Two streams of Spark give a stream, for any sink and any further step, exactly once through its
    checkpoint: `lateness` says how far a row may lie behind the newest of its input (left out, it is the
    delay of the input's own withWatermark); `replicas` is the number of shards, by default the shuffle
    partitions.
    Tables are joined at once: nothing is late, `lateness`, `late` and `idle` are checked and have no effect;
    in one process the result is in the order of the left rows and then of the right times.
    """
    arguments = {name: value for name, value in locals().items() if name not in ("left", "right")}
    if is_spark(left) or is_spark(right):
        from weft.spark.joins import interval_join as on_spark

        return cast("F", on_spark(left, right, arguments))
    spec = in_one_process(join_spec(**arguments))
    read = {side: (*spec.keys_of(side), spec.time_of(side)) for side in SIDES}
    inputs = read_inputs(left, right, read=read)
    table, origins = join_tables(spec, inputs.left, inputs.right)
    joined: F = inputs.restore(table, origins)
    return joined

"""Joins of streams inside one process: push batches, get the pairs that they complete.

>>> import pyarrow as pa, weft
>>> op = weft.stream.IntervalJoin(on="user", time="ts", lower=0, upper=30, lateness=5)
>>> op.push("left", pa.table({"user": [1, 2], "ts": [10, 11]})).num_rows
0
>>> op.push("right", pa.table({"user": [1], "ts": [35], "url": ["/a"]})).to_pylist()
[{'user': 1, 'ts': 10, 'ts_right': 35, 'url': '/a'}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.columns import arrow_size
from weft.edge.frames import read_batch
from weft.errors import FinishedError, InputError, SpecError, refusal, shown
from weft.metrics import Metrics
from weft.progress.promise import shown_watermark, watermark_of
from weft.runtimes.checkpoint import load, save
from weft.runtimes.inline import Inline
from weft.spec import in_one_process, join_spec
from weft.types import SIDES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    import numpy as np

    from weft.types import Algorithm, Closed, Duration, Engine, Frame, How, Late, Pattern, Pick, Side

__all__ = ["IntervalJoin"]


class IntervalJoin:
    """Rows with equal keys and lower <= right.time - left.time <= upper, pair by pair as both rows are in.

    >>> import pyarrow as pa, weft
    >>> op = weft.stream.IntervalJoin(on="user", time="ts", lower=0, upper=30, lateness=5)
    >>> views = pa.table({"user": [1, 1], "ts": [10, 50]})
    >>> clicks = pa.table({"user": [1, 1], "ts": [12, 90]})
    >>> op.push(left=views, right=clicks).to_pylist()
    [{'user': 1, 'ts': 10, 'ts_right': 12}]
    >>> op.metrics.watermark
    45

    `lateness` says how far a row may lie behind the newest of its input; rows below the watermark are late.
    A refused or failed call leaves the operator as it was. It is for one caller at a time.
    """

    def __init__(
        self,
        *,
        lower: Duration,
        upper: Duration,
        on: str | Sequence[str | tuple[str, str]] | None = None,
        time: str | None = None,
        left_time: str | None = None,
        right_time: str | None = None,
        closed: Closed = "both",
        how: How = "inner",
        pick: Pick | int = "all",
        where: str | None = None,
        columns: Sequence[str] | None = None,
        suffixes: tuple[str, str] = ("", "_right"),
        lateness: Duration | tuple[Duration, Duration] | None = None,
        late: Late = "drop",
        idle: Duration | tuple[Duration | None, Duration | None] | None = None,
        sources: tuple[int, int] = (1, 1),
        order_by: str | Sequence[str] | None = None,
        pattern: Pattern = "auto",
        replicas: int | None = None,
        algorithm: Algorithm = "auto",
        engine: Engine = "auto",
        left_schema: pa.Schema | None = None,
        right_schema: pa.Schema | None = None,
    ) -> None:
        """Refuse what can be refused without data; schemas, where given, are checked here too."""
        given = {
            name: value
            for name, value in locals().items()
            if name not in ("self", "left_schema", "right_schema")
        }
        spec = in_one_process(join_spec(**given))
        if spec.lateness is None:
            hint = (
                'write lateness="0s" for inputs in order; a row below the newest of its input by more is late'
            )
            raise refusal(None, "`lateness`", "a duration, or one for each side, in a stream", hint)
        self._engine = Inline(spec)
        self._integers = spec.lower.unit == "ticks"
        self._engine.learn(_schemas(left_schema, right_schema))

    def push(
        self,
        side: Side | None = None,
        batch: Frame | None = None,
        *,
        left: Frame | None = None,
        right: Frame | None = None,
        source: int = 0,
    ) -> pa.Table:
        """Take a batch of one side, or one of each; return the pairs that they complete.

        >>> import pyarrow as pa, weft
        >>> op = weft.stream.IntervalJoin(on="k", time="ts", lower=-1, upper=1, lateness=0)
        >>> both = pa.table({"k": ["a", "b"], "ts": [1, 2]})
        >>> op.push(left=both, right=both).num_rows
        2

        A batch is a pyarrow Table or RecordBatch, a pandas or a Polars frame. Until both schemas are known
        the result has no columns; afterwards it has all, also without rows.
        """
        pushed = [
            (one, source, self._read(one, given)) for one, given in _given(side, batch, left, right, source)
        ]
        for one, place, _ in pushed:
            self._check_source(one, place)
        return self._engine.push(pushed)

    def advance(
        self, watermark: date | np.datetime64 | np.integer[Any] | int, side: Side | None = None
    ) -> pa.Table:
        """Promise that no row below the watermark will come, of a side or of both; return what that proves.

        >>> import weft
        >>> from datetime import datetime
        >>> op = weft.stream.IntervalJoin(on="k", time="ts", lower="0s", upper="1s", lateness="0s")
        >>> op.advance(datetime(2026, 1, 1)).num_rows
        0

        The value is of the time column's own type: a date, a datetime, a pandas Timestamp, a numpy
        datetime64, or an integer in its unit.
        """
        _check_side(side)
        value = watermark_of(watermark, self._engine.sides, side, integers=self._integers)
        return self._engine.move(self._engine.progress.advanced(value, side))

    def finish(self, side: Side | None = None, source: int | None = None) -> pa.Table:
        """End all inputs, those of a side, or one of them; return what that proves.

        >>> import weft
        >>> op = weft.stream.IntervalJoin(on="k", time="ts", lower=0, upper=1, lateness=0)
        >>> op.finish().num_rows
        0
        """
        _check_side(side)
        if source is not None:
            if side is None:
                message = f"`source` needs a `side`; got source={source!r}."
                raise SpecError(message, 'write finish("left", source=0)')
            self._check_number(side, source)
        return self._engine.move(self._engine.progress.finished(side, source))

    def late(self) -> dict[Side, pa.Table]:
        """Return the late rows since the last call, whole, a table a side; empty unless `late="route"`.

        >>> import pyarrow as pa, weft
        >>> op = weft.stream.IntervalJoin(on="k", time="ts", lower=0, upper=1, lateness=0, late="route")
        >>> for ts in (5, 3):
        ...     _ = op.push(left=pa.table({"k": [1], "ts": [ts]}), right=pa.table({"k": [1], "ts": [5]}))
        >>> op.late()["left"].to_pylist()
        [{'k': 1, 'ts': 3, '_weft_source': 0, '_weft_lateness': 2}]
        """
        return self._engine.fetch_late()

    @property
    def metrics(self) -> Metrics:
        """What has been counted, and what is held now."""
        engine = self._engine
        counts, windows = engine.counts, {} if engine.join is None else engine.join.operator.windows
        waiting = {
            side: [one.arrived for one in engine.waiting if one.arrived.side == side] for side in SIDES
        }
        size = {side: sum(arrow_size(one.data) for one in waiting[side]) for side in SIDES}
        rows = {side: sum(one.times.size for one in waiting[side]) for side in SIDES}
        return Metrics(
            rows_in=dict(counts.rows_in),
            pairs_out=counts.pairs_out,
            late={side: tuple(counts.late[side]) for side in SIDES},
            watermark=shown_watermark(engine.progress.watermark, engine.sides, integers=self._integers),
            rows={side: len(windows[side]) if windows else rows[side] for side in SIDES},
            runs={side: windows[side].parts if windows else len(waiting[side]) for side in SIDES},
            bytes={side: windows[side].nbytes if windows else size[side] for side in SIDES}
            | {"keys": 0 if engine.join is None else engine.join.interner.nbytes},
        )

    def snapshot(self) -> bytes:
        """Return all state as bytes, checksummed; `restore` of an operator with the same spec takes them.

        >>> import pyarrow as pa, weft
        >>> spec = dict(on="k", time="ts", lower=0, upper=9, lateness=0)
        >>> op = weft.stream.IntervalJoin(**spec)
        >>> _ = op.push("left", pa.table({"k": [1], "ts": [5]}))
        >>> again = weft.stream.IntervalJoin(**spec)
        >>> again.restore(op.snapshot())
        >>> again.push("right", pa.table({"k": [1], "ts": [6]})).num_rows
        1
        """
        return save(self._engine)

    def restore(self, snapshot: bytes | bytearray | memoryview) -> None:
        """Go on from a snapshot; `late`, `lateness` and `idle` may differ, all else must be equal."""
        self._engine = load(self._engine, snapshot)

    def _read(self, side: Side, given: Any) -> pa.Table | pa.RecordBatch:
        known = self._engine.sides.get(side)
        data = read_batch(side, given, None if known is None else known.schema)
        if known is not None and not data.schema.equals(known.schema):
            _check_schema(side, known.schema, data)
            data = type(data).from_arrays(data.columns, schema=known.schema)
        return data

    def _check_source(self, side: Side, source: int) -> None:
        self._check_number(side, source)
        if self._engine.progress.inputs[side][source].finished:
            message = f"{side} input {source} has finished and takes no more rows."
            raise FinishedError(message, "push before finish(), or begin a new operator")

    def _check_number(self, side: Side, source: object) -> None:
        count = len(self._engine.progress.inputs[side])
        if not isinstance(source, int) or isinstance(source, bool) or not 0 <= source < count:
            allowed = f"from 0 to {count - 1}, as {side} has {count} input{'s' * (count > 1)}"
            raise refusal(source, "`source`", allowed, f"declare more with sources=({', '.join(['n'] * 2)})")


def _schemas(left: Any, right: Any) -> dict[Side, pa.Schema]:
    given: dict[Side, Any] = {"left": left, "right": right}
    for side, schema in given.items():
        if schema is not None and not isinstance(schema, pa.Schema):
            hint = "write table.schema of a pyarrow table, or pa.Schema.from_pandas(df, preserve_index=False)"
            raise refusal(schema, f"`{side}_schema`", "a pyarrow.Schema or None", hint)
    return {side: schema for side, schema in given.items() if schema is not None}


def _check_side(side: object) -> None:
    if side is not None and side not in SIDES:
        raise refusal(side, "`side`", '"left", "right" or None', 'write "left" or "right"')


def _given(side: Any, batch: Any, left: Any, right: Any, source: int) -> list[tuple[Side, Any]]:
    """Return the batches of a push; refuse a push of none, or one that says a side twice."""
    named: list[tuple[Side, Any]] = [
        (one, given) for one, given in zip(SIDES, (left, right), strict=True) if given is not None
    ]
    if side is None and batch is None and named:
        if source != 0 and len(named) > 1:
            message = f"`source` needs one side; got source={source!r} and both."
            raise SpecError(message, "push each side by itself")
        return named
    if side not in SIDES or batch is None or named:
        came = ", ".join([f"side={shown(side)}", *(name for name, _ in named)])
        allowed = 'a side ("left" or "right") and its batch, or left= and right='
        message = f"`push` must get {allowed}; got {came}."
        raise SpecError(message, 'write push("left", batch) or push(left=batch, right=batch)')
    return [(side, batch)]


def _check_schema(side: Side, known: pa.Schema, data: pa.Table | pa.RecordBatch) -> None:
    """Refuse a batch whose columns are not those of the first."""
    came = data.schema
    if known.names != came.names:
        wanted, got = (", ".join(schema.names) for schema in (known, came))
        message = f"{side} must keep its columns between pushes: {wanted}; got {got}."
        raise InputError(message, "select the columns in the order of the first push")
    rule, declare = f"{side} must keep its types between pushes", f"declare the columns with {side}_schema="
    for place, (was, is_) in enumerate(zip(known, came, strict=True)):
        name, type_ = shown(was.name), was.type
        if type_ != is_.type:
            hint = declare if pa.types.is_null(type_) else f"cast it to {type_}"
            message = f"{rule}: {name} was {type_}; got {is_.type}."
            raise InputError(message, f"{hint}, or begin a new operator")
        if not was.nullable and data.column(place).null_count:
            message = f"{rule}: {name} was not null; got a null."
            raise InputError(message, f"{declare}, or begin a new operator")

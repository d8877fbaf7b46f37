"""Streams of small pushes that are played twice: in one kernel call a push, and the general way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import weft
from tests.support.rows import multiset, rows_of
from weft.runtimes.small import SmallPushes

LOW, HIGH = -(2**63), 2**63 - 1
TS = pa.timestamp("us")
KEYS: dict[str, tuple[pa.DataType, pa.DataType] | None] = {
    "int64": (pa.int64(), pa.int64()),
    "int32": (pa.int32(), pa.int32()),
    "uint8": (pa.uint8(), pa.uint8()),
    "int8 and uint8": (pa.int8(), pa.uint8()),
    "int16 and int64": (pa.int16(), pa.int64()),
    "uint16 and uint32": (pa.uint16(), pa.uint32()),
    "uint32 and int64": (pa.uint32(), pa.int64()),
    "uint64": (pa.uint64(), pa.uint64()),
    "timestamp": (pa.timestamp("ns"), pa.timestamp("ns")),
    "zoned timestamp": (pa.timestamp("s", "UTC"), pa.timestamp("s", "UTC")),
    "date32": (pa.date32(), pa.date32()),
    "no key": None,
}
# Widths 1, 2, 4, 8, 16, 24 and 32.
PAYLOADS = (
    *(pa.int8(), pa.uint16(), pa.float32(), pa.float64(), pa.duration("s"), pa.decimal128(20, 3)),
    *(
        pa.binary(1),
        pa.binary(2),
        pa.binary(4),
        pa.binary(8),
        pa.binary(16),
        pa.binary(24),
        pa.decimal256(50, 1),
    ),
)


def memory_of(kind: pa.DataType, seed: int, rows: int) -> pa.Array:
    """Return a column of random bytes, of any type whose values may be any bytes."""
    width = kind.bit_width // 8
    data = np.random.default_rng(seed).integers(0, 256, (rows, width), np.uint8)
    if pa.types.is_floating(kind):
        data[:, -1] &= 0x3F  # no infinities, nothing that is not a number
    if pa.types.is_decimal(kind):
        data[:, 8:] = 0  # few enough digits
        data[:, 7] &= 0x7F
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(data.tobytes())])


def keys_for(random: Random, kind: pa.DataType, rows: int, keys: int) -> pa.Array:
    """Return keys of a type; those at the ends of what it holds among them."""
    bits = kind.bit_width
    unsigned = pa.types.is_unsigned_integer(kind)
    top = 2**bits - 1 if unsigned else 2 ** (bits - 1) - 1
    low = 0 if unsigned else -top - 1
    pool = [*range(min(keys, 120)), *([low, low + 1, top, -1] if not unsigned else [top, top // 2 + 1])]
    whole = pa.array([random.choice(pool) for _ in range(rows)], f"{'u' if unsigned else ''}int{bits}")
    return whole.view(kind)


@dataclass(slots=True)
class Layout:
    """The columns of both sides, and the join."""

    key: str
    time: pa.DataType
    payloads: tuple[Sequence[pa.DataType], Sequence[pa.DataType]]
    lower: int
    upper: int
    more: dict[str, Any] = field(default_factory=dict)

    def schema(self, side: str) -> pa.Schema:
        """Return a side's columns: its key in the middle, so that no place is the same on both sides."""
        right = side == "right"
        kinds = KEYS[self.key]
        columns = [("id", pa.int32()), ("ts", self.time)]
        columns += [] if kinds is None else [("key", kinds[right])]
        columns += [(f"p{at}", kind) for at, kind in enumerate(self.payloads[right])]
        return pa.schema(columns[::-1] if right else columns)

    def spec(self) -> dict[str, Any]:
        """Return the arguments of the stream."""
        span: Callable[[int], Any] = (lambda ticks: f"{ticks} us") if self.time == TS else int
        return {
            "on": None if self.key == "no key" else "key",
            "time": "ts",
            "lower": span(self.lower),
            "upper": span(self.upper),
            "lateness": span(self.more.get("lateness", 0)),
            "late": "route",
            "left_schema": self.schema("left"),
            "right_schema": self.schema("right"),
        } | {name: value for name, value in self.more.items() if name in ("columns", "closed")}

    def batch(self, random: Random, side: str, ids: range, times: Sequence[int], nulls: str = "") -> pa.Table:
        """Return rows of a side; `nulls` names the columns that have some."""
        columns = {}
        for column in self.schema(side):
            if column.name == "id":
                made = pa.array(ids, pa.int32())
            elif column.name == "ts":
                made = pa.array(times, pa.int64()).view(self.time)
            elif column.name == "key":
                made = keys_for(random, column.type, len(ids), self.more.get("keys", 4))
            else:
                made = memory_of(column.type, random.randrange(2**32), len(ids))
            if column.name in nulls.split():
                made = with_nulls(random, made)
            columns[column.name] = made
        return pa.table(columns, schema=self.schema(side))


def with_nulls(random: Random, column: pa.Array) -> pa.Array:
    """Return a column with about every third value null, the bytes under it kept."""
    valid = np.array([random.random() < 0.7 for _ in range(len(column))], bool)
    valid[0] = False
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        column.type, len(column), [bitmap, column.buffers()[1]], offset=column.offset
    )


Event = tuple[str, Any]  # a side and its batch, or "snapshot", "advance" (a time), "finish" (a side)


@dataclass(slots=True)
class Told:
    """What a stream gave: the rows of each result, and all that was counted."""

    results: list[Counter[Any]] = field(default_factory=list)
    late: dict[str, Counter[Any]] = field(default_factory=dict)
    watermarks: list[Any] = field(default_factory=list)
    counts: list[Any] = field(default_factory=list)
    fast: int = 0


@contextmanager
def counted(told: Told) -> Iterator[None]:
    """Count the pushes that one kernel call did."""
    push = SmallPushes.push

    def counting(self: SmallPushes, *args: Any) -> Any:
        done = push(self, *args)
        told.fast += done is not None
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SmallPushes, "push", counting)
        yield


def play(layout: Layout, events: Sequence[Event], *, general: bool = False) -> Told:
    """Play events; no result may ever change once it was given."""
    told, given = Told(), []
    with pytest.MonkeyPatch.context() as patch, counted(told):
        if general:
            patch.setattr("weft.runtimes.inline.MOST_ROWS", 0)
        op = weft.stream.IntervalJoin(**layout.spec())
        for what, value in events:
            if what == "snapshot":
                bytes_ = op.snapshot()
                op = weft.stream.IntervalJoin(**layout.spec())
                op.restore(bytes_)
                continue
            result = getattr(op, what)(value) if what in ("advance", "finish") else op.push(what, value)
            result.validate(full=True)
            given.append((result, multiset(rows_of(result))))
            told.watermarks.append(op.metrics.watermark)
            told.counts.append((op.metrics.rows_in, op.metrics.pairs_out, op.metrics.late))
        told.late = {side: multiset(rows_of(table)) for side, table in op.late().items()}
    for result, rows in given:
        assert multiset(rows_of(result)) == rows, "a result changed after it was given"
    told.results = [rows for _, rows in given]
    return told


def assert_same(layout: Layout, events: Sequence[Event]) -> Told:
    """Claim that both ways give the same after every event; return what the fast way told."""
    fast, general = play(layout, events), play(layout, events, general=True)
    assert general.fast == 0
    for at, (one, two) in enumerate(zip(fast.results, general.results, strict=True)):
        assert one == two, f"event {at} of {len(events)}"
    assert fast.watermarks == general.watermarks
    assert fast.counts == general.counts
    assert fast.late == general.late
    return fast

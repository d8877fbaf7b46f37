"""The state of a join as bytes, and back."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.edge.arrivals import arrive
from weft.edge.stored import restored_table, stored_table
from weft.errors import StateError, shown
from weft.progress.late import late_schema
from weft.progress.watermark import Input, Progress
from weft.runtimes.inline import Inline
from weft.runtimes.joins import Join, Judged
from weft.spans import Span
from weft.state.chunks import decode, encode, read_table, write_table
from weft.state.container import pack, unpack
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.edge.binding import SideBinding
    from weft.edge.interner import Interner
    from weft.spec import JoinSpec

# What a blob is, where it belongs, its bytes.
Blob = tuple[dict[str, Any], bytes]


def save(engine: Inline) -> bytes:
    """Return all that later results depend on."""
    blobs = [*_windows(engine), *_waiting(engine), *_late(engine)]
    progress = engine.progress
    header = {
        "spec": engine.spec.identity(),
        "schemas": {side: _schema_text(one.schema) for side, one in engine.sides.items()},
        "watermark": progress.watermark,
        "inputs": {side: [asdict(one) for one in progress.inputs[side]] for side in SIDES},
        "rows_in": engine.counts.rows_in,
        "late": engine.counts.late,
        "pairs_out": engine.counts.pairs_out,
        "chunks": [place for place, _ in blobs],
    }
    return pack(header, [data for _, data in blobs])


def load(engine: Inline, snapshot: object) -> Inline:
    """Return an engine of the same spec with the state of a snapshot; refuse one that does not fit."""
    header, blobs = unpack(snapshot)
    _check_spec(engine.spec, header["spec"])
    fresh = Inline(engine.spec)
    schemas = {side: _schema_of(text) for side, text in header["schemas"].items()}
    _check_schemas(engine.sides, schemas)
    fresh.learn(schemas)
    inputs = {side: tuple(Input(**each) for each in header["inputs"][side]) for side in SIDES}
    fresh.progress = Progress(fresh.progress.allowed, inputs, header["watermark"]).resumed()
    fresh.counts.rows_in, fresh.counts.late = header["rows_in"], header["late"]
    fresh.counts.pairs_out = header["pairs_out"]
    for place, data in zip(header["chunks"], blobs, strict=True):
        _take(fresh, place, data)
    fresh.learn({side: one.schema for side, one in engine.sides.items() if side not in schemas})
    return fresh


def _windows(engine: Inline) -> Iterator[Blob]:
    join = engine.join
    if join is None:
        return
    for side in SIDES:
        for batch in join.operator.windows[side].contents():
            yield {"kind": "window", "side": side}, encode(batch, _named(join), _payload(join, side))


def _waiting(engine: Inline) -> Iterator[Blob]:
    for arrived in (one.arrived for one in engine.waiting):
        place = {"kind": "waiting", "side": arrived.side, "source": arrived.source}
        yield place, write_table(stored_table(arrived.data))


def _late(engine: Inline) -> Iterator[Blob]:
    for side in SIDES:
        for table in engine.late[side]:
            yield {"kind": "late", "side": side}, write_table(stored_table(table))


def _take(engine: Inline, place: dict[str, Any], data: bytes) -> None:
    """Put one blob where it belongs."""
    side: Side = place["side"]
    if place["kind"] == "late":
        engine.late[side].append(restored_table(read_table(data), late_schema(engine.sides[side].schema)))
    elif place["kind"] == "waiting":
        table = restored_table(read_table(data), engine.sides[side].schema)
        engine.wait(Judged(arrive(side, place["source"], table, engine.sides[side]), None, None))
    elif engine.join is not None:
        batch = decode(data, _named(engine.join))
        engine.join.operator.windows[side].load(batch, max(engine.join.interner.size, 1))


def _named(join: Join) -> Interner | None:
    """Return the interner of a join with keys."""
    return join.interner if join.binding.families else None


def _payload(join: Join, side: Side) -> list[pa.Field]:
    one = join.binding.left if side == "left" else join.binding.right
    return [one.schema.field(place) for place in join.binding.kept[SIDES.index(side)]]


def _schema_text(schema: pa.Schema) -> str:
    again = pa.ipc.read_schema(schema.serialize())
    lost = [one for one, other in zip(schema, again, strict=True) if one.type != other.type]
    if lost:
        column = f"{shown(lost[0].name)} ({lost[0].type})"
        message = f"a snapshot must be readable; column {column} would come back as another type."
        raise StateError(message, "register its extension type: pyarrow.register_extension_type(...)")
    return base64.b64encode(schema.serialize()).decode()


def _schema_of(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _check_spec(spec: JoinSpec, other: dict[str, Any]) -> None:
    mine = spec.identity()
    unlike = [name for name in mine if mine[name] != other.get(name)]
    if unlike:
        parts = "; ".join(f"`{name}` was {said(other.get(name))}, now {said(mine[name])}" for name in unlike)
        allowed = "only `late`, `lateness` and `idle` may differ"
        message = f"the snapshot is of another join: {parts}."
        raise StateError(message, f"restore into an operator with the same arguments; {allowed}")


def said(value: Any) -> str:
    """Return a part of a spec's identity as a user wrote it."""
    if isinstance(value, list) and value[-1:] in (["ns"], ["ticks"]):
        return Span(*value).code()
    return shown(value)


def _check_schemas(known: dict[Side, SideBinding], schemas: dict[Side, pa.Schema]) -> None:
    for side, one in known.items():
        if side in schemas and not schemas[side].equals(one.schema):
            theirs, ours = columns_of(schemas[side]), columns_of(one.schema)
            message = f"the snapshot's {side} columns are others: {theirs}; got {ours}."
            raise StateError(message, "restore into a new operator")


def columns_of(schema: pa.Schema) -> str:
    """Return the columns of a schema as messages show them."""
    return ", ".join(f"{field.name} ({field.type})" for field in schema)

"""Late rows: found, counted, refused, or handed back whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from weft.edge.result import rows_table
from weft.errors import LateRowError, shown

if TYPE_CHECKING:
    from weft.edge.arrivals import Arrived
    from weft.edge.binding import SideBinding
    from weft.edge.keys import Flags

SOURCE, LATENESS = "_weft_source", "_weft_lateness"
MOST = 2**63 - 1
UNITS = {86_400 * 10**9: "days", 10**9: "s", 10**6: "ms", 10**3: "us", 1: "ns"}


def threshold(watermark: int, tick: int) -> int:
    """Return the first whole tick of a column that is not below the watermark (in nanoseconds)."""
    return -(-watermark // tick)


def late_flags(arrived: Arrived, first: int) -> Flags | None:
    """Tell which rows lie below the first time that is not late; None where no row does."""
    late: Flags = arrived.times < first
    if arrived.timed is not None:
        late &= arrived.timed
    return late if late.any() else None


def late_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a side's late rows."""
    return schema.append(pa.field(SOURCE, pa.int32())).append(pa.field(LATENESS, pa.int64()))


def late_table(arrived: Arrived, late: Flags, first: int) -> pa.Table:
    """Return the late rows whole, with their input and how far each lies below `first`, which is not late."""
    rows = np.flatnonzero(late)
    table = rows_table(arrived.data, rows)
    # Exact, as the difference is positive.
    apart = np.uint64(first % 2**64) - arrived.times[rows].view(np.uint64)
    lateness = np.minimum(apart, np.uint64(MOST)).astype(np.int64)
    source = pa.array(np.full(rows.size, arrived.source, np.int32))
    return table.append_column(SOURCE, source).append_column(LATENESS, pa.array(lateness))


def refuse_late(arrived: Arrived, late: Flags, first: int, binding: SideBinding) -> NoReturn:
    """Raise for the first late row of a batch."""
    row = int(np.flatnonzero(late)[0])
    key = tuple(python_value(arrived.data.column(place)[row]) for place in binding.keys)
    time = python_value(arrived.data.column(binding.time)[row])
    lateness = first - int(arrived.times[row])
    unit = "" if binding.clock.kind == "integer" else f" {UNITS[binding.clock.tick]}"
    count = int(late.sum())
    more = f" ({count} rows of the batch are late)" if count > 1 else ""
    named = zip(binding.key_fields(), key, strict=True)
    names = ", ".join(f"{field.name}={shown(value)}" for field, value in named) or "no key"
    message = (
        f"{arrived.side} input {arrived.source}: a row with {names} and {binding.time_field().name}={time} "
        f"is late by {lateness}{unit}{more}; nothing of its batch was taken."
    )
    hint = 'allow more `lateness`, or count late rows with late="drop", or get them back with late="route"'
    raise LateRowError(
        message, hint, side=arrived.side, source=arrived.source, key=key, time=time, lateness=lateness
    )


def python_value(scalar: Any) -> Any:
    """Return an Arrow value as Python's own; times that Python cannot say (nanoseconds) as numpy's."""
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, ImportError):
        kind = scalar.type
        unit: Any = kind.unit if pt.is_timestamp(kind) else "D" if pt.is_date32(kind) else "ms"
        return np.datetime64(scalar.value, unit)

"""A pushed batch as the engine reads it: times, keys, and the payload that the result needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from weft.edge.encodings import described
from weft.edge.keys import Codes, Flags, key_codes, plain_array, whole_numbers
from weft.edge.payload import read
from weft.errors import InputError
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.columns import Column, Rows
    from weft.edge.binding import Binding, SideBinding

Data: TypeAlias = pa.Table | pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Arrived:
    """A batch of one input, its times read: `timed` tells which rows have one (None: all)."""

    side: Side
    source: int
    data: Data
    times: Rows
    timed: Flags | None
    largest: int | None


def arrive(side: Side, source: int, data: Data, binding: SideBinding) -> Arrived:
    """Read a batch's times; those beyond int64 are refused."""
    column = data.column(binding.time)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    each = [whole_numbers(_unsigned_checked(plain_array(chunk), side, binding)) for chunk in chunks]
    times, timed = each[0] if len(each) == 1 else _joined(each)
    known = times if timed is None else times[timed]
    return Arrived(side, source, data, times, timed, int(known.max()) if known.size else None)


def _joined(each: Sequence[tuple[Rows, Flags | None]]) -> tuple[Rows, Flags | None]:
    times = np.concatenate([np.empty(0, np.int64), *(values for values, _ in each)])
    if all(timed is None for _, timed in each):
        return times, None
    return times, np.concatenate(
        [np.ones(values.size, np.bool_) if timed is None else timed for values, timed in each]
    )


def _unsigned_checked(array: pa.Array, side: Side, binding: SideBinding) -> pa.Array:
    if pt.is_uint64(array.type):
        values, timed = whole_numbers(array)
        beyond = np.flatnonzero((values < 0) if timed is None else (values < 0) & timed)
        if beyond.size:
            row = int(beyond[0])
            place = f"row {row} of {described(side, binding.time_field())}"
            message = f"times must fit int64; got {array[row].as_py()} in {place}."
            raise InputError(message, "count in a coarser unit, or from a later origin")
    return array


def codes_of(binding: Binding, arrived: Arrived) -> Codes | None:
    """Return the key codes of a batch, None for a join on time alone."""
    one = binding.left if arrived.side == "left" else binding.right
    if not one.keys:
        return None
    return key_codes([arrived.data.column(place) for place in one.keys], binding.families)


def payload_of(binding: Binding, arrived: Arrived) -> tuple[Column, ...]:
    """Return the columns of a batch that the result needs."""
    return tuple(read(arrived.data.column(place)) for place in binding.kept[SIDES.index(arrived.side)])


def lead_place(binding: Binding, side: Side) -> int | None:
    """Return where in a side's payload the words of the time column stand as they are, None if nowhere."""
    one = binding.left if side == "left" else binding.right
    kept: Sequence[int] = binding.kept[SIDES.index(side)]
    kind = one.time_field().type
    stored = (
        pt.is_timestamp(kind) or pt.is_date64(kind) or pt.is_int64(kind) or pt.is_uint64(kind)
    ) and one.time in kept
    return kept.index(one.time) if stored else None

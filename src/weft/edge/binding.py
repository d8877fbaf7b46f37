"""A spec meets the columns: which are keys and time, what they are compared as, what the result holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.edge.clocks import Axis, Clock, axis_of, check_clocks, check_spans, read_clock
from weft.edge.families import KeyFamily, key_family, kind_of
from weft.edge.names import Fold, Origin, check_names, exact, kept_columns, place, result_columns
from weft.edge.stored import check_carried

if TYPE_CHECKING:
    from weft.spec import JoinSpec
    from weft.types import Side

__all__ = ["Axis", "Binding", "Clock", "KeyFamily", "SideBinding", "bind", "bind_side"]


@dataclass(frozen=True, slots=True)
class SideBinding:
    """One side's columns: where its keys and its time are, and what its clock counts."""

    schema: pa.Schema
    keys: tuple[int, ...]
    time: int
    clock: Clock

    def time_field(self) -> pa.Field:
        """Return the time column."""
        return self.schema.field(self.time)

    def key_fields(self) -> tuple[pa.Field, ...]:
        """Return the key columns."""
        return tuple(self.schema.field(at) for at in self.keys)


@dataclass(frozen=True, slots=True)
class Binding:
    """Both sides together: the common terms of keys and times, and the result's columns."""

    left: SideBinding
    right: SideBinding
    families: tuple[KeyFamily, ...]
    kept: tuple[tuple[int, ...], tuple[int, ...]]
    output: tuple[Origin, ...]
    schema: pa.Schema
    axis: Axis


def bind_side(spec: JoinSpec, side: Side, schema: pa.Schema, fold: Fold = exact) -> SideBinding:
    """Find a side's keys and time, and refuse what is wrong whatever the other side holds."""
    names = schema.names
    check_names(side, names, spec.late, fold)
    keys = tuple(place("on", side, name, names, fold) for name in spec.keys_of(side))
    argument = "time" if spec.left_time == spec.right_time else f"{side}_time"
    time = place(argument, side, spec.time_of(side), names, fold)
    for key in keys:
        kind_of(side, schema.field(key))
    clock = read_clock(side, schema.field(time))
    check_spans(spec, side, schema.field(time), clock)
    return SideBinding(schema, keys, time, clock)


def bind(spec: JoinSpec, left: SideBinding, right: SideBinding, fold: Fold = exact) -> Binding:
    """Put both sides together, or refuse what does not fit between them."""
    check_clocks(left.time_field(), right.time_field())
    families = tuple(map(key_family, left.key_fields(), right.key_fields()))
    named = result_columns(left.schema.names, right.schema.names, spec.on, spec.suffixes, fold)
    columns = kept_columns(spec.columns, named, fold)
    output = tuple(columns.values())
    for side, at in output:
        check_carried(side, (left if side == "left" else right).schema.field(at))
    return Binding(
        left=left,
        right=right,
        families=families,
        kept=(_positions("left", output), _positions("right", output)),
        output=output,
        schema=_schema(left.schema, right.schema, columns),
        axis=axis_of(spec, left.clock, right.clock),
    )


def _positions(side: Side, output: tuple[Origin, ...]) -> tuple[int, ...]:
    return tuple(sorted(at for origin, at in output if origin == side))


def _schema(left: pa.Schema, right: pa.Schema, columns: dict[str, Origin]) -> pa.Schema:
    """Return the result's schema: fields keep nullability and metadata; that of whole inputs is left out."""
    sides = {"left": left, "right": right}
    return pa.schema([sides[side].field(at).with_name(name) for name, (side, at) in columns.items()])

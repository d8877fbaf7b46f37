"""Frames in and out: one kind goes in, the same kind comes out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from weft.edge.frame_kinds import PUSHED, Kind, kind_of, named
from weft.edge.widening import widened
from weft.errors import InputError, listed, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from weft.edge.libraries import Library, Loaded, Origins
    from weft.types import Side

# What makes {0} a frame with the columns, or the types, of {1}.
SELECTED = {
    "arrow": "{0}.select({1}.column_names)",
    "pandas": "{0}[{1}.columns]",
    "polars": "{0}.select({1}.columns)",
}
CAST = {"arrow": "{0}.cast({1}.schema)", "pandas": "{0}.astype({1}.dtypes)", "polars": "{0}.cast({1}.schema)"}
# What turns the frame of the first kind into one of the second.
TURNED = {
    ("pandas", "arrow"): "pa.Table.from_pandas({}, preserve_index=False)",
    ("pandas", "polars"): "pl.from_pandas({})",
    ("polars", "arrow"): "{}.to_arrow()",
}


Named: TypeAlias = tuple[str, dict[str, Any]]  # a frame's name in messages, its columns and their types


@dataclass(frozen=True, slots=True)
class Inputs:
    """Both sides as tables, and the way back: `restore(result, origin of each of its columns)`."""

    kind: Kind
    left: pa.Table
    right: pa.Table
    restore: Callable[[pa.Table, Origins], Any]


def read_inputs(left: object, right: object, *, read: Mapping[Side, Collection[str]]) -> Inputs:
    """Return the frames of a batch call as tables; `read` names the columns whose values the join looks at.

    Others may be row numbers in the tables; `restore` gives them their values (see `weft.edge.libraries`).
    """
    kind, left_frame = _one_frame("left", left)
    other, right_frame = _one_frame("right", right)
    if kind != other:
        raise _two_kinds(("left", kind), ("right", other))
    library = _library(kind)
    sides: dict[Side, Loaded] = {
        "left": library.load("left", left_frame, read["left"]),
        "right": library.load("right", right_frame, read["right"]),
    }
    return Inputs(kind, sides["left"].table, sides["right"].table, partial(library.give_back, sides=sides))


def read_batch(argument: str, frame: object, schema: pa.Schema | None = None) -> pa.Table | pa.RecordBatch:
    """Return a pushed batch as a table; `schema` decides where the values leave a type open (all None)."""
    if type(frame) is pa.RecordBatch or type(frame) is pa.Table:
        return frame
    library = _library(kind_of(argument, frame, allowed=PUSHED))
    library.check(argument, frame)
    table = library.whole(argument, frame)
    return table if schema is None else widened(table, schema)


def _library(kind: Kind) -> Library:
    if kind == "pandas":
        from weft.edge import pandas_frames

        return pandas_frames
    if kind == "polars":
        from weft.edge import polars_frames

        return polars_frames
    from weft.edge import arrow_frames

    return arrow_frames


def _one_frame(argument: str, given: object) -> tuple[Kind, Any]:
    if not isinstance(given, (list, tuple)):
        kind = kind_of(argument, given)
        _library(kind).check(argument, given)
        return kind, given
    if not given:
        message = f"`{argument}` must hold at least one frame; got an empty {type(given).__name__}."
        raise InputError(message, hint="for an empty side give a frame without rows")
    frames = {f"{argument}[{at}]": frame for at, frame in enumerate(given)}
    return _alike(argument, frames)


def _alike(argument: str, frames: Mapping[str, Any]) -> tuple[Kind, Any]:
    """Return several physical inputs as one frame; refuse them where kinds or columns differ."""
    first, *others = frames
    kind = _kind_in_list(argument, first, frames[first])
    library = _library(kind)
    for name, frame in frames.items():
        other = _kind_in_list(argument, name, frame)
        if other != kind:
            raise _two_kinds((first, kind), (name, other))
        library.check(name, frame)
    wanted = library.schema(frames[first])
    for name in others:
        _refuse_difference(kind, (first, wanted), (name, library.schema(frames[name])))
    return kind, library.concat(list(frames.values())) if others else frames[first]


def _kind_in_list(argument: str, name: str, frame: object) -> Kind:
    if isinstance(frame, (list, tuple)):
        message = f"`{argument}` must be a frame or a list of frames; got {named(frame)} as `{name}`."
        raise InputError(message, hint=f"one flat list, a frame for each physical input of `{argument}`")
    return kind_of(name, frame)


def _refuse_difference(kind: Kind, first: Named, other: Named) -> None:
    (model, wanted), (name, got) = first, other
    if list(wanted) != list(got):
        came = _first_difference(list(wanted), list(got))
        message = f"`{name}` must have the columns of `{model}`; got {came}."
        raise InputError(message, hint=SELECTED[kind].format(name, model))
    for column, dtype in wanted.items():
        if got[column] != dtype:
            # Categories and enums may differ where their names do not.
            came = str(got[column]) if str(got[column]) != str(dtype) else f"another {dtype}"
            message = f"column {shown(column)} of `{name}` must be {dtype}, as in `{model}`; got {came}."
            raise InputError(message, hint=CAST[kind].format(name, model))


def _first_difference(wanted: list[str], got: list[str]) -> str:
    lacking = [name for name in wanted if name not in got]
    if lacking:
        return f"no {shown(lacking[0])}"
    besides = [name for name in got if name not in wanted]
    return f"{shown(besides[0])} besides" if besides else f"the order {listed(got, 'then')}"


def _two_kinds(first: tuple[str, Kind], other: tuple[str, Kind]) -> InputError:
    names = {"arrow": "a pyarrow Table", "pandas": "a pandas DataFrame", "polars": "a Polars DataFrame"}
    message = (
        f"`{first[0]}` and `{other[0]}` must be frames of one kind; "
        f"got {names[first[1]]} and {names[other[1]]}."
    )
    for (name, kind), (_, wanted) in ((first, other), (other, first)):
        if (kind, wanted) in TURNED:
            return InputError(message, hint=TURNED[kind, wanted].format(name))
    return InputError(message)

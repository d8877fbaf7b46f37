"""pyarrow Tables: they go in as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.edge.libraries import Loaded, Origins, check_once

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from weft.types import Side


def check(argument: str, frame: pa.Table) -> None:
    """Refuse columns that share a name."""
    check_once(argument, frame.column_names)


def schema(frame: pa.Table) -> dict[str, Any]:
    """Return the type of every column, in order."""
    return dict(zip(frame.column_names, frame.schema.types, strict=True))


def concat(frames: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables, in order, without a copy."""
    # "default" only merges nullability: the types are known to be equal.
    return pa.concat_tables(frames, promote_options="default")


def load(argument: str, frame: pa.Table, read: Collection[str]) -> Loaded:  # noqa: ARG001 - as in Library
    """Return the table itself: it holds every column as the join needs it."""
    return Loaded(frame, frame)


def whole(argument: str, frame: pa.Table) -> pa.Table:  # noqa: ARG001 - as in Library
    """Return the table itself."""
    return frame


def give_back(table: pa.Table, origins: Origins, sides: Mapping[Side, Loaded]) -> pa.Table:  # noqa: ARG001
    """Return the result itself."""
    return table

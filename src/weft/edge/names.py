"""Names: a column's place in an input, and the names of the result's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.errors import ColumnError, InputError, SpecError, listed, nearest, shown
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Fold = Callable[[str], str]
"""What makes two names one: themselves, or in lower case where Spark sees no case."""

Origin = tuple[Side, int]
"""Where a result column comes from: the side and the position there."""

LATE_COLUMNS = ("_weft_source", "_weft_lateness")


def exact(name: str) -> str:
    """Return a name as it is: every letter counts."""
    return name


def place(argument: str, side: Side, name: str, names: Sequence[str], fold: Fold = exact) -> int:
    """Return where a column is among a side's, or say which there are."""
    for at, known in enumerate(names):
        if fold(known) == fold(name):
            return at
    raise _unknown(name, names, argument, f"a column of the {side} input")


def _unknown(name: str, names: Sequence[str], argument: str, what: str) -> ColumnError:
    there = f"it has {listed(names, 'and')}" if names else "it has no columns"
    near = nearest(name, names)
    hint = f"write {shown(near)}" if near else "write one of the names it has, in their own case"
    return ColumnError(f"`{argument}` must name {what}; got {shown(name)}, and {there}.", hint)


def check_names(side: Side, names: Sequence[str], late: str, fold: Fold = exact) -> None:
    """Refuse a side whose columns can't be told apart by name, or that has those of its late rows."""
    if twice := [name for name, count in Counter(map(fold, names)).items() if count > 1]:
        message = f"the {side} input must have each column once; got {listed(twice, 'and')} more than once."
        raise InputError(message, "rename or drop one of them")
    if late == "route" and (taken := [name for name in names if name in LATE_COLUMNS]):
        message = (
            f'the {side} input must not have {listed(taken)} where late="route", which adds it to late rows.'
        )
        raise InputError(message, 'rename it, or write late="drop"')


def result_columns(
    left: Sequence[str],
    right: Sequence[str],
    on: Sequence[tuple[str, str]],
    suffixes: tuple[str, str],
    fold: Fold = exact,
) -> dict[str, Origin]:
    """Return the result's columns in order: the left ones, then the right ones but for keys of equal name."""
    shared = {fold(name) for name, other in on if fold(name) == fold(other)}
    clash = set(map(fold, left)) & (set(map(fold, right)) - shared)
    endings = dict(zip(SIDES, suffixes, strict=True))
    own: dict[Origin, str] = {("left", at): name for at, name in enumerate(left)}
    own |= {("right", at): name for at, name in enumerate(right) if fold(name) not in shared}
    named: dict[str, Origin] = {}
    seen: dict[str, Origin] = {}
    for origin, name in own.items():
        final = name + endings[origin[0]] if fold(name) in clash else name
        if first := seen.get(fold(final)):
            both = f"{first[0]} {shown(own[first])} and {origin[0]} {shown(name)}"
            given = f"({shown(suffixes[0])}, {shown(suffixes[1])})"
            message = f"`suffixes` must tell columns apart; got {given}: {both} would both be {shown(final)}."
            raise SpecError(message, 'write others, such as ("_l", "_r"), or rename one of the columns')
        named[final] = seen[fold(final)] = origin
    return named


def kept_columns(
    columns: Sequence[str] | None, named: Mapping[str, Origin], fold: Fold = exact
) -> dict[str, Origin]:
    """Return those of the result's columns that the call keeps, in its order."""
    if columns is None:
        return dict(named)
    known = {fold(name): (name, origin) for name, origin in named.items()}
    for name in columns:
        if fold(name) not in known:
            raise _unknown(name, [*named], "columns", "columns of the result")
    return dict(known[fold(name)] for name in columns)

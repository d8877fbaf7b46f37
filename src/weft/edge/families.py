"""Key families: which key columns can be compared, and in which common terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa
from pyarrow import types as pt

from weft.edge.encodings import FROM_FLOAT, UNIT_NS, described, plain_type, strangers
from weft.errors import InputError, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.types import Side

Kind: TypeAlias = Literal["integer", "string", "decimal", "date", "timestamp", "boolean", "binary"]

FAMILIES: dict[Kind, tuple[Callable[[pa.DataType], bool], ...]] = {
    "integer": (pt.is_integer,),
    "string": (pt.is_string, pt.is_large_string, pt.is_string_view),
    "decimal": (pt.is_decimal,),
    "date": (pt.is_date,),
    "timestamp": (pt.is_timestamp,),
    "boolean": (pt.is_boolean,),
    "binary": (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_binary_view),
}
MOST_DIGITS = 76  # of Arrow's widest decimal


@dataclass(frozen=True, slots=True)
class KeyFamily:
    """What two key columns are compared as."""

    kind: Kind
    scale: int = 0  # decimal: the larger of both
    precision: int = 0  # decimal: the digits that hold both
    tick: int = 1  # timestamp: nanoseconds of the finer unit
    unsigned: bool = False  # integer: both sides are uint64


def kind_of(side: Side, column: pa.Field) -> Kind | None:
    """Return a key column's family, None where it holds only nulls; floats and nested types have none."""
    kind = plain_type(column.type)
    if pt.is_null(kind):
        return None
    for family, tests in FAMILIES.items():
        if any(test(kind) for test in tests):
            return family
    hint = FROM_FLOAT if pt.is_floating(kind) else 'cast it to one of these, such as "int64" or "string"'
    message = f"a key in `on` must be {listed(FAMILIES, form=str)}; got {described(side, column)}."
    raise InputError(message, hint)


def key_family(left: pa.Field, right: pa.Field) -> KeyFamily:
    """Return the family of a pair of keys; a column that holds only nulls takes the other's."""
    kinds = kind_of("left", left), kind_of("right", right)
    if None not in kinds and (kinds[0] != kinds[1] or strangers(left, right)):
        hint = f"cast one of them, such as the right one to {plain_type(left.type)}"
        raise _unfit(left, right, "`on` must pair keys of one family", hint)
    known = [plain_type(column.type) for column, kind in zip((left, right), kinds, strict=True) if kind]
    kind = kinds[0] or kinds[1] or "integer"
    if kind == "decimal":
        return _decimal(left, right, known)
    if kind == "timestamp":
        if len({one.tz is None for one in known}) > 1:
            raise naive_beside_zoned(left, right, "a pair of keys in `on`")
        return KeyFamily(kind, tick=min(UNIT_NS[one.unit] for one in known))
    return KeyFamily(kind, unsigned=bool(known) and all(pt.is_uint64(one) for one in known))


def _decimal(left: pa.Field, right: pa.Field, known: list[pa.DataType]) -> KeyFamily:
    scale = max(one.scale for one in known)
    precision = scale + max(one.precision - one.scale for one in known)
    if precision > MOST_DIGITS:
        rule = f"a pair of decimal keys in `on` must fit {MOST_DIGITS} digits together"
        raise _unfit(left, right, rule, "cast one of them to fewer digits, such as decimal128(38, 2)")
    return KeyFamily("decimal", scale=scale, precision=precision)


def _unfit(left: pa.Field, right: pa.Field, rule: str, hint: str) -> InputError:
    return InputError(f"{rule}; got {described('left', left)} and {described('right', right)}.", hint)


def naive_beside_zoned(left: pa.Field, right: pa.Field, what: str) -> InputError:
    """Return the refusal of one timestamp with and one without a zone."""
    rule = f"{what} must both have a time zone or both have none"
    hint = (
        'give it a zone too: .dt.tz_localize("UTC") in pandas, .dt.replace_time_zone("UTC") in Polars, '
        '.cast("timestamp") in Spark'
    )
    return _unfit(left, right, rule, hint)

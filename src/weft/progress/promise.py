"""Watermarks as users say and see them: datetimes, numpy's datetime64, or integers in the column's own unit."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import SpecError, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.edge.binding import SideBinding
    from weft.types import Side

UNITS = {86_400 * 10**9: "D", 10**9: "s", 10**6: "ms", 10**3: "us", 1: "ns"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALLOWED = "a datetime, a pandas Timestamp, a numpy datetime64 or an integer in the time column's own unit"


def watermark_of(
    value: object, sides: Mapping[Side, SideBinding], side: Side | None, *, integers: bool
) -> int:
    """Return a promised watermark in nanoseconds, or in ticks where times are integers."""
    if isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64):
        return int(value) * _tick(value, sides, side, integers=integers)
    if integers:
        raise refusal(
            value, "`watermark`", "an integer, as the times are", "write the largest time that is complete"
        )
    if isinstance(value, datetime):
        return _from_datetime(value, sides)
    if isinstance(value, date):
        return (value - EPOCH.date()).days * 86_400 * 10**9
    if isinstance(value, np.datetime64):
        return _from_numpy(value)
    raise refusal(
        value, "`watermark`", ALLOWED, "write op.advance(datetime(...)) or op.advance(numpy.datetime64(...))"
    )


def _tick(value: object, sides: Mapping[Side, SideBinding], side: Side | None, *, integers: bool) -> int:
    """Return what one unit of an integer watermark is."""
    if integers:
        return 1
    clocks = {name: one.clock.tick for name, one in sides.items() if side in (None, name)}
    if len(set(clocks.values())) == 1:
        return next(iter(clocks.values()))
    state = "both sides' units differ" if clocks else "no time column is known yet"
    message = f"`watermark` must not be an integer while {state}; got {value!r}."
    raise SpecError(message, "write a datetime or a numpy datetime64, or name the `side`")


def _from_datetime(value: datetime, sides: Mapping[Side, SideBinding]) -> int:
    if value != value:  # noqa: PLR0124 - NaT, which is a datetime to Python, is not equal to itself
        raise refusal(value, "`watermark`", ALLOWED, "leave the call out while there is no time")
    zoned = {one.clock.zoned for one in sides.values()}
    if zoned == {value.tzinfo is None}:
        state = "have no zone" if value.tzinfo is not None else "have one"
        message = f"`watermark` must have a time zone where the times do; got {value!r} while they {state}."
        hint = (
            "take it off: value.replace(tzinfo=None)"
            if value.tzinfo
            else "write datetime(..., tzinfo=timezone.utc)"
        )
        raise SpecError(message, hint)
    whole = (value.replace(tzinfo=UTC) if value.tzinfo is None else value) - EPOCH
    return whole // timedelta(microseconds=1) * 1000 + int(getattr(value, "nanosecond", 0))


def _from_numpy(value: np.datetime64) -> int:
    unit, count = np.datetime_data(value.dtype)
    if np.isnat(value):
        raise refusal(value, "`watermark`", ALLOWED, "leave the call out while there is no time")
    if unit in ("Y", "M"):
        value, unit, count = value.astype("datetime64[D]"), "D", 1
    nanoseconds = int(np.timedelta64(1, unit) / np.timedelta64(1, "ns")) if unit in _COUNTED else 0
    if not nanoseconds:
        raise refusal(
            value,
            "`watermark`",
            "a datetime64 in weeks to nanoseconds",
            'write value.astype("datetime64[ns]")',
        )
    return int(value.astype(np.int64)) * count * nanoseconds


_COUNTED = ("W", "D", "h", "m", "s", "ms", "us", "ns")


def shown_watermark(watermark: int | None, sides: Mapping[Side, SideBinding], *, integers: bool) -> Any:
    """Return a watermark as metrics show it, in the finer unit of both sides."""
    if watermark is None or integers:
        return watermark
    tick = min((one.clock.tick for one in sides.values()), default=1)
    ticks = max(-(2**63) + 1, min(2**63 - 1, -(-watermark // tick)))
    return np.datetime64(ticks, UNITS[tick])

"""Watermarks as users say and see them: datetimes, numpy's datetime64, integers in the column's own unit."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from weft.errors import SpecError, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.edge.binding import SideBinding
    from weft.types import Side

SECOND, DAY = 10**9, 86_400 * 10**9
NANOSECONDS = {"W": 7 * DAY, "D": DAY, "h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND}
NANOSECONDS |= {"ms": 10**6, "us": 10**3, "ns": 1}
UNITS: dict[int, Literal["D", "s", "ms", "us", "ns"]] = {
    DAY: "D", SECOND: "s", 10**6: "ms", 10**3: "us", 1: "ns",
}  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALLOWED = (
    "a datetime (a date, for dates), a pandas Timestamp, a numpy datetime64 "
    "or an integer in the time column's own unit"
)


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
        return (value - EPOCH.date()).days * DAY
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
    if unit not in NANOSECONDS:
        raise refusal(
            value,
            "`watermark`",
            "a datetime64 in weeks to nanoseconds",
            'write value.astype("datetime64[ns]")',
        )
    return int(value.astype(np.int64)) * count * NANOSECONDS[unit]


def shown_watermark(watermark: int | None, sides: Mapping[Side, SideBinding], *, integers: bool) -> Any:
    """Return a watermark as metrics show it, in the finer unit of both sides."""
    if watermark is None or integers:
        return watermark
    tick = min((one.clock.tick for one in sides.values()), default=1)
    ticks = max(-(2**63) + 1, min(2**63 - 1, -(-watermark // tick)))
    return np.datetime64(ticks, UNITS[tick])

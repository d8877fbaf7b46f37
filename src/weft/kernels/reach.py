"""From a row's time to the times of the other side that it may meet, never wrapping at the ends of int64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, int64, put

I64 = npt.NDArray[np.int64]

TOP = np.iinfo(np.int64).max
BOTTOM = np.iinfo(np.int64).min


@kernel
def plus(value: int, step: int) -> int:
    """Add and stop at the ends of int64."""
    if step > 0 and value > TOP - step:
        return TOP
    if step < 0 and value < BOTTOM - step:
        return BOTTOM
    return value + step


@kernel
def fits(times: I64, low: int, high: int, reach: I64) -> bool:
    """Write [time + low, time + high] where nothing leaves int64, else return False. O(n), 0.5 ns a row."""
    least = most = int64(0)
    for i in range(times.size):
        least = min(least, at(times, i))
        most = max(most, at(times, i))
    if (
        plus(least, low) == BOTTOM
        or plus(most, low) == TOP
        or plus(least, high) == BOTTOM
        or plus(most, high) == TOP
    ):
        return False
    for i in range(times.size):
        put(reach, 2 * i, at(times, i) + low)
        put(reach, 2 * i + 1, at(times, i) + high)
    return True


@kernel
def stepped(time: int, steps: tuple[int, int, int]) -> tuple[int, int]:
    """Return time + steps (all of one sign) clamped to int64, and on which side it was clamped (else 0)."""
    for step in steps:
        if step > 0 and time > TOP - step:
            return TOP, 1
        if step < 0 and time < BOTTOM - step:
            return BOTTOM, -1
        time += step
    return time, 0


@kernel
def reach_shifted(times: I64, low: tuple[int, int, int], high: tuple[int, int, int], reach: I64) -> None:
    """Write [time + low, time + high]; a low end above int64 or a high end below it leaves nothing. O(n)."""
    for i in range(times.size):
        first, above = stepped(at(times, i), low)
        last, below = stepped(at(times, i), high)
        empty = above > 0 or below < 0
        put(reach, 2 * i, TOP if empty else first)
        put(reach, 2 * i + 1, BOTTOM if empty else last)


@kernel
def scaled(
    time: int, steps: tuple[int, int, int], rest: int, ratio: tuple[int, int], pad: int
) -> tuple[int, int]:
    """Return (time * mul + bound + pad) // div clamped to int64, and where it was clamped (-1, 1, else 0)."""
    mul, div = ratio
    whole = time // div
    part = (time - whole * div + rest + pad) // div  # below mul, or at most 2 where mul is 1
    if mul == 1:
        return stepped(whole + part, steps)
    moved, side = stepped(whole, steps)
    if side != 0:
        return moved, side
    if moved > (TOP - part) // mul:
        return TOP, 1
    lowest = BOTTOM // mul
    if moved < lowest or (moved == lowest and (moved + 1) * mul - BOTTOM < mul - part):
        return BOTTOM, -1
    if moved < 0:
        return (moved + 1) * mul + (part - mul), 0  # moved * mul alone may lie below int64
    return moved * mul + part, 0


@kernel
def reach_scaled(
    times: I64,
    low: tuple[tuple[int, int, int], int],
    high: tuple[tuple[int, int, int], int],
    ratio: tuple[int, int],
    reach: I64,
) -> None:
    """Do what `reach_shifted` does between unlike units: time * mul / div, rounded inward. O(n).

    A bound is its quotient by mul * div, one of which is 1, in steps, and the remainder.
    """
    for i in range(times.size):
        first, above = scaled(at(times, i), low[0], low[1], ratio, ratio[1] - 1)
        last, below = scaled(at(times, i), high[0], high[1], ratio, 0)
        empty = above > 0 or below < 0
        put(reach, 2 * i, TOP if empty else first)
        put(reach, 2 * i + 1, BOTTOM if empty else last)

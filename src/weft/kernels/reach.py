"""From a row's time to the times of the other side that it may meet, never wrapping at the ends of int64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import kernel
from weft.kernels.words import at, put

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
def exceeds(value: int, steps: tuple[int, int]) -> int:
    """Return 1 where value + steps is above int64, -1 where it is below, else 0 (both steps have one sign)."""
    first, second = steps
    middle = plus(value, first)
    if (first > 0 and value > TOP - first) or (second > 0 and middle > TOP - second):
        return 1
    if (first < 0 and value < BOTTOM - first) or (second < 0 and middle < BOTTOM - second):
        return -1
    return 0


@kernel
def reach_shifted(times: I64, low: tuple[int, int], high: tuple[int, int], reach: I64) -> None:
    """Write [time + low, time + high]; a low end above int64 or a high end below it leaves nothing. O(n)."""
    for i in range(times.size):
        time = at(times, i)
        put(reach, 2 * i, plus(plus(time, low[0]), low[1]))
        put(reach, 2 * i + 1, plus(plus(time, high[0]), high[1]))
        if exceeds(time, low) > 0 or exceeds(time, high) < 0:
            put(reach, 2 * i, TOP)
            put(reach, 2 * i + 1, BOTTOM)


@kernel
def scaled(time: int, bound: tuple[int, int], ratio: tuple[int, int], pad: int) -> tuple[int, int]:
    """Return (time * mul + bound + pad) // div clamped to int64, and on which side it was clamped (else 0)."""
    mul, div = ratio
    whole = time // div
    part = (time - whole * div + bound[1] + pad) // div  # below mul, or at most 2 where mul is 1
    moved = plus(whole, bound[0])
    if moved - whole != bound[0]:
        return (TOP, 1) if bound[0] > 0 else (BOTTOM, -1)
    if moved > (TOP - part) // mul:
        return TOP, 1
    lowest = BOTTOM // mul
    if moved < lowest or (moved == lowest and (moved + 1) * mul - BOTTOM < mul - part):
        return BOTTOM, -1
    return moved * mul + part, 0


@kernel
def reach_scaled(times: I64, low: tuple[int, int], high: tuple[int, int], ratio: tuple[int, int], reach: I64) -> None:
    """Do what `reach_shifted` does between unlike units: time * mul / div, rounded inward. O(n).

    A bound is (quotient, remainder) by mul * div, one of which is 1.
    """
    for i in range(times.size):
        time = at(times, i)
        first, above = scaled(time, low, ratio, ratio[1] - 1)
        last, below = scaled(time, high, ratio, 0)
        empty = above > 0 or below < 0
        put(reach, 2 * i, TOP if empty else first)
        put(reach, 2 * i + 1, BOTTOM if empty else last)

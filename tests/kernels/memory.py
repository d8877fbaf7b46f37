"""What the kernels' tests share: numbers to draw, and memory that shows where a kernel wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

from weft.kernels.fill import SPARE

LOW, HIGH = -(2**63), 2**63 - 1
ENDS = (LOW, LOW + 1, -1, 0, 1, HIGH - 1, HIGH)
NEAR = st.integers(-12, 12)
INT64 = st.one_of(NEAR, st.sampled_from(ENDS), st.integers(LOW, HIGH))
SEEDS = st.integers(0, 2**32 - 1)

UNTOUCHED = 0xA5
TRIES = 60  # examples a property in the default profile
EDGE = 128  # bytes before and behind a target that are looked at
BEHIND = SPARE // 8  # words behind a run's leads that kernels may read, and never believe


def tries(count: int) -> settings:
    """Let a property try so many examples in the default profile, and as many more in a longer one."""
    return settings(max_examples=max(1, settings.default.max_examples * count // TRIES))


def words(values: Sequence[int], kind: Any = np.int64) -> npt.NDArray[Any]:
    """Return plain Python integers as the array that a kernel takes."""
    return np.array(values, dtype=kind).reshape(-1)


def followed(values: npt.NDArray[Any], by: Sequence[int]) -> npt.NDArray[Any]:
    """Return a copy of an array, followed in memory by words that are nobody's business."""
    room = np.concatenate([values, np.array(by, dtype=values.dtype)])
    return room[: values.size]


@dataclass(frozen=True, slots=True)
class Target:
    """Memory that a kernel writes to: `size` bytes, then SPARE of room, with marks on both sides."""

    memory: npt.NDArray[np.uint8]
    size: int

    @property
    def address(self) -> int:
        """Return where the kernel is to write."""
        return int(self.memory.ctypes.data) + EDGE

    def written(self) -> bytes:
        """Return what was written; nothing may have been written beside it and its room."""
        assert (self.memory[:EDGE] == UNTOUCHED).all(), "written before the target"
        assert (self.memory[EDGE + self.size + SPARE :] == UNTOUCHED).all(), "written behind the room"
        return self.memory[EDGE : EDGE + self.size].tobytes()


def target(size: int) -> Target:
    """Return memory for `size` bytes."""
    return Target(np.full(EDGE + size + SPARE + EDGE, UNTOUCHED, np.uint8), size)


def hit_array(hits: Sequence[tuple[int, int, int]]) -> npt.NDArray[np.int64]:
    """Return (row, start, count) triples as the kernels take them."""
    return words([number for hit in hits for number in hit])


def triples(hits: npt.NDArray[np.int64], found: int) -> list[tuple[int, int, int]]:
    """Return the hits that a kernel wrote as Python triples."""
    return [(int(row), int(start), int(count)) for row, start, count in hits[: 3 * found].reshape(-1, 3)]


@st.composite
def hits_into(draw: Callable[..., Any], rows: int, base: int, most: int = 40) -> list[tuple[int, int, int]]:
    """Draw hits of `rows` probe rows into slices of `base` rows; short and long ones, empty ones too."""
    if not rows or not base:
        return []
    drawn = draw(st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, base - 1), st.integers(0, 80))))
    return [(row, start, min(count, base - start)) for row, start, count in drawn[:most]]

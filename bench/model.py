"""What a workload is: its size, its jobs (one a contender) and the figures they are judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Unit = Literal["rows/s", "us", "ms", "s", "MiB", "ratio"]
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a job is told: how many rows a side, the seed, and where real traces lie."""

    rows: int
    seed: int
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a contender found, for comparison with what the others found."""

    pairs: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One contender with its data loaded.

    `warm` runs everything once (kernels compiled, caches filled) and gives the answer, or None where there is
    nothing to compare; `measure` is one repetition and gives its figures by name. `rows` counts both sides.
    """

    rows: int
    warm: Callable[[], Answer | None]
    measure: Callable[[], dict[str, float]]


# Loads the data and is ready; called in the contender's own process.
Job = Callable[[Setting], Trial]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the first contender, and what it should reach.

    `at_least` and `goal` are about the figure, or with `over` about the ratio to the fastest of these peers.
    """

    name: str
    unit: Unit
    better: Better
    at_least: float | None = None
    goal: float | None = None
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """A named question. The first of `jobs` is weft's own."""

    name: str
    summary: str
    jobs: Mapping[str, Job]
    figures: tuple[Figure, ...]
    rows: int = 1_000_000
    seed: int = 20261119
    repeat: int = 5  # at most; `--repeat` can only lower it where one repetition takes minutes
    sized: bool = True  # False: `--rows` has no meaning here

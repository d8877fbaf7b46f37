"""Result files: an entry per workload, each with all that is needed to judge it."""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bench.model import Better, Unit

FORMAT = 1


class Spread(TypedDict):
    """All repetitions and what they come to."""

    values: list[float]
    median: float
    min: float
    max: float


class Measured(TypedDict):
    """One contender: its figures by name, weft's figure over its own, the most memory its process held.

    None where contenders share their processes.
    """

    figures: dict[str, Spread]
    ratios: dict[str, Spread]
    memory_mib: float | None


class Judged(TypedDict):
    """One figure of the first contender and what it should reach; with `over`, the ratio to the fastest."""

    figure: str
    unit: Unit
    better: Better
    at_least: float | None
    goal: float | None
    over: list[str]
    value: Spread


class Machine(TypedDict):
    """Where it was measured."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    pinned: bool


class Entry(TypedDict):
    """One workload's result."""

    workload: str
    summary: str
    date: str
    commit: str
    seed: int
    rows: int
    pairs: int | None
    checksum: str | None
    repetitions: int
    machine: Machine
    versions: dict[str, str]
    contenders: dict[str, Measured]
    judged: list[Judged]
    missing: dict[str, str]


def rounded(value: float) -> float:
    """Return six significant digits: more are noise, and make every rerun's file differ."""
    return float(f"{value:.6g}")


def spread(values: Sequence[float]) -> Spread:
    """Return the median, the smallest and the largest of these repetitions."""
    kept = [rounded(value) for value in values]
    return {"values": kept, "median": rounded(median(kept)), "min": min(kept), "max": max(kept)}


def load(path: Path) -> dict[str, Entry]:
    """Return the entries of a result file by workload; none where there is no file."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("format") != FORMAT:
        message = f"{path} has format {content.get('format')!r}; this version reads {FORMAT}"
        raise ValueError(message)
    return cast("dict[str, Entry]", content["workloads"])


def save(path: Path, entries: Iterable[Entry], order: Sequence[str] = ()) -> None:
    """Write these entries over those of the same workloads in the file, in this order, the unnamed last."""
    merged = load(path) | {entry["workload"]: entry for entry in entries}
    names = [name for name in order if name in merged]
    names += [name for name in merged if name not in names]
    content = {"format": FORMAT, "workloads": {name: merged[name] for name in names}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

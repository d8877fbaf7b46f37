"""From what a run has found to an entry of a result file."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from bench.machine import commit, machine, versions
from bench.store import spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.model import Figure
    from bench.spark.model import Found, SparkWorkload, Turn
    from bench.store import Entry, Judged, Measured, Spread


def figures_of(turns: Sequence[Turn]) -> dict[str, Spread]:
    """Return the spread of every figure over all batches of all turns."""
    return {name: spread([value for turn in turns for value in turn[name]]) for name in turns[0]}


def ratios_of(own: Sequence[Turn], peer: Sequence[Turn]) -> dict[str, Spread]:
    """Return weft's figures over a peer's: the medians of each turn."""
    return {
        name: spread([median(one[name]) / median(other[name]) for one, other in zip(own, peer, strict=True)])
        for name in peer[0]
        if name in own[0]
    }


def measured(turns: Mapping[str, Sequence[Turn]]) -> dict[str, Measured]:
    """Return what is written down about every contender; the first is weft."""
    first, *peers = turns
    return {
        name: {
            "figures": figures_of(turns[name]),
            "ratios": ratios_of(turns[first], turns[name]) if name in peers else {},
            "memory_mib": None,  # one session holds them all
        }
        for name in turns
    }


def judged(figure: Figure, contenders: Mapping[str, Measured]) -> Judged:
    """Return a figure of weft's beside what it should reach, or its ratio to the one peer it is judged by."""
    value = (
        contenders[figure.over[0]]["ratios"][figure.name]
        if figure.over
        else next(iter(contenders.values()))["figures"][figure.name]
    )
    return {
        "figure": figure.name,
        "unit": figure.unit,
        "better": figure.better,
        "at_least": figure.at_least,
        "goal": figure.goal,
        "over": list(figure.over),
        "value": value,
    }


def entry_of(workload: SparkWorkload, found: Found) -> Entry:
    """Return what a result file says of a workload."""
    contenders = measured(found.turns)
    return {
        "workload": workload.name,
        "summary": workload.summary,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "seed": workload.seed,
        "rows": found.rows,
        "pairs": found.pairs,
        "checksum": None,
        "repetitions": len(next(iter(found.turns.values()))),
        "machine": machine(pinned=False),
        "versions": versions() | dict(found.versions),
        "contenders": contenders,
        "judged": [judged(figure, contenders) for figure in workload.figures],
        "missing": {},
    }

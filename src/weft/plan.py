"""Which index runs a join: registries of what there is, and the choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.indexes.runs import Runs

if TYPE_CHECKING:
    from weft.spec import JoinSpec

Index = Callable[[int | None], Runs]

# A new index is one file and one line here.
INDEXES: dict[str, Index] = {"runs": Runs}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a join runs."""

    algorithm: str
    index: Index


def plan(spec: JoinSpec) -> Plan:
    """Choose for a spec; `auto` is sorted runs."""
    algorithm = "runs" if spec.algorithm == "auto" else spec.algorithm
    return Plan(algorithm, INDEXES[algorithm])

"""Contenders in turns: each warms up, then they take batches one after the other, a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeAlias

from bench.spark.feed import draw
from bench.spark.lanes import open_lane
from bench.spark.model import Found, Turn
from bench.spark.oracle import pairs_by_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.spark.feed import Data
    from bench.spark.lanes import Batch, Lane
    from bench.spark.model import Query, Run, SparkCase

# A query may depend on what the lanes before it did: the floor writes as many bytes as weft.
Maker: TypeAlias = Callable[["Mapping[str, Lane]"], "Query"]
TurnsOf: TypeAlias = dict[str, list[Turn]]
Checked: TypeAlias = Literal["each batch", "nothing"]


@dataclass(frozen=True, slots=True)
class Contender:
    """What one contender is given: rows a side of its warm-up batches and of those of a turn.

    The first `settling` batches of a turn are not counted: Spark ends Python workers that rest for a minute.
    """

    make: Maker
    warm: Sequence[int]
    turn: Sequence[int]
    settling: int = 0
    checked: Checked = "each batch"

    def rows(self, turns: int) -> int:
        """Return how many rows a side it takes in all."""
        return sum(self.warm) + turns * sum(self.turn)


def compare(run: Run, case: SparkCase, contenders: Mapping[str, Contender]) -> dict[str, list[list[Batch]]]:
    """Return the counted batches of every turn by contender; fail where pairs are missing or too many."""
    rows = max(one.rows(run.turns) for one in contenders.values())
    run.tell(f"draws 2 x {rows:,} rows")
    data = draw(case, rows, run.seed)
    lanes = warmed(run, case, contenders, data)
    found: dict[str, list[list[Batch]]] = {name: [] for name in contenders}
    for number in range(run.turns):
        for name, contender in contenders.items():
            taken = lanes[name].take(contender.turn)[contender.settling :]
            found[name].append(taken)
            seconds = median(one.seconds for one in taken)
            run.tell(f"turn {number + 1} of {run.turns}: {name} {seconds:.2f} s a batch")
    for name, lane in lanes.items():
        lane.query.stop()
        if contenders[name].checked == "each batch":
            check_pairs(case, data, lane)
    run.tell("pairs of every batch are those that DuckDB counts")
    return found


def warmed(run: Run, case: SparkCase, contenders: Mapping[str, Contender], data: Data) -> dict[str, Lane]:
    """Start every contender's query and let it warm up."""
    lanes: dict[str, Lane] = {}
    for name, contender in contenders.items():
        lanes[name] = open_lane(name, run, data, case, contender.make(lanes))
        batches = lanes[name].take(contender.warm)
        took = ", ".join(f"{one.seconds:.1f}" for one in batches)
        run.tell(f"{name} warms up: seconds a batch {took}")
    return lanes


def check_pairs(case: SparkCase, data: Data, lane: Lane) -> None:
    """Fail where a batch did not give the pairs that it completes, or a row was late."""
    wanted = pairs_by_batch(case, data, lane.sizes)
    got = [batch.out for batch in lane.batches]
    if got != wanted:
        message = f"{lane.name} gave the pairs {got} batch by batch; DuckDB counts {wanted}"
        raise ValueError(message)


def pairs_of(batches: Sequence[Sequence[Batch]]) -> int:
    """Return the pairs of the batches that count."""
    return sum(batch.out for turn in batches for batch in turn)


def throughput_turns(found: Mapping[str, Sequence[Sequence[Batch]]]) -> TurnsOf:
    """Return rows per second and seconds of every batch."""
    return {
        name: [
            {"rows/s": [one.rows / one.seconds for one in turn], "batch": [one.seconds for one in turn]}
            for turn in turns
        ]
        for name, turns in found.items()
    }


def over(own: Sequence[Turn], other: Sequence[Turn], figure: str) -> list[float]:
    """Return the ratios of one figure, turn by turn."""
    return [median(one[figure]) / median(peer[figure]) for one, peer in zip(own, other, strict=True)]


def as_found(rows: int, batches: Mapping[str, Sequence[Sequence[Batch]]], turns: TurnsOf) -> Found:
    """Return what a run of lanes has found; weft is the first of them."""
    first = next(iter(batches))
    return Found(rows, pairs_of(batches[first]), turns)

"""Where a claim runs: as a call on whole tables, as a stream in random cuts, and both ways on Spark.

It holds on each. A run on Spark costs a second, one in this process milliseconds: there claims try less
(`few`, `joined`), of many parameter sets some are left out (`Runtime.most`, in conftest), and what a case
holds that Spark has no type for skips the claim with a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

import pyarrow as pa
import pytest

import weft
from tests.support.batches import in_batches, played
from tests.support.cases import Case
from tests.support.feeds import Push, draw_feed, lateness_needed
from tests.support.players import Settings, player
from tests.support.rows import pairs_of
from tests.support.spark import table_frame
from tests.support.spark_types import as_told, in_spark_types, snapped, spark_can
from tests.support.streams import relaid

Sizes = Sequence[int] | None
T = TypeVar("T")


class Runtime(Protocol):
    """Runs a case; `random` decides what must not matter: layouts, order of arrival, cuts, inputs.

    `sizes` are the sizes of pushes to choose from, where there are pushes.
    """

    name: str
    cheap: bool  # to run: claims may try many seeds
    most: int | None  # parameter sets of one claim, of which the tests run so many, evenly apart

    def join(self, case: Case, random: Random, sizes: Sizes = None) -> pa.Table:
        """Return the result of an inner interval join, rows in any order."""
        ...

    def fitting(self, case: Case) -> Case:
        """Return a case like this one that the runtime has types for."""
        ...


class InProcess:
    """What both runtimes in one process have in common."""

    cheap = True
    most = None

    def fitting(self, case: Case) -> Case:
        """Return the case: every type is known here."""
        return case


class AsTable(InProcess):
    """One call of `weft.interval_join` on whole tables."""

    name = "table"

    def join(self, case: Case, random: Random, sizes: Sizes = None) -> pa.Table:
        """Join both tables in some physical layout."""
        left, right = (relaid(random, side.table()) for side in (case.left, case.right))
        result: pa.Table = weft.interval_join(left, right, **case.arguments())
        return result


class AsStream(InProcess):
    """A stream in random order and cuts, with just the lateness the order needs: it purges all it may."""

    name = "stream"

    def join(self, case: Case, random: Random, sizes: Sizes = None) -> pa.Table:
        """Push both sides through a stream and return all it gave."""
        sources = random.choice(((1, 1), (1, 1), (2, 1), (1, 3)))
        feed = draw_feed(random, case, sources, random.choice(("any", "near")), sizes)
        settings = Settings(lateness_needed(case, feed), sources=sources)
        known = {"left_schema": case.left.schema, "right_schema": case.right.schema}
        stage = player(case, settings, random, **(known if random.random() < 0.3 else {}))
        stage.play([*feed, Push((), ())])
        stage.results.append(stage.op.finish())
        assert stage.op.metrics.late == {"left": (0,) * sources[0], "right": (0,) * sources[1]}
        return stage.result()


class OnSpark:
    """What both runtimes on Spark have in common."""

    cheap = False
    most: int | None = None

    def fitting(self, case: Case) -> Case:
        """Return the nearest case in Spark's types."""
        return snapped(case)

    def join(self, case: Case, random: Random, sizes: Sizes = None) -> pa.Table:
        """Join in Spark's types; skip the claim where it has none for the case."""
        if reason := spark_can(case):
            pytest.skip(reason)
        there = in_spark_types(case)
        result = self._join(there, random, sizes)
        assert [(field.name, field.type) for field in result.schema] == there.fields()
        return as_told(case, result)

    def _join(self, case: Case, random: Random, sizes: Sizes) -> pa.Table:
        raise NotImplementedError


class AsSparkTable(OnSpark):
    """One call on whole DataFrames."""

    name = "spark table"

    def _join(self, case: Case, random: Random, sizes: Sizes) -> pa.Table:
        left, right = (table_frame(side.table()) for side in (case.left, case.right))
        arguments = case.arguments() | {"replicas": random.choice((None, None, 1, 3))}
        return weft.interval_join(left, right, **arguments).toArrow()


class AsSparkStream(OnSpark):
    """A streaming query over files in random order and cuts, with just the lateness that these need."""

    name = "spark stream"
    most = 8

    def _join(self, case: Case, random: Random, sizes: Sizes) -> pa.Table:
        sources = random.choice(((1, 1), (1, 1), (1, 1), (2, 1)))
        feed = in_batches(random, draw_feed(random, case, sources, random.choice(("any", "near")), sizes))
        pushes = [push for batch in feed for push in batch]
        lateness = tuple(case.span(one) for one in lateness_needed(case, pushes))
        replicas = random.choice((None, None, 1, 3))
        run = played(case, feed, sources, lateness=lateness, replicas=replicas)
        assert run.late() == (0, 0)
        assert sum(one["pairs"] or 0 for one in run.counts()) == run.table().num_rows
        return run.table()


RUNTIMES: tuple[Runtime, ...] = (AsTable(), AsStream(), AsSparkTable(), AsSparkStream())


def few(runtime: Runtime, items: Sequence[T], most: int = 4) -> Sequence[T]:
    """Return all items, or at most so many of them, evenly apart, where a run is not cheap."""
    return items if runtime.cheap else spread(items, most)


def spread(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most so many items, evenly apart."""
    return items if len(items) <= most else [items[at * len(items) // most] for at in range(most)]


def joined(runtime: Runtime, case: Case, tries: int = 6) -> Counter[tuple[object, object]]:
    """Run a case in several layouts, orders and cuts; return its pairs of row names, the same every time."""
    first, *more = (pairs_of(runtime.join(case, Random(seed))) for seed in few(runtime, range(tries), 1))
    for again in more:
        assert again == first
    return first

"""Where a claim runs: as a call on whole tables and as a stream in random cuts. It holds on each.

A further runtime (batch or streaming Spark) is one more class and one more entry of `RUNTIMES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Protocol

import pyarrow as pa

import weft
from tests.support.cases import Case
from tests.support.feeds import Push, draw_feed, lateness_needed
from tests.support.players import Settings, player
from tests.support.rows import pairs_of
from tests.support.streams import relaid

Sizes = Sequence[int] | None


class Runtime(Protocol):
    """Runs a case; `random` decides what must not matter: layouts, order of arrival, cuts, inputs.

    `sizes` are the sizes of pushes to choose from, where there are pushes.
    """

    name: str

    def join(self, case: Case, random: Random, sizes: Sizes = None) -> pa.Table:
        """Return the result of an inner interval join, rows in any order."""
        ...


class AsTable:
    """One call of `weft.interval_join` on whole tables."""

    name = "table"

    def join(self, case: Case, random: Random, sizes: Sizes = None) -> pa.Table:
        """Join both tables in some physical layout."""
        left, right = (relaid(random, side.table()) for side in (case.left, case.right))
        result: pa.Table = weft.interval_join(left, right, **case.arguments())
        return result


class AsStream:
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


RUNTIMES: tuple[Runtime, ...] = (AsTable(), AsStream())


def joined(runtime: Runtime, case: Case, tries: int = 6) -> Counter[tuple[object, object]]:
    """Run a case in several layouts, orders and cuts; return its pairs of row names, the same every time."""
    first, *more = (pairs_of(runtime.join(case, Random(seed))) for seed in range(tries))
    for again in more:
        assert again == first
    return first

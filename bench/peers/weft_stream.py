"""weft as a stream: both sides pushed in order of arrival, every table of results taken as it comes."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from weft.stream import IntervalJoin

if TYPE_CHECKING:
    from bench.joins import JoinCase, Keep, Run


def open_case(case: JoinCase) -> Run:
    """Cut both sides into pushes."""
    left = case.left.to_batches(max_chunksize=case.push)
    right = case.right.to_batches(max_chunksize=case.push)
    pushes = [
        {side: batch for side, batch in (("left", one), ("right", other)) if batch is not None}
        for one, other in zip_longest(left, right)
    ]

    def run(keep: Keep) -> object:
        join = IntervalJoin(
            on="key",
            time="ts",
            lower=f"{case.lower} us",
            upper=f"{case.upper} us",
            lateness=f"{case.lateness} us",
            left_schema=case.left.schema,
            right_schema=case.right.schema,
        )
        for push in pushes:
            keep(join.push(**push))
        keep(join.finish())
        return join

    return run

"""Peers get their best form: each is tried on the data, off the clock, and the fastest is kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.joins import JoinCase, Keep, Run

# The interval is cut into this many buckets, and each left row goes into one more. Wider buckets (one for
# twice the interval) and narrower ones (three, four) were slower on every workload.
CUTS = (1, 2)


def bucket_width(case: JoinCase, cuts: int) -> int:
    """Return the width for which the interval of a row touches at most `cuts + 1` buckets."""
    return -(-(case.upper - case.lower) // cuts) or 1


def fastest(forms: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """Return the form that is fastest in the second of two runs."""

    def seconds(form: Callable[[], Any]) -> float:
        form()
        start = time.perf_counter()
        form()
        return time.perf_counter() - start

    return min(forms, key=seconds)


def whole(forms: Sequence[Callable[[], Any]]) -> Run:
    """Return a contender that gives its whole result at once, in its fastest form."""
    form = fastest(forms)

    def run(keep: Keep) -> object:
        result = form()
        keep(result)
        return result

    return run

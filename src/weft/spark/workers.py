"""What a Python worker of Spark does once, when the first task of weft reaches it."""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle_in() -> None:
    """Take what is imported out of the garbage collector's sight.

    Spark's daemon collects garbage after every task, which with pandas and numba loaded takes 60 ms of
    processor: more than all the rest of a small micro-batch.
    """
    gc.collect()
    gc.freeze()

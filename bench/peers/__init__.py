"""The contenders: weft itself and what one would write by hand without it.

A contender is a module with `open_case(case) -> run`: loading and tuning happen in `open_case`, off the
clock; `run(keep)` gives every piece of the result to `keep`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.joins import JoinCase, Run

# Modules by name: a contender imports its library, which may not be installed, in its own process only.
CONTENDERS = {
    "weft": "bench.peers.weft_table",
    "weft-stream": "bench.peers.weft_stream",
    "polars-bucket": "bench.peers.polars_bucket",
    "polars-packed": "bench.peers.polars_packed",
    "duckdb-bucket": "bench.peers.duckdb_bucket",
}


def contender(name: str) -> Callable[[JoinCase], Run]:
    """Return `open_case` of this contender."""
    opened: Callable[[JoinCase], Run] = import_module(CONTENDERS[name]).open_case
    return opened

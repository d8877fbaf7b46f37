"""The one decorator that owns numba's flags, and where compiled kernels are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile without the GIL and keep the result on disk; where no folder can be written, compile anew."""
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba: "no locator available", every candidate folder is missing or read-only
        compiled = numba.njit(nogil=True)(function)
    return cast("F", compiled)


def cache_dir() -> Path | None:
    """Return the folder that holds the compiled kernels, or None where there is none to write to."""

    def probe() -> int:
        return 0

    stats = getattr(kernel(probe), "stats", None)
    return Path(stats.cache_path) if stats and stats.cache_path else None

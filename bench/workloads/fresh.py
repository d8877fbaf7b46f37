"""Fresh processes: what a first import and a first result cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def python(script: str, cache: Path | None = None) -> str:
    """Run a script in a fresh interpreter, its kernels kept in `cache`, and return what it prints."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"a fresh process failed:\n{done.stderr}"
        raise RuntimeError(message)
    return done.stdout


def seconds(script: str, cache: Path | None = None) -> float:
    """Return how long a fresh interpreter takes from its start to the end of the script."""
    start = time.perf_counter()
    python(script, cache)
    return time.perf_counter() - start

"""What a result file says about where it came from: machine, versions, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from bench.store import Machine

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("weft", "numba", "numpy", "pyarrow", "polars", "duckdb", "pandas")


def cpu() -> str:
    """Return the processor's name."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine(*, pinned: bool) -> Machine:
    """Return what matters about this machine."""
    return {
        "cpu": cpu(),
        "cores": cores(),
        "memory_gib": round(psutil.virtual_memory().total / (1 << 30), 1),
        "system": f"{platform.system()} {platform.release()}",
        "pinned": pinned,
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are installed."""
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def git(*words: str) -> str | None:
    """Return what git prints, or None where there is no git or no repository."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def commit() -> str:
    """Return the commit, with `+` where files have changed since."""
    head = git("rev-parse", "--short=12", "HEAD")
    if head is None:
        return "unknown"
    return f"{head}+" if git("status", "--porcelain", "--untracked-files=no") else head

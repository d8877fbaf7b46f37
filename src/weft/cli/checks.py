"""What `weft doctor` looks at: a function a check, a line in `CHECKS` each.

numba and the kernels are looked at in a fresh process: a broken LLVM ends the process it is loaded in.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

GIB = 1 << 30
LITTLE_MEMORY = 1 * GIB
PATIENCE = 120  # seconds for a fresh process
BOUND = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([\d.]+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, whether that is well, and what to do if it is not."""

    verdict: Literal["ok", "warn", "wrong"]
    found: str
    advice: str = ""


Check = Callable[[], Finding]


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: 2.0.0rc1 gives 2, 0, 0."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version)[0]))


def within(version: str, bounds: str) -> bool:
    """Return whether a version keeps bounds such as `>=2.2.2,<4`."""
    have = numbers(version)
    for sign, text in BOUND.findall(bounds):
        bound = numbers(text)
        width = max(len(have), len(bound))
        one, other = (part + (0,) * (width - len(part)) for part in (have, bound))
        kept = {
            ">=": one >= other,
            "<=": one <= other,
            "==": one == other,
            "!=": one != other,
            ">": one > other,
            "<": one < other,
        }
        if not kept.get(sign, True):
            return False
    return True


def bounds_of(library: str) -> str:
    """Return the versions of a library that weft was tested with, as its package says."""
    for line in importlib.metadata.requires("weft") or []:
        found = re.match(r"([\w.-]+)\s*([^;]*)", line)
        if found and found[1].lower() == library:
            return found[2].strip()
    return ""


def installed(library: str) -> str | None:
    """Return the version that is installed."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def in_fresh_process(script: str) -> tuple[bool, str, float]:
    """Run a script elsewhere: whether it ended well, what it said last, how long it took."""
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer in {PATIENCE} s", PATIENCE
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    last = said[-1] if said else f"ended with code {done.returncode}"
    return done.returncode == 0, last, time.perf_counter() - start


def python() -> Finding:
    """Python is new enough."""
    version = platform.python_version()
    bounds = str(importlib.metadata.metadata("weft").json.get("requires_python", ""))
    if not within(version, bounds):
        return Finding("wrong", f"Python {version}", f"use Python {bounds}")
    return Finding("ok", f"Python {version} ({sys.executable})")


def library(name: str, *, needed: bool) -> Finding:
    """A library is there, in a version weft was tested with."""
    version, bounds = installed(name), bounds_of(name)
    install = f"pip install '{name}{bounds}'"
    if version is None:
        return (
            Finding("wrong", "not installed", install)
            if needed
            else Finding("ok", f"not installed ({install})")
        )
    if not within(version, bounds):
        return Finding("wrong", f"{version}; weft needs {bounds}", install)
    return Finding("ok", version)


def numba() -> Finding:
    """Numba is there, loads, and is of a version weft was tested with."""
    listed = library("numba", needed=True)
    if listed.verdict != "ok":
        return listed
    well, said, seconds = in_fresh_process("import numba, llvmlite; print(llvmlite.__version__)")
    if not well:
        return Finding("wrong", said, "pip install --force-reinstall numba llvmlite")
    return Finding("ok", f"{listed.found} with llvmlite {said}, loaded in {seconds:.1f} s")


KERNEL = """
import numba
@numba.njit(nogil=True)
def add(a, b):
    return a + b
assert add(1, 2) == 3
print("plain Python" if numba.config.DISABLE_JIT else "compiled")
"""


def kernel() -> Finding:
    """A kernel compiles and runs."""
    well, said, seconds = in_fresh_process(KERNEL)
    if not well:
        return Finding("wrong", said, "reinstall numba and llvmlite; on a rare CPU NUMBA_CPU_NAME=generic")
    if said != "compiled":
        return Finding("wrong", "numba is told to compile nothing: no join runs", "unset NUMBA_DISABLE_JIT")
    return Finding("ok", f"compiled and run in {seconds:.1f} s, numba's start included")


def kernel_cache() -> Finding:
    """Compiled kernels can be kept; where they cannot, weft works but compiles in every process."""
    well, said, _ = in_fresh_process("from weft.kernels.jit import cache_dir; print(cache_dir() or 'none')")
    if not well:
        return Finding("wrong", said, "see the line of numba")
    if said == "none" or not os.access(said, os.W_OK):
        found = "no folder can be written: " if said == "none" else f"{said} is read-only: "
        advice = "set NUMBA_CACHE_DIR to a folder that can be written and stays"
        return Finding("warn", found + "weft works, new processes start slower", advice)
    kept = len(list(Path(said).glob("*.nbc")))
    return Finding("ok", f"{said}: {kept} kernels" if kept else f"{said}: empty, the first join fills it")


def memory() -> Finding:
    """There is memory to work in, as far as the machine and its control group allow."""
    at = psutil.virtual_memory()
    free, total = at.available, at.total
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        free, total = min(free, int(text) - used), min(total, int(text))
    found = f"{free / GIB:.1f} of {total / GIB:.1f} GiB free"
    if free < LITTLE_MEMORY:
        return Finding("warn", found, "a join holds its inputs, its state and its result: free some memory")
    return Finding("ok", found)


def cores() -> Finding:
    """The cores this process may use."""
    there = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    if usable < there:
        found = f"{usable} of {there} (a container or taskset keeps the others away)"
    else:
        found = str(there)
    if usable == 1:
        return Finding("warn", found, "weft works; a benchmark shares the core with all else")
    return Finding("ok", found)


CHECKS: dict[str, Check] = {
    "Python": python,
    "numba": numba,
    "kernel": kernel,
    "kernel cache": kernel_cache,
    "numpy": lambda: library("numpy", needed=True),
    "pyarrow": lambda: library("pyarrow", needed=True),
    "pandas": lambda: library("pandas", needed=False),
    "polars": lambda: library("polars", needed=False),
    "memory": memory,
    "cores": cores,
}

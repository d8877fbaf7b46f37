"""The processes behind a session: memory and processor time of the JVM and of its Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What the session's processes hold, in MiB, and have used up to now, in seconds."""

    python: float
    jvm: float
    heap: float
    python_cpu: float
    jvm_cpu: float
    jvm_gc: float
    jvm_jit: float


def jvm_of(spark: SparkSession) -> psutil.Process:
    """Return the JVM's process; with a local master it is driver and executor in one."""
    java: Any = spark.sparkContext._jvm
    return psutil.Process(java.java.lang.ProcessHandle.current().pid())


def sampled(spark: SparkSession, *, collected: bool = False) -> Sample:
    """Look at the processes; `collected`: garbage is collected before, so that `heap` is what is needed."""
    java: Any = spark.sparkContext._jvm
    runtime = java.java.lang.Runtime.getRuntime()
    if collected:
        runtime.gc()
    jvm = jvm_of(spark)
    children = jvm.children(recursive=True)
    beans = java.java.lang.management.ManagementFactory
    return Sample(
        python=sum(resident(child) for child in children) / MIB,
        jvm=jvm.memory_info().rss / MIB,
        heap=(runtime.totalMemory() - runtime.freeMemory()) / MIB,
        python_cpu=sum(used(child) for child in children),
        jvm_cpu=used(jvm),
        jvm_gc=sum(each.getCollectionTime() for each in beans.getGarbageCollectorMXBeans()) / 1000,
        jvm_jit=beans.getCompilationMXBean().getTotalCompilationTime() / 1000,
    )


def resident(process: psutil.Process) -> int:
    """Return a process's own share of memory: pages that forked workers have in common count once."""
    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, AttributeError):  # gone by now, or a system without the notion
        return 0


def used(process: psutil.Process) -> float:
    """Return the seconds of processor that a process has used."""
    try:
        times = process.cpu_times()
    except psutil.Error:  # gone by now
        return 0.0
    return float(times.user + times.system)

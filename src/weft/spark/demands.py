"""What has to be there before a job runs: PySpark, protobuf and pandas in time, and the RocksDB state store.

Both checks cost a few milliseconds and start no job.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import InputError, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class Need:
    """A library that weft on Spark needs: its name, its module, the oldest version that does, and why."""

    name: str
    module: str
    at_least: str
    reason: str


# The bounds of the extra `spark`; a test compares them.
NEEDS = (
    Need("pyspark", "pyspark", "4.3", "it runs the join"),
    Need("protobuf", "google.protobuf", "6.33.5", "PySpark keeps state through it and does not install it"),
    Need("pandas", "pandas", "2.2.2", "PySpark hands state's results over in its frames"),
)


def check_versions(spark: SparkSession | None = None) -> None:
    """Refuse what is missing or too old; with a session, also a server of an older Spark than PySpark's."""
    for need in NEEDS:
        version = installed(need)
        if version is None or older(version, need.at_least):
            raise lacking(need, version)
    if spark is not None and older(spark.version, NEEDS[0].at_least):
        message = f"weft needs Spark {NEEDS[0].at_least} or newer; the session runs on Spark {spark.version}."
        raise InputError(message, "upgrade the cluster; where SPARK_HOME names an older Spark, unset it")


def lacking(need: Need, version: str | None) -> InputError:
    """Return the refusal of a library that is not there or too old."""
    came = "is not installed" if version is None else f"is {version}"
    message = f"weft on Spark needs {need.name} {need.at_least} or newer ({need.reason}); it {came}."
    return InputError(message, "pip install 'weft[spark]'")


def installed(need: Need) -> str | None:
    """Return the version of a library, imported or not; None where it cannot be imported at all."""
    if loaded := getattr(sys.modules.get(need.module), "__version__", None):
        return str(loaded)
    try:
        return importlib.metadata.version(need.name)
    except importlib.metadata.PackageNotFoundError:  # on the path without its metadata, as in a Spark folder
        return imported(need.module)


def imported(module: str) -> str | None:
    """Return the version a module says it has; None where there is none."""
    try:
        return str(importlib.import_module(module).__version__)
    except (ImportError, AttributeError):
        return None


def older(version: str, than: str) -> bool:
    """Return whether a version comes before another, number by number: 4.3.0.dev1 is no older than 4.3."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    leading = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in leading[0].split(".")] if leading else []
    while numbers and numbers[-1] == 0:  # 4.3 equals 4.3.0
        numbers.pop()
    return numbers


def check_store(spark: SparkSession) -> None:
    """Refuse a session whose streams keep their state elsewhere than in RocksDB."""
    provider = spark.conf.get(PROVIDER) or ""
    if "RocksDB" not in provider.rpartition(".")[2]:
        message = f"`{PROVIDER}` must be RocksDB's, which streams need; got {shown(provider)}."
        raise InputError(message, f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")')

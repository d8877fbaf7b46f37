"""`weft.spark.session`: a session with the settings that measured best, or those put onto a running one."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import SpecError, listed, refusal, shown
from weft.spark.demands import PROVIDER, ROCKSDB, check_versions
from weft.spark.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

SETTINGS: dict[str, str] = {
    # transformWithState, which holds the state of a stream, takes no other store.
    PROVIDER: ROCKSDB,
    # A commit writes what has changed, not all that is held.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
PARTITIONS = "spark.sql.shuffle.partitions"
LOOPBACK = "127.0.0.1"
ADDRESSES = ("spark.driver.host", "spark.driver.bindAddress")
# What asks for a session of Spark Connect.
REMOTE = ("spark.remote", "spark.api.mode", "SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED")
# Spark lets some of these be set while it runs, to no effect.
FIXED = ("spark.master", "spark.app.", "spark.driver.", "spark.executor", "spark.hadoop.", "spark.jars")
LOCAL = re.compile(r"local(\[\s*(?P<threads>\d+|\*)\s*(,\s*\d+\s*)?\])?")
LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(?P<workers>\d+)\s*,\s*(?P<cores>\d+)\s*,\s*\d+\s*\]")


class SessionWarning(UserWarning):
    """A session that was running already keeps settings that cannot change while it runs."""


def session(master: str | None = None, app_name: str | None = None, **conf: object) -> SparkSession:
    """Return the running session, or a new one, with the settings that weft runs best with.

        spark = weft.spark.session("local[4]", **{"spark.driver.memory": "4g"})

    What you set stays as you set it: here, in a defaults file, on the command line or on the session. A new
    session gets a Java of 17 or 21 (JAVA_HOME, `java` on PATH, or the extra `java`), this interpreter for its
    workers unless PYSPARK_PYTHON says another, and with a local master addresses of this machine alone and
    as many shuffle partitions as cores. A running session keeps what cannot change while it runs: a
    SessionWarning says which settings those are.

    PySpark, protobuf, pandas or Java missing or too old are refused with what to install.
    """
    asked = asked_for(master, app_name, conf)
    check_versions()
    spark = running()
    if spark is not None:
        check_versions(spark)
        put_onto(spark, asked)
        return spark
    spark = started(asked)
    try:
        check_versions(spark)  # SPARK_HOME may name another Spark
    except Exception:
        spark.stop()
        raise
    return spark


def asked_for(master: str | None, app_name: str | None, conf: Mapping[str, object]) -> dict[str, str]:
    """Return what the caller set by the names and as the texts that Spark knows; refuse what is neither."""
    asked = {name: _text(name, value) for name, value in conf.items()}
    named = (("master", "spark.master", master), ("app_name", "spark.app.name", app_name))
    for argument, name, value in named:
        if value is not None and name in asked:
            message = f"`{argument}` and {shown(name)} are one setting; got both."
            raise SpecError(message, f"leave out {shown(name)}")
        if value is not None:
            asked[name] = _text(argument, value)
    if "spark.remote" in asked or asked.get("spark.api.mode", "").lower() == "connect":
        raise _no_connect(list(asked))
    return asked


def _text(name: str, value: object) -> str:
    if not name.startswith("spark.") and name not in ("master", "app_name"):
        hint = f'write session(**{{"{PARTITIONS}": 8}})'
        raise refusal(name, "the name of a setting", 'one of Spark\'s, which begin with "spark."', hint)
    if not isinstance(value, str | bool | int | float):
        raise refusal(value, f"`{name}`", "a string, a number, True or False", f'write "{name}": "..."')
    return str(value).lower() if isinstance(value, bool) else str(value)


def _no_connect(names: Sequence[str]) -> SpecError:
    asking = listed([name for name in REMOTE if name in names] or ["this PySpark"], "and", form=str)
    message = f"weft.spark.session starts no session of Spark Connect; {asking} asks for one."
    return SpecError(message, "start it first: SparkSession.builder.remote(...).getOrCreate()")


def running() -> SparkSession | None:
    """Return the session that runs in this process, if one does; refuse to start one of Spark Connect."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    # PySpark 4.3 ends a process that looks for a session of Connect without having grpc.
    if is_remote() and "pyspark.sql.connect.session" in sys.modules:
        with contextlib.suppress(PySparkRuntimeError):
            return SparkSession.active()
    if (
        is_remote()
        or "SPARK_REMOTE" in os.environ
        or os.environ.get("SPARK_API_MODE", "").lower() == "connect"
    ):
        raise _no_connect([*os.environ])
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def put_onto(spark: SparkSession, asked: Mapping[str, str]) -> None:
    """Set what can still be set; say in a warning what cannot."""
    there = spark.conf.getAll
    ours = SETTINGS | partitions(there.get("spark.master", ""))
    kept = []
    for name, value in ({name: ours[name] for name in ours.keys() - there.keys()} | dict(asked)).items():
        if there.get(name) != value and not taken(spark, name, value):
            kept.append((name, value))
    if kept:
        fixed = "; ".join(f'{name} is {_said(there.get(name))}, not "{value}"' for name, value in kept)
        message = f"the session runs already and keeps what cannot change while it runs: {fixed}."
        hint = "stop it with spark.stop(), then call weft.spark.session(...) again"
        warnings.warn(f"{message}\n\nHint: {hint}", SessionWarning, stacklevel=3)


def taken(spark: SparkSession, name: str, value: str) -> bool:
    """Set one setting of a running session; return whether it can still be set."""
    from pyspark.errors import AnalysisException

    if name.startswith(FIXED):
        return False
    try:
        spark.conf.set(name, value)
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("CANNOT_MODIFY"):
            raise
        return False
    return True


def _said(value: str | None) -> str:
    return "not set" if value is None else shown(value)


def started(asked: Mapping[str, str]) -> SparkSession:
    """Start a session: what is asked for, then what the user's files say, then our settings."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    with variables(launch_variables(asked)):
        at_launch = SparkConf(loadDefaults=False).setAll(list(asked.items()))
        # Not public, but the one way to learn what the user's files say before the session has its settings.
        SparkContext._ensure_initialized(conf=at_launch)
        builder = SparkSession.builder
        for name, value in (defaults(SparkConf().setAll(list(asked.items()))) | dict(asked)).items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


def defaults(known: SparkConf) -> dict[str, str]:
    """Return our settings that a configuration does not hold yet."""
    master = known.get("spark.master", "local[*]") or ""
    ours = SETTINGS | partitions(master)
    if on_this_machine(master) and not any(known.contains(name) for name in ADDRESSES):
        ours |= dict.fromkeys(ADDRESSES, os.environ.get("SPARK_LOCAL_IP", LOOPBACK))
    return {name: value for name, value in ours.items() if not known.contains(name)}


def partitions(master: str) -> dict[str, str]:
    """Return one shuffle partition a core: Spark's 200 cost a task and a state store each, whatever is there.

    Only for a local master, whose cores are known.
    """
    cores = local_cores(master)
    return {PARTITIONS: str(cores)} if cores else {}


def local_cores(master: str) -> int | None:
    """Return how many tasks a local master runs at once; None for a cluster."""
    if cluster := LOCAL_CLUSTER.fullmatch(master.strip()):
        return int(cluster["workers"]) * int(cluster["cores"])
    local = LOCAL.fullmatch(master.strip())
    if local is None:
        return None
    threads = local["threads"] or "1"
    return visible_cores() if threads == "*" else int(threads)


def visible_cores() -> int | None:
    """Return the cores that `local[*]` uses: those the JVM sees, which heeds the limits of containers."""
    import pyspark

    jvm = getattr(getattr(pyspark, "SparkContext", None), "_jvm", None)  # PySpark's thin client has none
    return int(getattr(jvm, "java.lang.Runtime").getRuntime().availableProcessors()) if jvm else None


def on_this_machine(master: str) -> bool:
    """Return whether a master keeps driver and executors on this machine."""
    return bool(LOCAL.fullmatch(master.strip()) or LOCAL_CLUSTER.fullmatch(master.strip()))


def launch_variables(asked: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Spark's JVM has to start with, without those the user set."""
    from pyspark import SparkContext

    new = {"PYSPARK_PYTHON": asked.get("spark.pyspark.python", sys.executable)}
    if (
        SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ
    ):  # else the JVM runs already
        new["JAVA_HOME"] = str(find_java().home)
        if on_this_machine(likely_master(asked)) and not any(name in asked for name in ADDRESSES):
            # The web interface heeds this variable only, and otherwise listens on every address.
            new["SPARK_LOCAL_IP"] = LOOPBACK
    return {name: value for name, value in new.items() if name == "JAVA_HOME" or name not in os.environ}


def likely_master(asked: Mapping[str, str]) -> str:
    """Return the master as far as it is known before Spark has read its files; empty where they may say."""
    if master := asked.get("spark.master") or os.environ.get("MASTER"):
        return master
    return "" if "PYSPARK_SUBMIT_ARGS" in os.environ or defaults_file().is_file() else "local[*]"


def defaults_file() -> Path:
    """Return where Spark looks for the user's defaults."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    return Path(os.environ.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf"


@contextlib.contextmanager
def variables(new: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a while: the JVM keeps its copy, this process does not."""
    before = {name: os.environ.get(name) for name in new}
    os.environ.update(new)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

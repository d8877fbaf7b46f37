"""The program that a trial kills: one streaming join of files to files, until all files are read.

It runs as `python -m tests.crash.program FOLDER MASTER`; FOLDER/plan.json says what.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import weft

# A short life: no interface, nothing compiled for later.
QUICK = {
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.daemon.module": "tests.crash.daemon",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.log.level": "ERROR",
}


def main(folder: Path, master: str) -> None:
    """Run the join; leave `started`, then `ended` with the progress of every batch."""
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    plan = json.loads((folder / "plan.json").read_text())
    spark = weft.spark.session(master, **(settings() | plan["conf"]))
    left, right = ([stream(spark, folder / name, plan) for name in names] for names in plan["inputs"])
    joined = weft.interval_join(left, right, **plan["arguments"])
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    (folder / "started").touch()
    query.awaitTermination()
    told = [{"batch": one.batchId, **observed(one)} for one in query.recentProgress]
    (folder / "ended.new").write_text(json.dumps(told))
    (folder / "ended.new").rename(folder / "ended")


def end_with(parent: int) -> None:
    """Go when the trial goes, however that ends."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def settings() -> dict[str, str]:
    """Return settings for a short life, whose leavings lie where the trial finds them."""
    scratch = tempfile.gettempdir()
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={scratch}"
    options = {f"spark.{which}.extraJavaOptions": java for which in ("driver", "executor")}
    return QUICK | options | {"spark.local.dir": scratch}


def stream(spark: SparkSession, folder: Path, plan: dict[str, Any]) -> DataFrame:
    """Return the files of a folder as a stream, some at a time."""
    schema = from_arrow_schema(pq.read_schema(next(folder.iterdir())))
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", plan["files"])
    return reader.parquet(str(folder))


def observed(progress: Any) -> dict[str, Any]:
    """Return what the join told of one batch."""
    return {key: value for row in progress.observedMetrics.values() for key, value in row.asDict().items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

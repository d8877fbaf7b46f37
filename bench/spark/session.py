"""The session of a run: weft's own settings, for everyone in it, and those that make batches comparable."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench.machine import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

MASTER = "local[2]"
SETTINGS = {
    # Spark's own join in its best form; it does not concern weft.
    "spark.sql.streaming.join.stateFormatVersion": 4,
    # In a steady stream the next batch brings rows, and they drive out the old ones: no batch in between.
    "spark.sql.streaming.noDataMicroBatches.enabled": False,
    # Contenders who wait for their turn look for files; by default a hundred times a second.
    "spark.sql.streaming.pollingDelay": "1s",
    "spark.sql.streaming.numRecentProgressUpdates": 1000,
    "spark.driver.memory": "4g",
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
}


def opened(folder: Path, extra: Mapping[str, str | int | bool] | None = None) -> SparkSession:
    """Start a session whose files lie in `folder`; its workers can import `bench`."""
    import weft.spark

    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    places = {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    spark = weft.spark.session(MASTER, "weft bench", **(SETTINGS | places | dict(extra or {})))
    spark.sparkContext.setLogLevel("ERROR")
    return spark

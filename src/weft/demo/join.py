"""The lines that do it: the demo runs them, and shows them at its end."""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any

import weft

if TYPE_CHECKING:
    from pathlib import Path


def live_join(folder: Path) -> Any:
    """Start the query that joins impressions and clicks as their files appear."""
    spark = weft.spark.session()
    read = spark.readStream
    columns = "impression_id long, user long, campaign string, ts timestamp"
    ads = read.schema(columns).parquet(f"{folder}/impressions")
    clicks = read.schema("click_id long, user long, ts timestamp").parquet(f"{folder}/clicks")
    pairs = weft.interval_join(ads, clicks, on="user", time="ts", lower="0s", upper="30s", lateness="10s")
    sink = pairs.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    query = sink.trigger(processingTime="1 second").start(f"{folder}/pairs")
    return query  # noqa: RET504 - the line above is shown, this one is not


def shown_lines(folder: Path) -> str:
    """Return the lines of `live_join`, ready to be pasted into a Python shell."""
    source = inspect.getsource(live_join)
    _, _, body = source.partition('"""\n')
    lines = textwrap.dedent(body).splitlines()[:-1]
    return "\n".join(["import weft", f'folder = "{folder}"', *lines])

"""The oracle: DuckDB joins the very files that the query read, and compares row by row.

It shares no code with the engine. It works out on its own which rows were late: Spark's checkpoint says which
batch took which file; a row is late below the least of both sides' newest times of the batches before, less
ten seconds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS = "impression_id, user, campaign, shown, click_id, clicked"
INPUT = """
CREATE TABLE {side} AS
SELECT * EXCLUDE (ts, filename), epoch_us(ts) AS ts, batch
FROM read_parquet('{files}', filename = true)
JOIN batches ON batches.side = '{side}' AND batches.file = parse_filename(filename)
"""
# The newest time before a batch is that of all batches before it; without one on both sides nothing is late.
WATERMARKS = """
CREATE TABLE watermarks AS
SELECT here.batch, CASE WHEN count(impressions.ts) > 0 AND count(clicks.ts) > 0
  THEN least(max(impressions.ts), max(clicks.ts)) - 10_000_000 END AS watermark
FROM (SELECT DISTINCT batch FROM batches) AS here
LEFT JOIN (SELECT batch, max(ts) AS ts FROM impressions GROUP BY batch) AS impressions
  ON impressions.batch < here.batch
LEFT JOIN (SELECT batch, max(ts) AS ts FROM clicks GROUP BY batch) AS clicks
  ON clicks.batch < here.batch
GROUP BY here.batch
"""
TIMELY = """
CREATE VIEW timely_{side} AS
SELECT * EXCLUDE (watermark) FROM {side} JOIN watermarks USING (batch)
WHERE watermark IS NULL OR ts >= watermark
"""
EXPECTED = """
CREATE TABLE {name} AS
SELECT impression_id, user, campaign, impressions.ts AS shown, click_id, clicks.ts AS clicked
FROM {prefix}impressions AS impressions JOIN {prefix}clicks AS clicks USING (user)
WHERE clicks.ts BETWEEN impressions.ts AND impressions.ts + 30_000_000
"""
FOUND = """
CREATE TABLE found AS
SELECT impression_id, user, campaign, epoch_us(ts) AS shown, click_id, epoch_us(ts_right) AS clicked
FROM read_parquet('{files}')
"""
NOTHING = "CREATE TABLE found AS SELECT * FROM expected WHERE false"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the oracle found: pairs there should be, pairs there are, and how they differ."""

    expected: int
    found: int
    missing: int
    surplus: int
    late: int
    left_out: int  # pairs that late rows would have had

    @property
    def agrees(self) -> bool:
        """Tell whether both hold the same pairs, each as often."""
        return not self.missing and not self.surplus


def judge(folder: Path) -> Verdict:
    """Join the input files of a run with DuckDB and compare with the Parquet that the query wrote."""
    import duckdb

    base = duckdb.connect()
    base.execute("CREATE TABLE batches (side VARCHAR, file VARCHAR, batch BIGINT)")
    base.executemany("INSERT INTO batches VALUES (?, ?, ?)", list(batches(folder / "checkpoint")))
    for side in ("impressions", "clicks"):
        base.execute(INPUT.format(side=side, files=quoted(folder / side)))
    base.execute(WATERMARKS)
    for side in ("impressions", "clicks"):
        base.execute(TIMELY.format(side=side))
    base.execute(EXPECTED.format(name="expected", prefix="timely_"))
    base.execute(EXPECTED.format(name="whole", prefix=""))
    any_found = any((folder / "pairs").glob("*.parquet"))
    base.execute(FOUND.format(files=quoted(folder / "pairs")) if any_found else NOTHING)
    expected, found = count(base, "expected"), count(base, "found")
    late = sum(count(base, side) - count(base, f"timely_{side}") for side in ("impressions", "clicks"))
    return Verdict(
        expected=expected,
        found=found,
        missing=count(base, f"(SELECT {COLUMNS} FROM expected EXCEPT ALL SELECT {COLUMNS} FROM found)"),
        surplus=count(base, f"(SELECT {COLUMNS} FROM found EXCEPT ALL SELECT {COLUMNS} FROM expected)"),
        late=late,
        left_out=count(base, "whole") - expected,
    )


def count(base: Any, what: str) -> int:
    """Return the number of rows."""
    return int(base.execute(f"SELECT count(*) FROM {what}").fetchone()[0])


def quoted(folder: Path) -> str:
    """Return the pattern of a folder's Parquet files as SQL has it in quotes."""
    return f"{folder}/*.parquet".replace("'", "''")


def batches(checkpoint: Path) -> Iterator[tuple[str, str, int]]:
    """Yield side, file and the batch that took it, as Spark's checkpoint says.

    A source counts the times it found new files; the offsets of a batch say how far in that count it went.
    """
    ends = {
        int(path.name): offsets(path) for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()
    }
    for source in sorted((checkpoint / "sources").iterdir()):
        reached = [(batch, ends[batch].get(int(source.name), -1)) for batch in sorted(ends)]
        for path, step in entries(source).items():
            side, file = unquote(urlsplit(path).path).split("/")[-2:]
            yield side, file, next(batch for batch, end in reached if end >= step)


def offsets(path: Path) -> dict[int, int]:
    """Return how far each source had come at the end of a batch."""
    lines = path.read_text(encoding="utf-8").splitlines()[2:]  # a version and the batch's settings come first
    return {source: json.loads(line)["logOffset"] for source, line in enumerate(lines) if line != "-"}


def entries(source: Path) -> dict[str, int]:
    """Return the files of a source by the step at which it found them."""
    logs = [path for path in source.iterdir() if path.name.removesuffix(".compact").isdigit()]
    lines = [line for path in logs for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {entry["path"]: entry["batchId"] for entry in map(json.loads, lines)}

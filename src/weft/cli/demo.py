"""`weft demo`: a live join on Spark that a newcomer runs first, watched, drawn, and checked by an oracle."""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from weft.cli.demo_view import waiting, watched
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.demo.oracle import Verdict
    from weft.demo.run import Run

NEEDED = ("pyspark", "duckdb", "matplotlib")
INTERRUPTED = 130  # the exit code of what Ctrl-C ends


def stop(message: str, code: int = 1) -> NoReturn:
    """Say what went wrong and end."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def check_needs() -> None:
    """Refuse to begin without what the demo needs further on: libraries, and a Java for Spark."""
    for library in NEEDED:
        if importlib.util.find_spec(library) is None:
            stop(f"The demo needs {library}, which is missing.\n\nHint: pip install 'weft[demo]'")
    from weft.spark.demands import check_versions
    from weft.spark.java import find_java

    try:
        check_versions()
        find_java()
    except WeftError as error:
        stop(str(error))


def fresh(out: Path | None) -> Path:
    """Return a new folder: the one asked for, or one named after the time."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            stop(
                f"--out must be a new or an empty folder; {out} is neither.\n\nHint: weft demo --out {out}-2"
            )
        out.mkdir(parents=True, exist_ok=True)
        return out
    stamp = f"{datetime.now():%Y-%m-%dT%H-%M-%S}"
    for number in count(1):
        folder = Path("weft-demo") / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError


def perform(run: Run, console: Console) -> None:
    """Start Spark, play the traffic and show how it goes."""
    from weft.demo.run import play, started

    with ExitStack() as stack:
        with waiting(console, "Starting Spark"):
            stack.enter_context(started(run))
        with watched(run, console) as show:
            play(run, show)


def conclude(run: Run, console: Console) -> Verdict:
    """Draw the picture, ask the oracle, and say what it found and where everything lies."""
    from weft.demo.join import shown_lines
    from weft.demo.oracle import judge
    from weft.demo.picture import draw
    from weft.demo.run import errors_to

    with waiting(console, "Drawing the picture, asking the oracle"), errors_to(run.log):
        draw(run, run.picture)
        verdict = judge(run.folder)

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)

    say(f"\n{judgement(verdict)}\n", "bold green" if verdict.agrees else "bold red")
    width = max(len(str(place)) for place, _ in places(run))
    for place, what in places(run):
        say(f"{place!s:{width}}  {what}")
    say("\nThe ten lines of Python that did it:\n", "bold")
    say(shown_lines(run.folder))
    return verdict


def judgement(verdict: Verdict) -> str:
    """Return what the oracle found on one line."""
    if not verdict.agrees:
        return (
            f"oracle: DuckDB finds {verdict.expected:,} pairs in these files, the query wrote "
            f"{verdict.found:,}: {verdict.missing:,} missing, {verdict.surplus:,} too many"
        )
    return (
        f"oracle: DuckDB finds the same {verdict.found:,} pairs in these files, each once "
        f"({verdict.late:,} late rows cost {verdict.left_out:,} more)"
    )


def places(run: Run) -> list[tuple[Path, str]]:
    """Return what was written, and what it is."""
    impressions, clicks = run.written("impressions"), run.written("clicks")
    return [
        (run.folder / "impressions", f"input: {impressions:,} rows in {run.traffic.files} Parquet files"),
        (run.folder / "clicks", f"input: {clicks:,} rows in {run.traffic.files} Parquet files"),
        (run.folder / "pairs", "what the query wrote: Parquet with both times, ts and ts_right"),
        (run.folder / "checkpoint", "state and progress: with it a stopped query goes on where it was"),
        (run.picture, "the picture of this run"),
        (run.log, "what Spark said"),
    ]


def demo(
    out: Annotated[
        Path | None, typer.Option(help="A new folder for all files.", show_default="weft-demo/TIME")
    ] = None,
    seconds: Annotated[float, typer.Option(min=2, max=120, help="How long files are written.")] = 28,
    rate: Annotated[
        int, typer.Option(min=100, max=100_000, help="Rows a second, both sides together.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the traffic: the same seed, the same rows.")] = 1,
) -> None:
    """Join two live streams on Spark, draw what happened, and check the result with an oracle."""
    check_needs()
    from weft.demo.run import DemoError, Run
    from weft.demo.traffic import Traffic

    console = Console()
    run = Run(fresh(out), Traffic(seconds, rate, seed))
    try:
        perform(run, console)
        verdict = conclude(run, console)
    except (WeftError, DemoError) as error:
        stop(str(error))
    except KeyboardInterrupt:
        stop(f"Stopped. What was written lies in {run.folder}.", INTERRUPTED)
    raise typer.Exit(0 if verdict.agrees else 1)

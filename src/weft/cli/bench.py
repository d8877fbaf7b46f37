"""`weft bench`: weft beside its peers, same data, same run: one core and one thread each, or one session.

The benchmark is no part of the installed package: it lives in `bench/` of a checkout, where workloads and
peers can be read and changed. This file finds it, runs it and prints what it gives.
"""

import importlib
import sys
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

import weft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.runner import Options
    from bench.store import Entry

STYLES = {"met": "green", "missed": "bold red"}
WIDE = 120  # columns where the output is no terminal
NOT_HERE = """The benchmark is not part of the installed package.

Hint: run `weft bench` from a checkout of weft, or install that one: pip install -e '.[bench,cli]'"""


def stop(message: str) -> NoReturn:
    """Say what went wrong and end with code 1."""
    typer.echo(message, err=True)
    raise typer.Exit(1)


def checkout() -> Path | None:
    """Return the checkout that holds `bench/`: the one weft is installed from, or the current folder."""
    for root in (Path(weft.__file__).resolve().parents[2], Path.cwd()):
        if (root / "bench" / "workloads" / "__init__.py").is_file():
            return root
    return None


def find_bench() -> Path:
    """Make `bench` importable and return the checkout it is in."""
    root = checkout()
    if root is None:
        stop(NOT_HERE)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        importlib.import_module("bench.runner")
        importlib.import_module("bench.workloads")
    except ModuleNotFoundError as error:
        stop(f"The benchmark needs {error.name}, which is missing.\n\nHint: pip install -e '.[bench,cli]'")
    return root


def show_list(console: Console, known: "Mapping[str, Any]", on_spark: "Mapping[str, Any]") -> None:
    """Print what can be run: here, and on Spark."""
    table = Table("workload", "what", "rows a side")
    for name, workload in known.items():
        table.add_row(name, workload.summary, f"{workload.rows:,}" if workload.sized else "")
    table.add_row("trace", "real traces of a folder, each beside the peers: --data DIR", "")
    console.print(table)
    table = Table("with --on spark", "what", "rows a side")
    for name, workload in on_spark.items():
        table.add_row(name, workload.summary, f"{workload.rows:,}")
    console.print(table)


def traces(names: list[str], known: "Mapping[str, Any]", data: Path | None) -> list[str]:
    """Return the names; `trace` stands for all traces of the folder."""
    if "trace" in names and data is None:
        stop("`trace` runs on real traces; got no folder.\n\nHint: weft bench trace --data DIR")
    found = [name for name in known if name.startswith("trace-")]
    if "trace" in names and not found:
        stop(f"No trace in {data}.\n\nHint: CSV files with the columns key, value, eventTime, arrivalTime")
    return [each for name in names for each in (found if name == "trace" else [name])]


def spark_names(names: list[str], known: "Mapping[str, Any]") -> list[str]:
    """Return the names of workloads on Spark; W1 stands for all of them that ask what W1 asks."""
    standing = {name: [one.name for one in known.values() if one.stands_for == name] for name in names}
    return [each for name in names for each in standing[name] or [name]] or list(known)


def chosen(names: list[str], known: "Mapping[str, Any]", flags: str = "") -> list[Any]:
    """Return the workloads with these names, each once."""
    if unknown := [name for name in names if name not in known]:
        near = get_close_matches(unknown[0], known, n=1, cutoff=0.5)
        hint = f"weft bench {near[0]}{flags}" if near else "weft bench --list"
        stop(f"No workload is called {unknown[0]!r}; there are: {', '.join(known)}.\n\nHint: {hint}")
    return [known[name] for name in dict.fromkeys(names)]


def show(entries: "list[Entry]") -> None:
    """Print every figure beside what it should reach."""
    from bench.report import lines, origin

    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    table = Table("", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), caption="ratio: weft over the peer")
    last = "a micro-batch" if any(line.batch for entry in entries for line in lines(entry)) else "peak memory"
    for heading in ("median (min..max)", "ratio (min..max)", "at least", "goal", last):
        table.add_column(heading, justify="right")
    for entry in entries:
        table.add_row(Text(entry["workload"], "bold"))
        for line in lines(entry):
            judged = (Text(text, STYLES.get(text.split(" ")[-1], "")) for text in (line.at_least, line.goal))
            table.add_row(f"  {line.what}", Text(line.value), line.ratio, *judged, line.batch or line.memory)
    console.print(table)
    console.print(origin({entry["workload"]: entry for entry in entries}).strip(), soft_wrap=True)


def run_one(workload: Any, options: "Options", status: Console) -> "Entry":
    """Run one workload and say how far it is: in one line, or on Spark, which takes longer, in many."""
    from bench import runner
    from bench.spark import runner as spark_runner
    from bench.spark.model import SparkWorkload

    try:
        if isinstance(workload, SparkWorkload):
            return spark_runner.run(workload, options, lambda text: status.print(text, highlight=False))
        with status.status(workload.name) as spinner:
            return runner.run(workload, options, spinner.update)
    except runner.BenchError as error:
        stop(str(error))


def measure(workloads: list[Any], options: "Options", out: Path | None, root: Path) -> "list[Entry]":
    """Run the workloads one after the other; each result is on disk before the next one starts."""
    from bench.store import save
    from bench.workloads import SPARK, WORKLOADS

    entries = []
    status = Console(stderr=True)
    for workload in workloads:
        stamp = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}"
        path = out or root / "bench" / "results" / f"{workload.name}-{stamp}.json"
        entries.append(run_one(workload, options, status))
        save(path, entries[-1:], [*WORKLOADS, *SPARK])
        status.print(f"{workload.name}: written to {path}", highlight=False, soft_wrap=True)
    return entries


def bench(
    workload: Annotated[list[str] | None, typer.Argument(help="Names as `--list` prints them.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Run every workload but `trace`.")] = False,
    on: Annotated[
        str | None, typer.Option(help="`spark`: on Spark, beside its own join; all, where none is named.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions of each contender.")] = 5,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Rows a side (and micro-batch), instead of the workload's own.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the rows, two repetitions.")] = False,
    data: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Real traces (`trace`).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Add the results to this JSON file.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Print the workloads and stop.")] = False,
) -> None:
    """Run workloads beside their peers: one core and one thread each, or in one Spark session."""
    root = find_bench()
    from bench.runner import Options
    from bench.workloads import SPARK, WORKLOADS, available

    known = available(data)
    if on not in (None, "spark"):
        stop(f"`--on` must be spark; got {on!r}.\n\nHint: leave it out to run in processes of one core")
    names = list(SPARK if on else WORKLOADS) if every else workload or []
    if listing or not (names or on):
        show_list(Console(), known, SPARK)
        return
    workloads = (
        chosen(spark_names(names, SPARK), SPARK, " --on spark")
        if on
        else chosen(traces(names, known, data), known | SPARK)
    )
    show(measure(workloads, Options(repeat, rows, data, quick), out, root))

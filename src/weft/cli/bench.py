"""`weft bench`: weft beside its peers, same data, same run, one core and one thread each.

The benchmark is no part of the installed package: it lives in `bench/` of a checkout, where workloads and
peers can be read and changed. This file finds it, runs it and prints what it gives.
"""

import importlib
import sys
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

import weft

if TYPE_CHECKING:
    from bench.model import Workload
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


def show_list(console: Console, known: "dict[str, Workload]") -> None:
    """Print what can be run."""
    table = Table("workload", "what", "rows a side")
    for name, workload in known.items():
        table.add_row(name, workload.summary, f"{workload.rows:,}" if workload.sized else "")
    table.add_row("trace", "real traces of a folder, each beside the peers: --data DIR", "")
    console.print(table)


def chosen(names: list[str], known: "dict[str, Workload]", data: Path | None) -> "list[Workload]":
    """Return the workloads with these names; `trace` stands for all traces of the folder."""
    if "trace" in names and data is None:
        stop("`trace` runs on real traces; got no folder.\n\nHint: weft bench trace --data DIR")
    traces = [name for name in known if name.startswith("trace-")]
    if "trace" in names and not traces:
        stop(f"No trace in {data}.\n\nHint: CSV files with the columns key, value, eventTime, arrivalTime")
    wanted = [each for name in names for each in (traces if name == "trace" else [name])]
    if unknown := [name for name in wanted if name not in known]:
        near = get_close_matches(unknown[0], known, n=1, cutoff=0.5)
        hint = f"weft bench {near[0]}" if near else "weft bench --list"
        stop(f"No workload is called {unknown[0]!r}; there are: {', '.join(known)}.\n\nHint: {hint}")
    return [known[name] for name in dict.fromkeys(wanted)]


def show(entries: "list[Entry]") -> None:
    """Print every figure beside what it should reach."""
    from bench.report import lines, origin

    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    table = Table("", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), caption="ratio: weft over the peer")
    for heading in ("median (min..max)", "ratio (min..max)", "at least", "goal", "peak memory"):
        table.add_column(heading, justify="right")
    for entry in entries:
        table.add_row(Text(entry["workload"], "bold"))
        for line in lines(entry):
            judged = (Text(text, STYLES.get(text.split(" ")[-1], "")) for text in (line.at_least, line.goal))
            table.add_row(f"  {line.what}", Text(line.value), line.ratio, *judged, line.memory)
    console.print(table)
    console.print(origin({entry["workload"]: entry for entry in entries}).strip(), soft_wrap=True)


def measure(workloads: "list[Workload]", options: "Options", out: Path | None, root: Path) -> "list[Entry]":
    """Run the workloads one after the other; each result is on disk before the next one starts."""
    from bench.runner import BenchError, run
    from bench.store import save
    from bench.workloads import WORKLOADS

    entries = []
    status = Console(stderr=True)
    for workload in workloads:
        stamp = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}"
        path = out or root / "bench" / "results" / f"{workload.name}-{stamp}.json"
        try:
            with status.status(workload.name) as spinner:
                entries.append(run(workload, options, spinner.update))
        except BenchError as error:
            stop(str(error))
        save(path, entries[-1:], list(WORKLOADS))
        status.print(f"{workload.name}: written to {path}", highlight=False, soft_wrap=True)
    return entries


def bench(
    workload: Annotated[list[str] | None, typer.Argument(help="Names as `--list` prints them.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Run every workload but `trace`.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions of each contender.")] = 5,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Rows a side, instead of the workload's own.")
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
    """Run workloads beside their peers: rows/s, ratios, memory; one core and one thread each."""
    root = find_bench()
    from bench.runner import Options
    from bench.workloads import WORKLOADS, available

    known = available(data)
    names = list(WORKLOADS) if every else workload or []
    if listing or not names:
        show_list(Console(), known)
        return
    workloads = chosen(names, known, data)
    show(measure(workloads, Options(repeat, rows, data, quick), out, root))

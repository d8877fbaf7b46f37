"""What the terminal shows of a run: a panel that changes, or a line a batch where there is no terminal."""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from weft.demo.run import Run

BLOCKS = "▁▂▃▄▅▆▇█"
WIDEST = 88  # columns of the panel
PATIENCE = "Spark plans and starts its Python workers: some ten seconds"
BATCHES = 30  # of the little curve


def is_plain(console: Console) -> bool:
    """Tell whether the output is no terminal, or one whose lines are not to be changed."""
    return not console.is_terminal or bool(os.environ.get("CI")) or os.environ.get("TERM") == "dumb"


@contextmanager
def watched(run: Run, console: Console) -> Iterator[Callable[[], None]]:
    """Give the function that shows how far a run has come."""
    if is_plain(console):
        console.print(f"Writing files into {run.folder}. {PATIENCE}", highlight=False, soft_wrap=True)
        yield lines(run, console)
        return
    # What goes to stderr goes to a file meanwhile: it is not to be brought back here.
    with Live(panel(run), console=console, auto_refresh=False, redirect_stderr=False) as live:
        yield lambda: live.update(panel(run), refresh=True)


@contextmanager
def waiting(console: Console, what: str) -> Iterator[None]:
    """Say what takes a few seconds while it does."""
    if is_plain(console):
        console.print(what, highlight=False)
        yield
    else:
        spinner = Spinner("dots", what)
        with Live(spinner, console=console, transient=True, redirect_stderr=False):
            yield


def lines(run: Run, console: Console) -> Callable[[], None]:
    """Return the function that prints a line for each batch that has ended since its last call."""
    printed = 0

    def show() -> None:
        nonlocal printed
        for _ in run.readings[printed:]:
            printed += 1
            console.print(line(run.until(printed)), highlight=False, markup=False, soft_wrap=True)

    return show


def line(run: Run) -> str:
    """Return a batch on one line."""
    last = run.readings[-1]
    return (
        f"{last.ended - run.began:5.1f} s  rows in {run.total('rows'):,} ({run.rates('rows')[-1]:,.0f}/s)  "
        f"pairs out {run.total('pairs'):,} ({run.rates('pairs')[-1]:,.0f}/s)  late {run.total('late'):,}  "
        f"watermark {clock(last.watermark)}  state {held(run)}"
    )


def panel(run: Run) -> Panel:
    """Return all that is known by now."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    for justify in ("right", "left", "left"):
        grid.add_column(justify=justify)
    for row in rows(run):
        grid.add_row(*row)
    files, of = len(run.arrivals) // 2, run.traffic.files
    foot = Table.grid(padding=(0, 2))
    foot.add_row(
        ProgressBar(total=of, completed=files, width=WIDEST // 2), f"{files} of {of} files a side written"
    )
    title = "weft demo: clicks within 30 seconds after an impression, same user"
    return Panel(Group(grid, Text(), foot), title=title, title_align="left", width=WIDEST, padding=(1, 2))


def rows(run: Run) -> Iterator[tuple[str, str, str, Text]]:
    """Yield what the panel says: a name, a figure, what belongs to it, a curve."""
    impressions, clicks = run.written("impressions"), run.written("clicks")
    yield "written", f"{impressions + clicks:,}", f"{impressions:,} impressions, {clicks:,} clicks", Text()
    if not run.readings:
        yield "rows in", "0", PATIENCE, Text()
        return
    last = run.readings[-1]
    for name, what, style in (("rows in", "rows", "cyan"), ("pairs out", "pairs", "green")):
        rates = run.rates(what)
        yield name, f"{run.total(what):,}", f"{rates[-1]:,.0f} a second", curve(rates, style)
    yield "late rows", f"{run.total('late'):,}", "dropped and counted", Text()
    gap = (run.newest or 0) - (last.watermark or 0)
    yield (
        "watermark",
        clock(last.watermark),
        f"{gap:.0f} s behind the newest event" if last.watermark else "",
        Text(),
    )
    each = curve([sum(reading.state_rows.values()) for reading in run.readings], "magenta")
    yield "state", f"{sum(last.state_rows.values()):,}", f"rows, {size(last.state_bytes)}", each
    yield "batches", f"{len(run.readings)}", f"the last took {last.seconds:.1f} s", Text()


def curve(values: Sequence[float], style: str) -> Text:
    """Return the last values as little blocks."""
    last = list(values[-BATCHES:])
    top = max(*last, 1)
    return Text("".join(BLOCKS[round(value / top * (len(BLOCKS) - 1))] for value in last), style=style)


def clock(seconds: float | None) -> str:
    """Return a time of the events."""
    return "none yet" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}"


def size(count: int) -> str:
    """Return bytes as people say them."""
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.0f} KiB"


def held(run: Run) -> str:
    """Return the state of the last batch."""
    last = run.readings[-1]
    return f"{sum(last.state_rows.values()):,} rows in {size(last.state_bytes)}"

"""The picture of a run: arrivals and pairs, the watermark behind the newest event, the state held."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from weft.demo.run import SIDES
from weft.demo.traffic import DISORDER, HOT, HOT_SHARE

if TYPE_CHECKING:
    from pathlib import Path

    from weft.demo.run import Run

# Okabe and Ito's colours, which everyone can tell apart.
COLOURS = {"impressions": "#0072B2", "clicks": "#D55E00", "pairs": "#009E73", "watermark": "#CC79A7"}
DARK, GREY, PALE = "#222222", "#6B6B6B", "#E8E8E8"
MINUTE, FEW, MANY = 60, 3, 10  # a mark a minute, where there are not few nor many
SIZE, DPI = (11, 10), 150
LOOK: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True}


def draw(run: Run, path: Path) -> None:
    """Write the picture as a PNG."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(LOOK):
        figure = Figure(figsize=SIZE, dpi=DPI)
        FigureCanvasAgg(figure)
        panels = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1.15, 0.85))
        figure.subplots_adjust(left=0.095, right=0.975, top=0.835, bottom=0.06, hspace=0.3)
        for axes, paint in zip(panels, (_flow, _time, _state), strict=True):
            axes.set_xlim(0, run.ended - run.began)
            axes.grid(axis="y", color=PALE, linewidth=0.8)
            _batches(axes, run)
            paint(axes, run)
        panels[-1].set_xlabel("seconds since the start of the run")
        _title(figure, run)
        figure.savefig(path)


def _title(figure: Any, run: Run) -> None:
    impressions, clicks = (run.written(side) for side in SIDES)
    title = f"{impressions:,} impressions joined live with {clicks:,} clicks: {run.total('pairs'):,} pairs"
    told = (
        "A pair is a click within 30 seconds after an impression of the same user. "
        f"{run.traffic.span:.0f} seconds of traffic pass in {run.traffic.seconds:g}.\n"
        f"Rows arrive up to {DISORDER:.0f} seconds out of order; {run.total('late'):,} came even later, "
        "below the watermark, and were dropped and counted.\n"
        f"{HOT_SHARE:.0%} of the impressions are of one hot campaign, “{HOT}”. "
        f"Spark took all in {len(run.readings)} micro-batches. Seed {run.traffic.seed}."
    )
    figure.text(0.02, 0.98, title, fontsize=15, fontweight="bold", color=DARK, va="top")
    figure.text(0.02, 0.945, told, fontsize=10, color=GREY, va="top", linespacing=1.45)


def _heading(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=11, fontweight="bold", color=DARK)


def _legend(axes: Any) -> None:
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.99), ncols=4, frameon=False, borderaxespad=0.2)


def _batches(axes: Any, run: Run) -> None:
    """Mark where batches ended; the first one also starts the Python processes and is the longest."""
    ends = run.ends
    for end in ends[1:]:
        axes.axvline(end, color=PALE, linewidth=0.8, zorder=0)
    axes.axvspan(0, ends[1], color="#F6F6F6", zorder=0)


def _flow(axes: Any, run: Run) -> None:
    """Draw rows a second: written, and out of each batch."""
    _heading(axes, "Arrivals and pairs")
    for side in SIDES:
        files = [each for each in run.arrivals if each.side == side]
        edges = [each.at - run.began for each in files]
        edges.append(edges[-1] + run.traffic.pause)
        thousands = 1000 * run.traffic.pause
        rates = [each.rows / thousands for each in files]
        axes.stairs(rates, edges, color=COLOURS[side], linewidth=2, label=f"{side} written", zorder=3)
        if side == SIDES[0]:
            hot = [each.hot / thousands for each in files]
            axes.stairs(hot, edges, color=COLOURS[side], linestyle=":", label="of the hot campaign", zorder=3)
    ends = run.ends
    spans = [end - start for start, end in pairwise(ends)]
    rates = [rate / 1000 for rate in run.rates("pairs")]
    look = {
        "color": COLOURS["pairs"],
        "alpha": 0.35,
        "edgecolor": "white",
        "label": "pairs out, batch by batch",
    }
    axes.bar(ends[:-1], rates, spans, align="edge", **look)
    axes.set_ylabel("thousand rows a second")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.2)
    if ends[1] > ends[-1] / 6:
        words = "first batch: Spark plans and starts its Python workers"
        axes.text(
            ends[1] / 2, axes.get_ylim()[1] * 0.96, words, color=GREY, fontsize=9, ha="center", va="top"
        )
    _legend(axes)


def _time(axes: Any, run: Run) -> None:
    """Draw how far the rows' own time has come: the newest event written, and the watermark behind it."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    _heading(axes, "The events' own time")
    end = run.ended - run.began
    told = [(each.at - run.began, each.newest) for each in run.arrivals if each.newest is not None]
    newest = list(accumulate((time for _, time in told), max))
    look = {"where": "post", "linewidth": 2, "zorder": 3}
    axes.step(
        [*(at for at, _ in told), end],
        [*newest, newest[-1]],
        color=DARK,
        label="newest event written",
        **look,
    )
    marks = [(each.ended - run.began, each.watermark) for each in run.readings if each.watermark is not None]
    if marks:
        times = [time for _, time in marks]
        look |= {"color": COLOURS["watermark"], "label": "watermark: what is older comes too late"}
        axes.step([*(at for at, _ in marks), end], [*times, times[-1]], **look)
        words = "between them: the lateness of 10 s, and what arrives while a batch runs"
        axes.text(0.012, 0.9, words, transform=axes.transAxes, color=GREY, fontsize=9)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"))
    minutes = (newest[-1] - newest[0]) / MINUTE
    axes.yaxis.set_major_locator(MultipleLocator(MINUTE) if FEW < minutes < MANY else MaxNLocator(6))
    axes.set_ylabel("time of day (UTC)")
    _legend(axes)


def _state(axes: Any, run: Run) -> None:
    """Draw the rows that the join holds after each batch."""
    _heading(axes, "State held: the rows that can still find a partner")
    ends = [*run.ends, run.ended - run.began]
    floor = [0.0] * len(ends)
    for side in SIDES:
        held = [0, *(reading.state_rows[side] / 1000 for reading in run.readings)]
        top = [below + rows for below, rows in zip(floor, [*held, held[-1]], strict=True)]
        axes.fill_between(
            ends, floor, top, step="post", color=COLOURS[side], alpha=0.55, linewidth=0, label=side
        )
        floor = top
    most = max(run.readings, key=lambda reading: sum(reading.state_rows.values()))
    rows = sum(most.state_rows.values())
    words = f"at most {rows:,} of {run.total('rows'):,} rows at once: {most.state_bytes / 2**20:.1f} MiB"
    axes.set_ylim(0, max(floor) * 1.3)
    axes.annotate(words, (0.985, 0.9), xycoords="axes fraction", ha="right", va="top", color=GREY, fontsize=9)
    axes.set_ylabel("thousand rows")
    _legend(axes)

"""From result files to text: the lines of a table, the Markdown of README and docs.

`python -m bench.report` writes every block between `<!-- generated: NAME -->` and its end marker anew, from
`bench/results/latest.json`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bench.store import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bench.model import Unit
    from bench.store import Entry, Judged, Measured, Spread

ROOT = Path(__file__).resolve().parent.parent
LATEST = ROOT / "bench" / "results" / "latest.json"
PAGES = ("README.md", "docs/performance.md")
BLOCK = re.compile(
    r"(?P<start><!-- generated: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<end><!-- end(?: generated)? -->)",
    re.DOTALL,
)
UNIT_OF_THROUGHPUT: Literal["rows/s"] = "rows/s"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table, as text."""

    workload: str
    what: str
    value: str
    ratio: str = ""
    at_least: str = ""
    goal: str = ""
    memory: str = ""
    batch: str = ""  # how long a micro-batch takes


def amount(value: float, unit: Unit) -> str:
    """Return a figure with its unit, three significant digits."""
    if unit == UNIT_OF_THROUGHPUT:
        size, letter = (1e6, " M") if value >= 1e6 else (1e3, " k") if value >= 1e3 else (1, "")
        return f"{digits(value / size)}{letter}"
    return digits(value) if unit == "ratio" else f"{digits(value)} {unit}"


def digits(value: float) -> str:
    """Return three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def spread_text(value: Spread, unit: Unit, mark: str = "") -> str:
    """Return `median (min..max)`; the median alone where there was one repetition."""
    texts = [amount(value[which], unit) for which in ("median", "min", "max")]
    bare = [text.split()[0] for text in texts]
    if len(value["values"]) == 1:
        return f"{texts[0]}{mark}"
    one_unit = len({text.partition(" ")[2] for text in texts}) == 1
    low, high = (bare if one_unit else texts)[1:]
    return f"{texts[0]}{mark} ({low}..{high})"


def target(line: Judged, which: Literal["at_least", "goal"]) -> str:
    """Return what should be reached, as text."""
    if (value := line[which]) is None:
        return ""
    return (
        f"{value:g}x"
        if line["over"]
        else f"{value:g}"
        if line["unit"] == "ratio"
        else f"{value:g} {line['unit']}"
    )


def verdict(line: Judged, which: Literal["at_least", "goal"]) -> str:
    """Return what should be reached and whether the median does."""
    if (value := line[which]) is None:
        return ""
    sign = 1 if line["better"] == "higher" else -1
    reached = sign * line["value"]["median"] >= sign * value
    return f"{target(line, which)} {'met' if reached else 'missed'}"


def memory(contender: Measured) -> str:
    """Return the most memory a contender held; nothing where its process is not its own."""
    held = contender["memory_mib"]
    return "" if held is None else amount(held, "MiB")


def batch(contender: Measured, figure: str) -> str:
    """Return how long a micro-batch of a contender takes, beside its throughput."""
    took = contender["figures"].get("batch")
    return spread_text(took, "s") if took is not None and figure == UNIT_OF_THROUGHPUT else ""


def titled(name: str, figure: str) -> str:
    """Return what a line is about; a name alone stands for throughput."""
    return name if figure == UNIT_OF_THROUGHPUT else f"{name}: {figure}"


def own_lines(entry: Entry) -> Iterator[Line]:
    """Return the lines of the first contender: one a figure, under its name where a peer stands beside it."""
    name, own = next(iter(entry["contenders"].items()))
    lone = len(entry["judged"]) == 1
    for judged in entry["judged"]:
        figure = judged["figure"]
        yield Line(
            workload=entry["workload"],
            what=titled(name, figure) if judged["over"] else figure,
            value=spread_text(own["figures"][figure], judged["unit"]),
            ratio=spread_text(judged["value"], "ratio", "x") if judged["over"] else "",
            at_least=verdict(judged, "at_least"),
            goal=verdict(judged, "goal"),
            memory=memory(own) if lone and judged["over"] else "",
            batch=batch(own, figure),
        )


def peer_lines(entry: Entry, name: str) -> Iterator[Line]:
    """Return the lines of a peer: one for each of weft's figures that it has too."""
    peer = entry["contenders"][name]
    for judged in entry["judged"]:
        figure = judged["figure"]
        if figure in peer["figures"]:
            yield Line(
                workload=entry["workload"],
                what=titled(name, figure),
                value=spread_text(peer["figures"][figure], judged["unit"]),
                ratio=spread_text(peer["ratios"][figure], "ratio", "x"),
                memory=memory(peer),
                batch=batch(peer, figure),
            )


def lines(entry: Entry) -> Iterator[Line]:
    """Return a workload's lines: the first contender's figures, then every peer with weft's ratio to it."""
    yield from own_lines(entry)
    for name in list(entry["contenders"])[1:]:
        yield from peer_lines(entry, name)
    for name, reason in entry["missing"].items():
        yield Line(entry["workload"], name, f"not measured: {reason}")


def markdown(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; every column but the first is aligned to the right."""
    names = list(head)
    rule = ["---", *["---:"] * (len(names) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [names, rule, *map(list, rows)])


def short_rows(entry: Entry) -> Iterator[list[str]]:
    """Return the rows of a workload in README: weft beside each peer; of a curve what has a goal."""
    judged = [line for line in entry["judged"] if line["over"] or line["at_least"] or line["goal"]]
    for line in judged:
        figure = next(iter(entry["contenders"].values()))["figures"][line["figure"]]
        peers = ", ".join(
            f"{name} {amount(entry['contenders'][name]['figures'][line['figure']]['median'], line['unit'])}"
            for name in line["over"] or list(entry["contenders"])[1:]
            if line["figure"] in entry["contenders"][name]["figures"]
        )
        ratio = f"{digits(line['value']['median'])}x" if line["over"] else ""
        what = entry["summary"] if len(judged) == 1 else f"{entry['summary']}: {line['figure']}"
        value = amount(figure["median"], line["unit"])
        yield [what, value, peers, ratio, target(line, "at_least"), target(line, "goal")]


def origin(entries: dict[str, Entry]) -> str:
    """Return where the figures come from: one line a machine."""
    found: dict[str, None] = {}
    for entry in entries.values():
        at, has = entry["machine"], entry["versions"]
        libraries = ", ".join(f"{name} {has[name]}" for name in names_of(entry) if name in has)
        pinned = "one core and one thread each" if at["pinned"] else "not pinned"
        pinned = "local[2]" if on_spark(entry) else pinned
        found[f"{at['cpu']}, {at['cores']} cores, {at['memory_gib']:g} GiB; {pinned}; {libraries}"] = None
    return "".join(f"Measured on {text}.\n" for text in found)


def on_spark(entry: Entry) -> bool:
    """Tell whether a workload was run on Spark."""
    return "spark" in entry["versions"]


def names_of(entry: Entry) -> tuple[str, ...]:
    """Return the libraries that are worth a word."""
    if on_spark(entry):
        return "spark", "java", "numba", "pyarrow", "pandas"
    return "numba", "pyarrow", "polars", "duckdb"


def parted(entries: dict[str, Entry], *, spark: bool) -> dict[str, Entry]:
    """Return the workloads that run on Spark, or those that do not."""
    return {name: entry for name, entry in entries.items() if on_spark(entry) == spark}


def short_table(entries: dict[str, Entry]) -> str:
    """Return README's table: the workloads of one process."""
    head = ("workload", "weft", "peers (rows/s)", "ratio", "at least", "goal")
    return with_origin(head, parted(entries, spark=False), short_rows)


def short_spark_table(entries: dict[str, Entry]) -> str:
    """Return the same table for the workloads on Spark."""
    head = ("workload", "weft", "Spark's own join", "ratio", "at least", "goal")
    return with_origin(head, parted(entries, spark=True), short_rows)


def with_origin(
    head: Iterable[str], entries: dict[str, Entry], rows: Callable[[Entry], Iterable[list[str]]]
) -> str:
    """Return a table of some rows a workload, and where the figures come from."""
    if not entries:
        return "Not measured yet.\n"
    table = markdown(head, (row for entry in entries.values() for row in rows(entry)))
    return table + "\n" + origin(entries)


def spark_table(entries: dict[str, Entry]) -> str:
    """Return every line of every workload on Spark."""
    head = (
        "workload",
        "contender or figure",
        "median (min..max)",
        "a micro-batch",
        "ratio (min..max)",
        "at least",
        "goal",
    )

    def rows(entry: Entry) -> Iterator[list[str]]:
        for line in lines(entry):
            yield [line.workload, line.what, line.value, line.batch, line.ratio, line.at_least, line.goal]

    return with_origin(head, parted(entries, spark=True), rows)


def full_table(entries: dict[str, Entry]) -> str:
    """Return every line of the workloads of one process, the curve of batch sizes left to its own table."""
    head = (
        "workload",
        "contender or figure",
        "median (min..max)",
        "ratio (min..max)",
        "at least",
        "goal",
        "memory",
    )

    def rows(entry: Entry) -> Iterator[list[str]]:
        for line in lines(entry) if entry["workload"] != "batch-sizes" else ():
            yield [line.workload, line.what, line.value, line.ratio, line.at_least, line.goal, line.memory]

    return with_origin(head, parted(entries, spark=False), rows)


def curve(entries: dict[str, Entry]) -> str:
    """Return the curve of batch sizes: one row a size."""
    if "batch-sizes" not in entries:
        return "Not measured yet.\n"
    found = list(own_lines(entries["batch-sizes"]))
    by_size = [found[start : start + 3] for start in range(0, len(found), 3)]
    rows = ([three[0].what, *(line.value for line in three)] for three in by_size)
    return markdown(("push", "rows/s", "p50 of a push", "p99 of a push"), rows)


def commits(entries: dict[str, Entry]) -> str:
    """Return which commit, seed and day each workload was measured with."""
    head = ("workload", "rows", "pairs", "repetitions", "seed", "commit", "date")
    return markdown(
        head,
        (
            [
                entry["workload"],
                f"{entry['rows']:,}" if entry["rows"] else "",
                f"{entry['pairs']:,}" if entry["pairs"] is not None else "",
                str(entry["repetitions"]),
                str(entry["seed"]),
                entry["commit"],
                entry["date"][:10],
            ]
            for entry in entries.values()
        ),
    )


# The generated blocks by name.
BLOCKS: dict[str, Callable[[dict[str, Entry]], str]] = {
    "latest": short_table,
    "performance": full_table,
    "batch-sizes": curve,
    "origin": commits,
    "spark": spark_table,
    "on-spark": short_spark_table,
}


def readme_table(path: Path) -> str:
    """Return README's table for a result file."""
    return short_table(load(path))


def rendered(text: str, entries: dict[str, Entry]) -> str:
    """Return a page with every generated block written anew; a block of another name is an error."""

    def renew(block: re.Match[str]) -> str:
        if block["name"] not in BLOCKS:
            message = f"no generated block is called {block['name']!r}; there are: {', '.join(BLOCKS)}"
            raise ValueError(message)
        return f"{block['start']}{BLOCKS[block['name']](entries).strip()}\n{block['end']}"

    return BLOCK.sub(renew, text)


def stale(root: Path = ROOT) -> list[str]:
    """Return the pages whose blocks are not what the result file gives."""
    entries = load(root / LATEST.relative_to(ROOT))
    pages = [root / page for page in PAGES if (root / page).exists()]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    return [str(page.relative_to(root)) for page, text in texts.items() if rendered(text, entries) != text]


def write(root: Path = ROOT) -> None:
    """Write every generated block of every page anew."""
    entries = load(root / LATEST.relative_to(ROOT))
    for name in stale(root):
        page = root / name
        page.write_text(rendered(page.read_text(encoding="utf-8"), entries), encoding="utf-8")


if __name__ == "__main__":
    write()

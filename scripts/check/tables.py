"""Generated tables: what stands between the markers of a page is what its result file gives today.

<!-- generated: NAME -->
the table of bench/results/NAME.json; for the blocks that bench.report knows by name, of latest.json
<!-- end generated -->
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.check.files import pages, place

RESULTS = Path("bench/results")
OPENING = re.compile(r"<!-- generated: (?P<name>[\w-]+) -->\n")
BLOCK = re.compile(OPENING.pattern + r"(?P<table>.*?)<!-- end generated -->", re.DOTALL)
Table = Callable[[Path], str]


def result_file(results: Path, name: str) -> Path:
    """The file that a block is made from: several blocks show the latest results."""
    from bench.report import BLOCKS

    return results / f"{'latest' if name in BLOCKS else name}.json"


def rendered(text: str, results: Path, table: Table) -> str:
    """The page with every generated block written anew."""

    def renew(block: re.Match[str]) -> str:
        fresh = table(results / f"{block['name']}.json").strip("\n")
        return f"<!-- generated: {block['name']} -->\n{fresh}\n<!-- end generated -->"

    return BLOCK.sub(renew, text)


def stale(root: Path, table: Table) -> Iterator[str]:
    """Every block that differs from its result file, has none, or is not closed."""
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        if len(OPENING.findall(text)) != len(BLOCK.findall(text)):
            yield f"{place(root, page, 1)}: a generated block is not closed by <!-- end generated -->"
        for block in BLOCK.finditer(text):
            where = place(root, page, text.count("\n", 0, block.start()) + 1)
            file = result_file(RESULTS, block["name"])
            if not (root / file).exists():
                yield f"{where}: {file} is not there"
            elif rendered(block[0], root / RESULTS, table) != block[0]:
                yield f"{where}: the table {block['name']} is not what its result file gives; make tables"
    readme = root / "README.md"
    if readme.exists() and not OPENING.search(readme.read_text(encoding="utf-8")):
        yield "README.md: no generated table; its figures come from a result file"


def block_table(path: Path) -> str:
    """The table of the block that this path is named after, as the benchmark's own report writes it."""
    from bench.report import BLOCKS, short_table
    from bench.store import load

    return BLOCKS.get(path.stem, short_table)(load(result_file(path.parent, path.stem)))


def violations(root: Path) -> Iterator[str]:
    """Every generated table that is not up to date."""
    yield from stale(root, block_table)


def write(root: Path) -> None:
    """Write every generated block of every page anew."""
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        if (fresh := rendered(text, root / RESULTS, block_table)) != text:
            page.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write(Path.cwd())
    sys.exit("\n".join(violations(Path.cwd())) or 0)

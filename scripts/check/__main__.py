"""Run the rules named on the command line, or all of them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.check import bounds, docs, doctests, imports, lazy, links, names, sizes, statements, tables

RULES: dict[str, Callable[[Path], Iterator[str]]] = {
    "imports": imports.violations,
    "lazy": lazy.violations,
    "names": names.violations,
    "sizes": sizes.violations,
    "statements": statements.violations,
    "bounds": bounds.violations,
    "links": links.violations,
    "tables": tables.violations,
    "docs": docs.violations,
    "doctests": doctests.violations,
}


def main(wanted: list[str], root: Path) -> int:
    """Print every violation of the wanted rules; 1 if there is any, 2 if a rule is unknown."""
    if unknown := [name for name in wanted if name not in RULES]:
        print(f"no rule {', '.join(unknown)}; there are: {', '.join(RULES)}")
        return 2
    broken = 0
    for name in wanted or RULES:
        found = list(RULES[name](root))
        broken += bool(found)
        print(f"{name}: {f'{len(found)} violations' if found else 'kept'}")
        for line in found:
            print(f"  {line}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))

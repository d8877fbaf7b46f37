"""Executed docstrings: every `>>>` example of the package gives what it says."""

import doctest
import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from scripts.check.files import PACKAGE, python_files


def faults(module: ModuleType) -> Iterator[str]:
    """What doctest reports about the examples of one module."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for example in doctest.DocTestFinder().find(module):
        report = io.StringIO()
        if runner.run(example, out=report.write).failed:
            yield f"{example.name}: {report.getvalue().strip()}"


def violations(root: Path) -> Iterator[str]:
    """Every example of the package that gives something else."""
    for path in python_files(root, str(PACKAGE)):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(root / PACKAGE.parent).with_suffix("").parts
            yield from faults(importlib.import_module(".".join(parts).removesuffix(".__init__")))


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

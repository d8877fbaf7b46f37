"""Statements: no `assert` in the package (a user's mistake gets an exception), no `print` outside its cli."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.check.files import PACKAGE, place, python_files, tree


def fault(node: ast.AST, *, may_print: bool) -> str | None:
    """What is wrong with this statement, if anything is."""
    if isinstance(node, ast.Assert):
        return "assert vanishes under -O; raise an error of weft.errors"
    printing = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    return "print belongs in cli/" if printing and not may_print else None


def violations(root: Path) -> Iterator[str]:
    """Every statement that has no place in the package."""
    for path in python_files(root, str(PACKAGE)):
        may_print = path.is_relative_to(root / PACKAGE / "cli")
        for node in ast.walk(tree(path)):
            if problem := fault(node, may_print=may_print):
                yield f"{place(root, path, getattr(node, 'lineno', 1))}: {problem}"


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

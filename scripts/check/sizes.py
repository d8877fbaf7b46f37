"""Sizes: files of at most 400 lines, bodies of at most 40 (kernels 60), at most 6 parameters."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.check.files import PACKAGE, place, python_files, tree

FILE_LINES = 400
BODY_LINES = 40
KERNEL_LINES = 60
PARAMETERS = 6

# One call says the whole join: the public interface may take as many parameters as it needs.
WIDE = {"src/weft/api.py", "src/weft/stream.py", "src/weft/spec.py"}
# Exceptions, each with its limit and its reason: {"file:function": {"lines": 50, "parameters": 8}}.
ALLOWED: dict[str, dict[str, int]] = {}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(node: ast.AST, above: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below this node with its dotted name."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, Function | ast.ClassDef)
        name = f"{above}{child.name}" if isinstance(child, Function | ast.ClassDef) else above
        if isinstance(child, Function):
            yield name, child
        yield from functions(child, f"{name}." if named else above)


def body_lines(function: Function) -> int:
    """Lines from the first statement behind the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def parameters(function: Function) -> int:
    """How many parameters a caller sees; `self` and `cls` are none."""
    taken = function.args
    every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, *filter(None, [taken.vararg, taken.kwarg])]
    return len(every) - (every[:1] != [] and every[0].arg in {"self", "cls"})


def function_faults(name: str, file: str, function: Function) -> Iterator[str]:
    """What is too large about one function."""
    allowed = ALLOWED.get(f"{file}:{name}", {})
    limit = allowed.get("lines", KERNEL_LINES if file.startswith("src/weft/kernels/") else BODY_LINES)
    if (lines := body_lines(function)) > limit:
        yield f"{name} has {lines} lines; at most {limit}"
    exempt = file in WIDE or not file.startswith(str(PACKAGE)) or file.startswith("src/weft/cli/")
    limit = allowed.get("parameters", PARAMETERS)
    if (count := parameters(function)) > limit and not exempt:
        yield f"{name} has {count} parameters; at most {limit}"


def violations(root: Path) -> Iterator[str]:
    """Every file and function that is too large."""
    seen = set()
    for path in python_files(root, "src", "bench", "scripts", "tests"):
        file = path.relative_to(root).as_posix()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > FILE_LINES:
            yield f"{place(root, path, 1)}: {lines} lines; at most {FILE_LINES}"
        for name, function in functions(tree(path)):
            seen.add(f"{file}:{name}")
            for problem in function_faults(name, file, function):
                yield f"{place(root, path, function.lineno)}: {problem}"
    yield from (f"ALLOWED names {gone}, which is not there any more" for gone in ALLOWED.keys() - seen)


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

"""Import direction: an arrow between the rooms of `src/weft` may only point left, libraries stay in theirs.

Every import counts, also one inside a function or under TYPE_CHECKING: an arrow is an arrow.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.check.files import PACKAGE, place, python_files, tree

BASE = {"errors", "types"}
SPEC = BASE | {"metrics", "spans", "spec"}
COLUMNS = SPEC | {"kernels", "columns"}
INDEXES = COLUMNS | {"indexes"}
EDGE = INDEXES | {"edge"}
OPERATORS = EDGE | {"progress", "state", "operators"}
RUNTIMES = OPERATORS | {"plan", "runtimes"}
TOP = RUNTIMES | {"stream", "spark", "api"}

# What a room may import; itself always. A new room needs a line here.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": {"types"},
    "types": set(),
    "metrics": BASE,
    "spans": BASE,
    "spec": BASE | {"spans"},
    "kernels": BASE,
    "columns": SPEC | {"kernels"},
    "indexes": COLUMNS,
    "edge": INDEXES,
    # Late rows and snapshots are rows of Arrow: these rooms look into edge, which knows neither.
    "progress": EDGE,
    # The manifest of a shard holds its watermark.
    "state": EDGE | {"progress"},
    "operators": OPERATORS,
    "plan": OPERATORS,
    "runtimes": RUNTIMES,
    "stream": RUNTIMES,
    "spark": RUNTIMES,
    "api": TOP,
    "demo": BASE | {"spark", "__init__"},
    "cli": TOP | {"demo", "__init__"},
    "__init__": TOP,
}

WEB = {"aiohttp", "fastapi", "flask", "starlette", "textual", "uvicorn", "websockets"}
# Libraries that may only be imported in these rooms.
ONLY_IN: dict[str, set[str]] = {
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "pyspark": {"spark"},
    "typer": {"cli"},
    "rich": {"cli"},
    **{library: {"cli", "dashboard"} for library in WEB},
}
# Kernels know arrays only.
KERNEL_LIBRARIES = {"weft", "numba", "llvmlite", "numpy"} | set(sys.stdlib_module_names)


def modules(node: ast.AST, package: list[str]) -> Iterator[str]:
    """The modules an import statement names, dotted and absolute."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*above, *filter(None, [node.module])])
        # `from weft import edge` names the room in the alias.
        yield from (f"{origin}.{alias.name}" if origin == "weft" else origin for alias in node.names)


def room_of(package: Path, path: Path) -> str:
    """The folder or the module directly below `weft` that a file belongs to."""
    first = path.relative_to(package).parts[0]
    return first.removesuffix(".py")


def fault(room: str, module: str, known: set[str]) -> str | None:
    """What is wrong with this import in this room, if anything is."""
    library, _, rest = module.partition(".")
    target = rest.partition(".")[0] if rest else ""
    if library == "weft":
        # A name of the package itself (`from weft import interval_join`) is an arrow to its top.
        target = target if target in known else "__init__"
        return None if target in MAY_IMPORT[room] | {room} else f"{room} may not import {module}"
    if library in ONLY_IN and room not in ONLY_IN[library]:
        return f"{library} may only be imported in {', '.join(sorted(ONLY_IN[library]))}"
    if room == "kernels" and library not in KERNEL_LIBRARIES:
        return f"kernels know arrays only; {library} is not for them"
    return None


def violations(root: Path) -> Iterator[str]:
    """Every import that points right, or of a library outside its room."""
    package = root / PACKAGE
    known = {room_of(package, path) for path in python_files(root, str(PACKAGE))}
    for path in python_files(root, str(PACKAGE)):
        room = room_of(package, path)
        if room not in MAY_IMPORT:
            yield f"{place(root, path, 1)}: {room} is no known room; give it a line in {Path(__file__).name}"
            continue
        dotted = ["weft", *path.relative_to(package).parent.parts]
        for node in ast.walk(tree(path)):
            for module in dict.fromkeys(modules(node, dotted)):
                if problem := fault(room, module, known):
                    yield f"{place(root, path, getattr(node, 'lineno', 1))}: {problem}"


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

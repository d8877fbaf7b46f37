"""Public names: what `dir` shows is what `__all__` says, and every one of them is documented."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from scripts.check.files import PACKAGE

# Modules whose public names a user may rely on.
PUBLIC = ("weft", "weft.stream")
# What annotations leave behind in a module.
TYPING = {"annotations", "TYPE_CHECKING"}


def shown(module: ModuleType) -> set[str]:
    """The public names of a module: of the package all that `dir` shows, of others what they define."""
    package = hasattr(module, "__path__")
    return {
        name
        for name in dir(module)
        if not (name.startswith("_") or name in TYPING or isinstance(getattr(module, name), ModuleType))
        and (package or getattr(getattr(module, name), "__module__", "") == module.__name__)
    }


def undocumented(name: str, value: object) -> Iterator[str]:
    """The public callables of this value, itself first, that have no docstring of their own."""
    if not callable(value):
        return
    if not (value.__doc__ or "").strip():
        yield name
    members = vars(value) if isinstance(value, type) else {}
    for member, inner in members.items():
        method = isinstance(inner, property) or inspect.isroutine(inner)
        if method and not member.startswith("_") and not inspect.getdoc(inner):
            yield f"{name}.{member}"


def faults(module: ModuleType) -> Iterator[str]:
    """What is wrong with the public names of one module."""
    name = module.__name__
    if not hasattr(module, "__all__"):
        yield f"{name} has no __all__"
        return
    listed = list(module.__all__)
    yield from (
        f"{name}.__all__ lists {entry}, which is not there" for entry in listed if not hasattr(module, entry)
    )
    yield from (
        f"{name}.{extra} is public but not in __all__" for extra in sorted(shown(module) - set(listed))
    )
    for entry in listed:
        for missing in undocumented(f"{name}.{entry}", getattr(module, entry, None)):
            yield f"{missing} has no docstring"


def violations(root: Path) -> Iterator[str]:
    """Every fault in the public names of the package."""
    for name in PUBLIC:
        below = root / PACKAGE.parent / name.replace(".", "/")
        if below.is_dir() or below.with_suffix(".py").exists():
            yield from faults(importlib.import_module(name))


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

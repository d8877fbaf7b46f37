"""Versions: constraints are exact, and the oldest tested versions are pyproject's lower bounds."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

EXACT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9.+!]+)$")
BOUND = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)>=(?P<version>[0-9.]+)(,<[0-9.]+)?$")


def canonical(name: str) -> str:
    """A distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def release(version: str) -> list[int]:
    """The numbers of a version without closing zeros, so that 2.0 equals 2.0.0."""
    numbers = [int(part) for part in version.split(".") if part.isdigit()]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def pins(path: Path) -> tuple[dict[str, str], list[str]]:
    """The versions a constraints file fixes, and the lines that fix none."""
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]
    exact = [match for line in lines if (match := EXACT.match(line))]
    return {canonical(m["name"]): m["version"] for m in exact}, [
        line for line in lines if not EXACT.match(line)
    ]


def requirements(pyproject: Path) -> Iterator[str]:
    """Every requirement of the package, of its extras and of its build."""
    content = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    yield from content["build-system"]["requires"]
    yield from content["project"]["dependencies"]
    for extra in content["project"]["optional-dependencies"].values():
        yield from (entry for entry in extra if not entry.startswith("weft["))


def violations(root: Path) -> Iterator[str]:
    """Every requirement without a bound, bound that is not tested, line that is no exact version."""
    current, loose = pins(root / "constraints.txt")
    lowest, loose_lowest = pins(root / "constraints-lowest.txt")
    yield from (f"constraints.txt: not an exact version: {line}" for line in loose)
    yield from (f"constraints-lowest.txt: not an exact version: {line}" for line in loose_lowest)
    for requirement in dict.fromkeys(requirements(root / "pyproject.toml")):
        if not (bound := BOUND.match(requirement)):
            yield f"pyproject.toml: {requirement} is not `name>=version` (or `name>=version,<version`)"
            continue
        name = canonical(bound["name"])
        if name not in current:
            yield f"constraints.txt: {name} is missing"
        if release(lowest.get(name, "")) != release(bound["version"]):
            found = lowest.get(name, "no version")
            yield f"constraints-lowest.txt: {name} is {found}; pyproject's bound is {bound['version']}"


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

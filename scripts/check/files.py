"""Where the rules look: Python files, pages, and the blocks of a page."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path("src/weft")
FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page: the words behind its fence, its text, the line its text starts at."""

    info: tuple[str, ...]
    text: str
    line: int
    follows: bool  # nothing but empty lines between the block before and this one


def python_files(root: Path, *folders: str) -> Iterator[Path]:
    """Every Python file of these folders, in order."""
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))


def pages(root: Path) -> Iterator[Path]:
    """Every page a reader may open: those at the top and all in docs."""
    yield from sorted(root.glob("*.md"))
    yield from sorted((root / "docs").rglob("*.md"))


def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def place(root: Path, path: Path, line: int) -> str:
    """`file:line` as editors and terminals understand it."""
    return f"{path.relative_to(root)}:{line}"


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    info, ticks, start, follows = "", "", 0, False
    inside: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if inside is None:
            if fence:
                info, ticks, start, inside = fence["info"], fence["ticks"], number + 1, []
            elif line.strip():
                follows = False
        elif line.strip() == ticks:
            yield Block(tuple(info.split()), "\n".join(inside), start, follows)
            inside, follows = None, True
        else:
            inside.append(line)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a page that stand outside its fenced blocks."""
    ticks = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if ticks:
            ticks = "" if line.strip() == ticks else ticks
        elif fence:
            ticks = fence["ticks"]
        else:
            yield number, line

"""Executed docs: every ```python block of the README and the docs runs and prints what its page says.

The blocks of a page share one namespace, in order. A ```text block directly behind one is what it prints.
A block marked ```python no-run is for reading only. Pages share a process: the first that starts a Spark
session starts it for all.
"""

import contextlib
import io
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

from scripts.check.files import Block, blocks, pages, place


def outcome(block: Block, page: Path, names: dict[str, object]) -> tuple[str, str | None]:
    """What a block prints, and the last line of the error it ends with, if it does."""
    out = io.StringIO()
    # Line numbers in a traceback are then the page's own.
    source = "\n" * (block.line - 1) + block.text
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, str(page), "exec"), names)
        except Exception:
            return out.getvalue(), traceback.format_exc(limit=-1).strip()
    return out.getvalue(), None


def trimmed(text: str) -> list[str]:
    """The lines of a text without the spaces and empty lines at their ends."""
    return [line.rstrip() for line in text.strip("\n").rstrip().splitlines()]


def page_faults(page: Path, text: str) -> Iterator[tuple[int, str]]:
    """Run a page's blocks in order; the line and the reason of whatever goes wrong."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(text):
        shows_output = block.info == ("text",) and block.follows and printed is not None
        if shows_output and trimmed(printed or "") != trimmed(block.text):
            yield block.line, f"the page says otherwise; printed was:\n{printed}"
        printed = None
        if block.info[:1] == ("python",) and "no-run" not in block.info:
            printed, error = outcome(block, page, names)
            if error:
                yield block.line, error


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Keep from the terminal what Spark and its workers say: they write to file descriptor 2 themselves."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def violations(root: Path) -> Iterator[str]:
    """Every block that fails or prints something else than its page says."""
    here = Path.cwd()
    # Spark may write into the folder until this process ends.
    ignoring = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with ignoring as folder, warnings.catch_warnings(), hushed():
        warnings.simplefilter("error")
        # PySpark says so of pandas 3, with which weft is tested.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        os.chdir(folder)  # what an example writes stays out of the tree
        try:
            for page in pages(root):
                for line, problem in page_faults(page, page.read_text(encoding="utf-8")):
                    yield f"{place(root, page, line)}: {problem}"
        finally:
            os.chdir(here)


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

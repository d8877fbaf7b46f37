"""Links: a relative link of a page leads to a file that is there, and to a heading that is in it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.check.files import pages, place, prose

LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings can be linked to."""
    headings = (
        line.lstrip("#") for _, line in prose(page.read_text(encoding="utf-8")) if line.startswith("#")
    )
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def fault(page: Path, target: str) -> str | None:
    """What is wrong with a link of this page, if anything is."""
    if ELSEWHERE.match(target):
        return None
    file, _, anchor = target.partition("#")
    destination = page.parent / file if file else page
    if not destination.exists():
        return f"{target} leads nowhere"
    if anchor and destination.suffix == ".md" and anchor not in anchors(destination):
        return f"{target}: no such heading"
    return None


def violations(root: Path) -> Iterator[str]:
    """Every link that leads nowhere."""
    for page in pages(root):
        for number, line in prose(page.read_text(encoding="utf-8")):
            for link in LINK.finditer(line):
                if problem := fault(page, link["target"]):
                    yield f"{place(root, page, number)}: {problem}"


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

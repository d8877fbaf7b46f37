"""Windows and interners to make images of, and how to tell that two are the same."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.indexes.rows import LEAD_PLACE, Row, batch_of, met_by, met_in, probe_of
from weft.columns import Cells, Text
from weft.edge.interner import Interner
from weft.edge.keys import Codes
from weft.edge.payload import read
from weft.indexes.run import ALL, Batch, Run
from weft.indexes.runs import Runs
from weft.state.images import Images
from weft.types import SIDES, Side

Windows = dict[Side, Runs]
KEYS = 5
SMAPS = Path("/proc/self/smaps_rollup")


def nonce() -> str:
    return secrets.token_hex(16)


def empty() -> Windows:
    return {side: Runs(LEAD_PLACE) for side in SIDES}


def interner_of(keys: int) -> Interner:
    """Return an interner that gives the keys 0, 10, 20, ... their ids."""
    interner = Interner(words=True)
    interner.intern(Codes(10 * np.arange(keys), None, None))
    return interner


def add(window: Runs, rows: list[Row], count: int) -> None:
    """Let a window take so many more rows, a row a tick."""
    first = len(rows)
    more = [Row(at % KEYS, at - at * 7 % 20, at) for at in range(first, first + count)]
    window.prepare(count, 0, KEYS, ALL)
    window.insert(batch_of(more), KEYS, ALL)
    window.settle(window.purged(KEYS, ALL))
    rows += more


def filled(*counts: int) -> tuple[Windows, list[Row]]:
    """Return windows, the left one with rows in pushes of so many, the right one with ten."""
    windows, rows = empty(), list[Row]()
    for count in counts:
        add(windows["left"], rows, count)
    add(windows["right"], [], 10)
    return windows, rows


def met(window: Runs, rows: list[Row]) -> None:
    """Claim that a window holds these rows and gives them to a probe."""
    window.check()
    assert len(window) == len(rows)
    last = max(len(rows), 1)
    wanted = [(at % (KEYS + 1), at - 3, at + 3) for at in range(0, last, last // 60 + 1)]
    wanted += [(key, last - 40, last + 40) for key in range(KEYS)]
    batch, reach = probe_of(wanted)
    assert met_in(window.probe(batch, reach, "left"), rows) == met_by(wanted, rows)


def saved(images: Images, windows: Windows, interner: Interner | None = None) -> str:
    """Leave an image; return its nonce."""
    name = nonce()
    assert images.save(name, interner or interner_of(KEYS), windows)
    return name


def loaded(folder: Path | Images, name: str) -> tuple[Interner, Windows]:
    """Return what an image holds, which must be there."""
    images = folder if isinstance(folder, Images) else Images(folder)
    windows = empty()
    interner = images.load(name, windows, words=True)
    assert interner is not None
    return interner, windows


def missing(folder: Path, name: str) -> bool:
    """Tell whether there is no image; nothing may have changed then."""
    windows = empty()
    there = Images(folder).load(name, windows, words=True)
    assert there is not None or all(len(window) == 0 for window in windows.values())
    return there is None


def files(folder: Path, suffix: str = "") -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix == suffix}


def arrays_of(run: Run) -> Iterator[Any]:
    """Return the arrays of a run that kernels see."""
    yield from (run.keys, run.offsets, run.bits, run.ranks, run.lead)
    if run.order is not None:
        yield run.order
    for column in run.columns:
        if isinstance(column, Cells):
            yield column.values
        if isinstance(column, Text):
            yield from (column.offsets, column.data)
        if isinstance(column, Cells | Text) and column.valid is not None:
            yield column.valid


def plain_windows(rows: int, keys: int = 1000) -> tuple[Interner, Windows]:
    """Return windows of which one holds so many rows of four columns of eight bytes."""
    interner, windows, step = Interner(words=True), empty(), 100_000
    random = np.random.default_rng(0)
    for first in range(0, rows, step):
        times = np.arange(first, min(first + step, rows))
        key = random.integers(0, keys, times.size)
        values = [key, times, *random.integers(0, 2**50, (2, times.size))]
        columns = tuple(read(pa.array(value)) for value in values)
        batch = Batch(interner.intern(Codes(key, None, None)), times, columns)
        windows["left"].insert(batch, keys, ALL)
        windows["left"].settle(windows["left"].purged(keys, ALL))
    return interner, windows


def own_bytes() -> int:
    """Return the bytes of memory that only this process has and no file."""
    lines = SMAPS.read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


def checksum(windows: Mapping[Side, Runs]) -> int:
    """Return a number in which every word of every run of the left window counts."""
    arrays = (array for run in windows["left"].runs for array in arrays_of(run))
    return sum(int(array.view(np.uint8).sum()) for array in arrays)

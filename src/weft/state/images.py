"""The state of a shard as files, which every process of a machine maps into its memory: only a cache.

<nonce>       an image: the state at the commit that drew this nonce, and the names of the files it needs
<name>.run    a run of a window, written once for all images that have it
<name>.keys   keys in the order of their ids, from where the file before ends

An image appears at once, when all that it names is there. A folder belongs to one shard; it holds the last
image and the one before, to which a failed attempt goes back. Where anything is missing, there is no image:
whoever looks for it reads the log.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.edge.interner import Interner
from weft.edge.keys import Codes
from weft.state.laid import batch_in, keys_in, put_batch, put_keys, put_run, run_in
from weft.state.mapped import DamagedError, Sheet, read, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from weft.columns import Bytes
    from weft.indexes.run import Run
    from weft.indexes.runs import Runs
    from weft.types import Side

NONCE = re.compile("[0-9a-f]{32}")
TAIL = 8192  # keys that an image holds itself; one more, and they become a file
LINE = 32  # earlier images that one remembers
DEBRIS = 600  # seconds after which a file that no image names is left over from a crash


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of an image.

    files   the files that hold the first of them, and how many each holds: less than half of the one before
    line    images whose keys are the first of these, and how many each has; the last is the image itself
    """

    interner: Interner
    files: tuple[tuple[str, int], ...] = ()
    line: tuple[tuple[str, int], ...] = ()

    @property
    def whole(self) -> bool:
        """Tell whether the interner still has the keys of the image and no others."""
        return bool(self.line) and self.interner.size == self.line[-1][1]


class Images:
    """The images of one shard as one process sees them: it knows what it has mapped and what it has written.

    It keeps the interner and the runs of the last image, so that the next one costs only what is new.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs: dict[str, Run] = {}  # the files of runs, and the runs in them
        self._keys: Keys | None = None
        self._last: tuple[str, ...] = ()  # the image last saved or loaded, and the files it names
        self._fresh: list[str] = []  # the files that a save has written so far

    def save(self, nonce: str, interner: Interner, windows: Mapping[Side, Runs]) -> bool:
        """Leave an image; tell whether it is there, which it is not where the disk refused.

        The windows' runs lie in the files from then on: addresses of their arrays are void.
        """
        checked(nonce)
        self._fresh = []
        try:
            private(self.folder, make=True)
            there = names_in(self.folder)
            runs = {side: self._lay_runs(window, there) for side, window in windows.items()}
            keys = self._lay_keys(nonce, interner, there)
            sheet = Sheet()
            header = {
                "words": interner.words,
                "settled": interner.settled,
                "files": keys.files,
                "line": keys.line,
                "tail": put_keys(some(interner.keys(), sum(count for _, count in keys.files)), sheet),
                "runs": runs,
                "young": {side: put_batch(window.young, sheet) for side, window in windows.items()},
            }
            write(self.folder / f"{nonce}.new", header, sheet.arrays)
            (self.folder / f"{nonce}.new").rename(self.folder / nonce)
        except OSError:
            remove(self.folder, self._fresh)
            return False
        before, self._keys = self._last, keys
        self._remember(nonce, header)
        with suppress(OSError):
            sweep(self.folder, {*before, *self._last})
        return True

    def load(self, nonce: str, windows: Mapping[Side, Runs], *, words: bool) -> Interner | None:
        """Put the rows of an image into empty windows and return its interner, or None, nothing changed."""
        self._last = ()
        try:
            checked(nonce)
            private(self.folder, make=False)
            header, arrays = read(self.folder / nonce)
            if header["words"] != words or header["runs"].keys() != windows.keys():
                return None
            runs = {side: [self._run(name) for name in names] for side, names in header["runs"].items()}
            young = {side: batch_in(rows, arrays) for side, rows in header["young"].items()}
            self._keys = self._read_keys(header, arrays)
        except (OSError, ValueError, LookupError, TypeError, pa.ArrowException):
            return None
        interner = self._keys.interner
        for side, window in windows.items():
            window.adopt(runs[side], young[side], max(interner.size, 1))
        self._remember(nonce, header)
        return interner

    def _remember(self, nonce: str, header: dict[str, Any]) -> None:
        """Take an image as the last one; forget the runs that it has not."""
        self._last = (nonce, *named(header))
        self._runs = {name: run for name, run in self._runs.items() if name in self._last}

    def _lay_runs(self, window: Runs, there: set[str]) -> list[str]:
        """Write the runs of a window that are in no file, map all; return the names of their files."""
        known = {id(run): name for name, run in self._runs.items() if name in there}
        names = []
        for run in window.runs:
            name = known.get(id(run))
            if name is None:
                sheet = Sheet()
                name = self._new_file("run", put_run(run, sheet), sheet)
            names.append(name)
        window.runs = [self._run(name) for name in names]
        return names

    def _new_file(self, kind: str, laid: dict[str, Any], sheet: Sheet) -> str:
        name = f"{secrets.token_hex(16)}.{kind}"
        write(self.folder / name, laid, sheet.arrays)
        self._fresh.append(name)
        return name

    def _run(self, name: str) -> Run:
        if name not in self._runs:
            self._runs[name] = run_in(*read(self.folder / name))
        return self._runs[name]

    def _lay_keys(self, nonce: str, interner: Interner, there: set[str]) -> Keys:
        """Write the keys that are in no file where they are many, with files that are not much larger."""
        old = self._keys
        if old is None or old.interner is not interner or not there.issuperset(name for name, _ in old.files):
            old = Keys(interner)
        files = list(old.files)
        rest = interner.size - sum(count for _, count in files)
        if rest > TAIL:
            while files and files[-1][1] <= 2 * rest:
                rest += files.pop()[1]
            sheet = Sheet()
            laid = put_keys(some(interner.keys(), interner.size - rest), sheet)
            files.append((self._new_file("keys", laid, sheet), rest))
        return Keys(interner, tuple(files), (*old.line[1 - LINE :], (nonce, interner.size)))

    def _read_keys(self, header: dict[str, Any], arrays: list[Bytes]) -> Keys:
        """Return the keys of an image; an interner that has the first of them takes the others."""
        files, line = (tuple((name, count) for name, count in header[each]) for each in ("files", "line"))
        old = self._keys
        known = old is not None and old.whole and old.line[-1] in line
        interner = old.interner if old is not None and known else Interner(words=header["words"])
        parts, end = [], 0
        for name, count in files:
            if end + count > interner.size:
                parts.append(some(keys_in(*read(self.folder / name)), max(interner.size - end, 0)))
            end += count
        parts.append(some(keys_in(header["tail"], arrays), max(interner.size - end, 0)))
        interner.reserve(sum(map(len, parts)), sum(part.data.size for part in parts if part.data is not None))
        for part in parts:
            interner.intern(part)
        if interner.size != line[-1][1]:
            message = f"{line[-1][1]} keys were written, {interner.size} read"
            raise DamagedError(message)
        interner.settled = header["settled"]
        return Keys(interner, files, line)


def checked(nonce: str) -> None:
    """Refuse a nonce that would be another path."""
    if not NONCE.fullmatch(nonce):
        message = f"a nonce has 32 hexadecimal digits; got {nonce!r}"
        raise ValueError(message)


def private(folder: Path, *, make: bool) -> None:
    """Refuse a folder that another user could write to; make it, or close it, where that is asked for."""
    if make:
        folder.mkdir(0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        message = f"{folder} is no folder of this user's"
        raise DamagedError(message)
    if found.st_mode & 0o077:
        if not make:
            message = f"{folder} is open to other users"
            raise DamagedError(message)
        folder.chmod(0o700)


def some(codes: Codes, first: int) -> Codes:
    """Return the codes from one on."""
    if codes.data is None:
        return Codes(codes.values[first:], None, None)
    start = codes.values[first]
    return Codes(codes.values[first:] - start, codes.data[start:], None)


def names_in(folder: Path) -> set[str]:
    """Return the names of all files of a folder."""
    return {file.name for file in folder.iterdir()}


def named(header: dict[str, Any]) -> list[str]:
    """Return the files that an image names."""
    return [name for names in header["runs"].values() for name in names] + [
        name for name, _ in header["files"]
    ]


def sweep(folder: Path, kept: set[str]) -> None:
    """Remove all images but those to be kept, the files that only they name, and what a crash has left.

    A process that has such a file mapped keeps it; another that sweeps at the same time does no harm.
    """
    others = names_in(folder) - kept
    images = [name for name in others if NONCE.fullmatch(name)]
    gone = {file for image in images for file in _named_by(folder / image)} - kept
    left = (name for name in others.difference(images, gone) if _old(folder / name))
    remove(folder, (*images, *gone, *left))


def remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files, as far as they are there and the disk lets go of them."""
    for name in names:
        with suppress(OSError):
            (folder / name).unlink()


def _named_by(image: Path) -> Iterable[str]:
    try:
        return named(read(image)[0])
    except OSError:  # gone by now, or damaged: what it names is as old as a crash would have left it
        return ()


def _old(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime > DEBRIS
    except FileNotFoundError:
        return False

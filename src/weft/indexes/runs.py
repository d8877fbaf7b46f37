"""The window of one side: a mutable part, immutable sorted runs, whole runs dropped when they expire.

A row is added in O(1) to the mutable part or, among many others, as a run. FAN runs of one size are merged
into one, so a row is copied O(log rows) times and a probe looks into O(log rows) runs. What lies below the
horizon goes with its run, when half of its run has expired, or at the next merge, whichever comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from weft.columns import Cells
from weft.indexes.memtable import Memtable
from weft.indexes.pairs import Pairs
from weft.indexes.run import (
    ALL,
    NEVER,
    Batch,
    Ids,
    Run,
    Times,
    above,
    build,
    check_run,
    cut,
    probe,
    renamed,
    rows_of,
    settled,
)
from weft.indexes.tails import CAPACITY
from weft.kernels.small import OFFSET, RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from weft.types import Side

LARGE = 2048  # rows from which a batch is a run of its own
FAN = 4  # runs of one size that are merged into one
DENSE = 0.7  # pairs a row from which slices of a sorted payload beat single rows, the sorting included

State: TypeAlias = tuple[list[Run], Memtable, int, int]
Purged: TypeAlias = tuple[list[Run], Memtable | None]


class Runs:
    """All rows of one side that may still meet one to come."""

    def __init__(self, lead_place: int | None) -> None:
        self.runs: list[Run] = []
        self._lead_place = lead_place
        self._young = Memtable()
        self._spare: Memtable | None = None  # to be emptied and used again: its chains may be long
        self._retired: Memtable | None = None  # the next spare, once nothing can be taken back any more

    def __len__(self) -> int:
        return len(self._young) + sum(len(run) for run in self.runs)

    @property
    def nbytes(self) -> int:
        """Return the bytes it holds."""
        return self._young.nbytes + sum(run.nbytes for run in self.runs)

    @property
    def parts(self) -> int:
        """Return how many runs there are, the mutable part counted when it has rows."""
        return len(self.runs) + (len(self._young) > 0)

    def probe(self, batch: Batch, reach: Times, side: Side) -> list[Pairs]:
        """Return what rows of the other side meet here; `reach` holds two bounds of the lead for each."""
        found = [self._probe_run(place, batch, reach, side) for place in range(len(self.runs))]
        if len(self._young):
            hits, pairs, order = self._young.probe(batch.ids, reach)
            if pairs:
                found.append(Pairs(hits, pairs, side, batch.columns, self._young.columns(), order))
        return [pairs for pairs in found if pairs.count]

    def _probe_run(self, place: int, batch: Batch, reach: Times, side: Side) -> Pairs:
        run = self.runs[place]
        hits, pairs = probe(run, batch.ids, reach)
        if run.order is not None and pairs > DENSE * len(run):
            run = self.runs[place] = settled(run, self._lead_place)
        return Pairs(hits, pairs, side, batch.columns, run.columns, run.order)

    def insert(self, batch: Batch, keys: int, horizon: int = ALL) -> None:
        """Add rows, those below the horizon left out where they are many."""
        if len(batch) >= LARGE:
            self.runs = ordered([*self.runs, build(above(batch, horizon, 0.5), keys)])
            return
        batch = above(batch, horizon)
        if len(batch):
            self._young.add(batch, keys)

    def prepare(self, adding: int, probing: int, keys: int, horizon: int) -> None:
        """Make a run of the mutable part if it has no room for `adding` rows, or many would walk chains."""
        young = len(self._young)
        crowded = adding < LARGE and young + adding > CAPACITY
        if crowded or (young and probing >= LARGE):
            run = settled(build(above(self._young.rows(), horizon), keys), self._lead_place)
            self._keep(ordered([*self.runs, run]), self._emptied())

    def _emptied(self) -> Memtable:
        """Return a mutable part without rows."""
        spare, self._spare = self._spare or Memtable(), None
        spare.clear()
        return spare

    def _keep(self, runs: list[Run], young: Memtable) -> None:
        """Take these from now on."""
        if young is not self._young:
            self._retired = self._young
        self.runs, self._young = runs, young

    def load(self, batch: Batch, keys: int) -> None:
        """Add rows of a snapshot as a run."""
        self.runs = ordered([*self.runs, settled(build(batch, keys), self._lead_place)])

    @property
    def young(self) -> Batch:
        """Return the rows of the mutable part as they lie."""
        return self._young.rows()

    def adopt(self, runs: Sequence[Run], young: Batch, keys: int) -> None:
        """Take the runs and the mutable part's rows of another window; this one must be empty."""
        self.runs = list(runs)
        if len(young):
            self._young.add(young, keys)

    def state(self) -> State:
        """Return what `restore` needs to take back all that comes after."""
        self._spare, self._retired = self._retired or self._spare, None
        return self.runs.copy(), self._young, len(self._young), self._young.newest

    def restore(self, state: State) -> None:
        """Take back all that has come since `state`."""
        self.runs, self._young, size, newest = state
        self._retired = None
        self._young.truncate(size, newest)

    def purged(self, keys: int, horizon: int) -> Purged:
        """Return what is left once all that has expired is dropped; nothing changes before `settle`."""
        if horizon == NEVER:
            return [], None
        runs = self.runs
        if crowd(runs) is not None or any(run.order is not None or run.middle < horizon for run in runs):
            runs = self._tidied(keys, horizon)
        return runs, None if self._young.newest < horizon else self._young.purged(keys, horizon)

    def settle(self, purged: Purged) -> None:
        """Keep what `purged` returned."""
        runs, young = purged
        self._keep(runs, self._emptied() if young is None else young)

    def _tidied(self, keys: int, horizon: int) -> list[Run]:
        runs = ordered(self._kept(run, keys, horizon) for run in self.runs if run.newest >= horizon)
        while (first := crowd(runs)) is not None:
            merged = settled(build(rows_of(runs[first : first + FAN], horizon), keys), self._lead_place)
            runs = ordered([*runs[:first], merged, *runs[first + FAN :]])
        return runs

    def _kept(self, run: Run, keys: int, horizon: int) -> Run:
        """Return a run with its payload in order, cut where half of it has expired."""
        if run.middle >= horizon:
            return settled(run, self._lead_place)
        return settled(build(cut(run, horizon), keys), self._lead_place)

    @property
    def room(self) -> int:
        """Return how many rows the mutable part can still take."""
        return CAPACITY - len(self._young)

    def appended(self, rows: int, newest: int) -> None:
        """Count rows that a kernel has written into the mutable part."""
        self._young.appended(rows, newest)

    def uncounted(self, rows: int) -> None:
        """Let the mutable part have so many rows: a kernel wrote them, but the count was never reached."""
        self._young.size = rows

    def due(self, horizon: int) -> bool:
        """Tell whether `purged` would find something to do."""
        if horizon == NEVER:
            return len(self) > 0
        expired = len(self._young) > 0 and self._young.newest < horizon
        return expired or self._young.due(horizon) or any(run.middle < horizon for run in self.runs)

    def card(self, prototypes: Sequence[Cells], keys: int) -> npt.NDArray[np.int64] | None:
        """Return where everything lies, as kernels/small.py has it; None if a column is not plain cells."""
        self._young.reserve(keys)
        card = self._young.card(prototypes)
        if any(run.offsets.itemsize != OFFSET for run in self.runs):
            return None
        cells = [[c for c in run.columns if isinstance(c, Cells) and c.valid is None] for run in self.runs]
        if card is None or any(
            len(plain) < len(run.columns) for plain, run in zip(cells, self.runs, strict=True)
        ):
            return None
        card[RUNS] = len(self.runs)
        for run, plain in zip(self.runs, cells, strict=True):
            arrays = (run.bits, run.ranks, run.offsets, run.lead)
            bits, ranks, offsets, lead = (array.ctypes.data for array in arrays)
            card += [bits, run.bits.size, ranks, offsets, lead, run.oldest, run.newest]
            card += [column.values.ctypes.data for column in plain]
        return np.array(card, np.int64)

    def used(self, keys: int) -> npt.NDArray[np.bool_]:
        """Tell for each key whether a row has it."""
        seen = np.zeros(keys, bool)
        for run in self.runs:
            seen[run.keys] = True
        young = self._young.ids
        seen[young[young >= 0]] = True
        return seen

    def renamed(self, names: Ids, keys: int) -> Purged:
        """Return all rows with key k called names[k], for `settle`; names keep their order."""
        return [renamed(run, names, keys) for run in self.runs], self._young.renamed(names, keys)

    def contents(self) -> list[Batch]:
        """Return all rows, a batch a run and one for the mutable part."""
        young = [self._young.rows()] if len(self._young) else []
        return [rows_of([run], ALL) for run in self.runs] + young

    def check(self) -> None:
        """Raise AssertionError where the index is not what it promises; for tests."""
        self._young.check()
        for run in self.runs:
            check_run(run)
        levels = [level(run) for run in self.runs]
        if levels != sorted(levels, reverse=True):
            message = f"runs are not tiered: {levels}"
            raise AssertionError(message)


def level(run: Run) -> int:
    """Return the tier of a run: runs of one tier differ by less than FAN times."""
    return (len(run).bit_length() - 1) // (FAN.bit_length() - 1)


def ordered(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that have rows, larger tiers first, older ones first within a tier."""
    return sorted((run for run in runs if len(run)), key=level, reverse=True)


def crowd(runs: Sequence[Run]) -> int | None:
    """Return where FAN runs of one tier begin, None where there are none."""
    for first in range(len(runs) - FAN + 1):
        if level(runs[first]) == level(runs[first + FAN - 1]):
            return first
    return None

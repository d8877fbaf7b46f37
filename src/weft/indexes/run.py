"""An immutable sorted run: rows by key, then by the lead column, so that a row's matches are one slice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from weft.columns import Cells, Column, Rows, concat, roomy, size_of, take
from weft.kernels.order import group, living, mark, members, rank, settle
from weft.kernels.probe import search, sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

Ids: TypeAlias = npt.NDArray[np.int32]
Times: TypeAlias = npt.NDArray[np.int64]
Offsets: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]

MOVES = 8  # moves a row that insertion sort may take before a full sort is cheaper
SAMPLE = 1024  # leads that are looked at to find the middle of a run
ALL = -(2**63)  # the horizon below which nothing lies
NEVER = 2**63  # the horizon above all times: no row will come that could meet a stored one
LONG = 2**31  # rows that take offsets of eight bytes
FEW = 8  # a probe with fewer rows than a run has keys, by this factor, does without the run's cursors
SHORT = 4  # and so does any where a key has fewer rows: its end is near its beginning


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one side as they came: a key (-1: matches nothing), a lead value and the payload of each."""

    ids: Ids
    lead: Times
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return self.ids.size


@dataclass(frozen=True, slots=True)
class Run:
    """Sorted rows. The directory takes a bit and a half for each key of the operator; a look is two loads.

    keys, offsets   the keys that it has, ascending (a key's place among them is its slot), and their slices
    bits, ranks     a bit for each key that it has, and how many are set before each word of 64
    order           where the payload still lies in order of arrival: the row at each position
    oldest, newest  the least and the largest lead: nothing reaches beyond, and when to drop the run
    middle          about the median lead: when to cut the run
    """

    keys: Ids
    offsets: Offsets
    bits: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.int32]
    lead: Times
    columns: tuple[Column, ...]
    order: Rows | None
    oldest: int
    newest: int
    middle: int

    def __len__(self) -> int:
        return self.lead.size

    @property
    def nbytes(self) -> int:
        """Return the bytes it holds; a lead column that is a payload column too is counted once."""
        arrays = (self.keys, self.offsets, self.bits, self.ranks)
        shared = any(isinstance(c, Cells) and c.values.base is self.lead.base for c in self.columns)
        held = sum(array.nbytes for array in arrays) + (0 if shared else self.lead.nbytes)
        return held + sum(size_of(column) for column in self.columns)


def build(batch: Batch, keys: int) -> Run:
    """Sort a batch into a run, the payload left in order of arrival; `keys` are in use. O(n + keys / 64)."""
    bits = np.zeros((keys + 63) // 64, np.uint64)
    ranks = np.empty(bits.size, np.int32)
    kept = mark(batch.ids, bits)
    members_ = np.empty(rank(bits, ranks), np.int32)
    members(bits, members_)
    offsets, order, lead = (
        np.zeros(members_.size + 1, np.int64),
        np.empty(kept, np.int64),
        roomy(kept, np.int64),
    )
    group(batch.ids, bits, ranks, offsets, order)
    if not settle(batch.lead, offsets, order, lead, MOVES * kept):
        offsets[:] = 0
        by_lead = np.argsort(batch.lead, kind="stable")
        group(batch.ids[by_lead], bits, ranks, offsets, order)
        order = by_lead[order]
        np.take(batch.lead, order, out=lead)
    span = (int(lead.min()), int(lead.max()), _middle(lead)) if kept else (0, 0, 0)
    slices = offsets.astype(np.int32) if kept < LONG else offsets
    return Run(members_, slices, bits, ranks, lead, batch.columns, order, *span)


def settled(run: Run, lead_place: int | None) -> Run:
    """Put the payload into run order; the lead column is its own payload where that is the same words."""
    if run.order is None:
        return run
    order = run.order
    columns = tuple(
        Cells(run.lead.view(np.uint64), None, 8) if place == lead_place else take(column, order)
        for place, column in enumerate(run.columns)
    )
    return replace(run, columns=columns, order=None)


def probe(run: Run, ids: Ids, reach: Times) -> tuple[Rows, int]:
    """Return the hits of probe rows in a run, and their pairs."""
    hits = np.empty(3 * ids.size, np.int64)
    directory, lead = (run.bits, run.ranks, run.offsets), (run.lead, run.oldest, run.newest)
    if FEW * ids.size < run.keys.size or len(run) < SHORT * run.keys.size:
        found, pairs = search(ids, reach, directory, lead, hits)
    else:
        found, pairs = sweep(
            ids, reach, directory, lead, np.repeat(run.offsets[:-1], 2).astype(np.int64), hits
        )
    return hits[: 3 * found], pairs


def rows_of(runs: Sequence[Run], horizon: int) -> Batch:
    """Return the rows of settled runs, behind each other, that are not below the horizon."""
    ids = np.concatenate([np.repeat(run.keys, np.diff(run.offsets)) for run in runs])
    lead = np.concatenate([run.lead for run in runs])
    columns = tuple(concat(parts) for parts in zip(*(run.columns for run in runs), strict=True))
    return above(Batch(ids, lead, columns), horizon)


def cut(run: Run, horizon: int) -> Batch:
    """Return the rows of a run that are not below the horizon, in run order, copied."""
    alive = np.flatnonzero(run.lead >= horizon)
    ids = np.repeat(run.keys, np.diff(run.offsets))[alive]
    rows = alive if run.order is None else run.order[alive]
    return Batch(ids, run.lead[alive], tuple(take(column, rows) for column in run.columns))


def above(batch: Batch, horizon: int, spare: float = 1.0) -> Batch:
    """Return the rows with a key that are not below the horizon, copied; all, if `spare` of them live."""
    if horizon == NEVER:
        return Batch(
            batch.ids[:0], batch.lead[:0], tuple(take(c, np.empty(0, np.int64)) for c in batch.columns)
        )
    alive = living(batch.ids, batch.lead, horizon)
    if alive >= spare * len(batch):
        return batch
    rows = np.flatnonzero((batch.lead >= horizon) & (batch.ids >= 0))
    return Batch(batch.ids[rows], batch.lead[rows], tuple(take(column, rows) for column in batch.columns))


def renamed(run: Run, names: Ids, keys: int) -> Run:
    """Return a run whose key k is called names[k]; names keep their order, so nothing moves."""
    fresh = names[run.keys]
    bits = np.zeros((keys + 63) // 64, np.uint64)
    mark(fresh, bits)
    ranks = np.empty(bits.size, np.int32)
    rank(bits, ranks)
    return replace(run, keys=fresh, bits=bits, ranks=ranks)


def _middle(lead: Times) -> int:
    sample = lead[:: lead.size // SAMPLE + 1]
    return int(np.partition(sample, sample.size // 2)[sample.size // 2])


def check_run(run: Run) -> None:
    """Raise AssertionError where a run is not what it promises; for tests."""
    problems = {
        "keys ascend": bool((np.diff(run.keys) > 0).all()),
        "every key has rows": bool((np.diff(run.offsets) > 0).all()),
        "offsets cover the rows": run.offsets[0] == 0 and run.offsets[-1] == run.lead.size,
        "leads ascend in a key": _ascends(run),
        "bits are the keys": bool(
            (np.flatnonzero(np.unpackbits(run.bits.view(np.uint8), bitorder="little")) == run.keys).all()
        ),
        "payload has the rows": all(len(column) == run.lead.size for column in run.columns),
    }
    broken = [name for name, holds in problems.items() if not holds]
    if broken:
        raise AssertionError("; ".join(broken))


def _ascends(run: Run) -> bool:
    within = np.ones(max(len(run) - 1, 0), bool)
    within[run.offsets[1:-1] - 1] = False
    return bool((run.lead[1:] >= run.lead[:-1])[within].all())

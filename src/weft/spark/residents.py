"""The rows of shards that this worker process holds between batches: only a cache.

A worker may serve another shard next time, and one that served this shard before may hold rows of an attempt
that failed. So what is held is believed only if its nonce is the one the committed manifest has.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from weft.runtimes.joins import Join

MOST = 1 << 30  # bytes of rows that one worker holds


Place: TypeAlias = tuple[str, str, int]
"""A query's id, what the join is, a shard's key."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A join as it was when a commit was written."""

    nonce: str
    join: Join


_RESIDENTS: OrderedDict[Place, Resident] = OrderedDict()


def taken(place: Place, nonce: str) -> Join | None:
    """Return the join of a shard if it is of this commit; it is no longer held: work on it may fail."""
    resident = _RESIDENTS.pop(place, None)
    return resident.join if resident is not None and resident.nonce == nonce else None


def keep(place: Place, resident: Resident) -> None:
    """Hold a shard's join for the next batch; the longest unused ones go when there is no room."""
    _RESIDENTS[place] = resident
    while len(_RESIDENTS) > 1 and sum(_size(one) for one in _RESIDENTS.values()) > MOST:
        _RESIDENTS.popitem(last=False)


def _size(resident: Resident) -> int:
    join = resident.join
    return join.interner.nbytes + sum(window.nbytes for window in join.operator.windows.values())

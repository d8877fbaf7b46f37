"""The rows of shards between batches: resident in a worker process, and in files that its neighbours map.

Both are only caches. A worker may serve another shard next time, and one that served this shard before may
hold rows of an attempt that failed. So what is held is believed only if its nonce is the one the committed
manifest has: first the worker's own, then the files, then the log is read.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from weft.runtimes.joins import empty_join
from weft.state.images import Images

if TYPE_CHECKING:
    from weft.edge.binding import Binding
    from weft.runtimes.joins import Join
    from weft.spec import JoinSpec

MOST = 1 << 32  # bytes that one worker holds or maps; mapped ones are the machine's, not the worker's
WORTH = 20_000  # rows from which files are read sooner than the log
LOCAL_DIRS = "SPARK_LOCAL_DIRS"  # of an executor, for its workers; gone with it

Place: TypeAlias = tuple[str, str, int]
"""A query's id, what the join is, a shard's key."""


@dataclass(frozen=True, slots=True)
class Resident:
    """A join as it was when a commit was written, and the files that other workers find it in."""

    nonce: str
    join: Join
    images: Images | None


_RESIDENTS: OrderedDict[Place, Resident] = OrderedDict()


def taken(place: Place) -> Resident | None:
    """Return what is held of a shard; it is held no longer, as work on it may fail."""
    return _RESIDENTS.pop(place, None)


def images_of(place: Place) -> Images | None:
    """Return the files of a shard, None where the executor has no folder for them."""
    query, digest, shard = place
    folders = os.environ.get(LOCAL_DIRS)
    if not folders or not query:
        return None
    return Images(Path(folders.split(",")[0]) / f"weft-{query}-{digest[:8]}-{shard}")


def mapped(spec: JoinSpec, binding: Binding, images: Images | None, nonce: str) -> Join | None:
    """Return the join of a commit from the files of its shard, None where they have it not."""
    if images is None or not nonce:
        return None
    join = empty_join(spec, binding)
    interner = images.load(nonce, join.operator.windows, words=join.interner.words)
    if interner is None:
        return None
    join.interner = interner
    return join


def keep(place: Place, resident: Resident) -> None:
    """Hold a join for the next batch, here and in files; the longest unused go when there is no room."""
    join = resident.join
    if resident.images is not None and sum(map(len, join.operator.windows.values())) >= WORTH:
        resident.images.save(resident.nonce, join.interner, join.operator.windows)
        join.forget_places()  # the runs lie in the files now
    _RESIDENTS[place] = resident
    while len(_RESIDENTS) > 1 and sum(_size(one) for one in _RESIDENTS.values()) > MOST:
        _RESIDENTS.popitem(last=False)


def _size(resident: Resident) -> int:
    join = resident.join
    return join.interner.nbytes + sum(window.nbytes for window in join.operator.windows.values())

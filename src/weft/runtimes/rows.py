"""From an arrived batch to rows that an index takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.edge.arrivals import Arrived, codes_of, payload_of
from weft.edge.keys import Codes, Flags, both
from weft.indexes.run import Batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.edge.binding import Binding
    from weft.edge.interner import Ids


def batch_of(binding: Binding, arrived: Arrived, usable: Flags | None, name: Callable[[Codes], Ids]) -> Batch:
    """Return a batch whose keys are named; rows without a key, and those not usable, are named -1."""
    codes = codes_of(binding, arrived)
    if codes is not None:
        ids = name(Codes(codes.values, codes.data, both(codes.valid, usable)))
    else:  # a join on time alone: one key for all
        ids = np.zeros(arrived.times.size, np.int32) if usable is None else usable.astype(np.int32) - 1
    return Batch(ids, arrived.times, payload_of(binding, arrived))

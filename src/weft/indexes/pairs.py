"""What a probe found: hits, never pairs of row numbers, until a column needs them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from weft.kernels.fill import expand, gather

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from weft.columns import Column, Rows
    from weft.types import Side


@dataclass(frozen=True, slots=True)
class Pairs:
    """What one probe found in one base: (row, start, count) triples into the columns of both.

    `start` is a position of the base's columns or, where `order` is given, of `order`, which holds those.
    """

    hits: Rows
    count: int
    probe_side: Side
    probe: tuple[Column, ...]
    base: tuple[Column, ...]
    order: Rows | None = None
    # Row numbers of all pairs, once a column has needed them.
    numbers: list[tuple[Rows, Rows]] = field(default_factory=list, compare=False)


def halved(pairs: Sequence[Pairs]) -> tuple[list[Pairs], list[Pairs]]:
    """Cut pairs into two halves of about the same number of pairs."""
    if len(pairs) > 1:
        return list(pairs[: len(pairs) // 2]), list(pairs[len(pairs) // 2 :])
    (one,) = pairs
    hits = one.hits.reshape(-1, 3)
    ends = np.cumsum(hits[:, 2])
    half = one.count // 2
    cut = int(np.searchsorted(ends, half, side="left"))
    over = int(ends[cut]) - half  # pairs of the hit that lies across the cut
    first, second = hits[: cut + 1].copy(), hits[cut:].copy()
    first[-1, 2] -= over
    second[0, 1] += second[0, 2] - over
    second[0, 2] = over
    return [replace(one, hits=first.ravel(), count=half, numbers=[])], [
        replace(one, hits=second.ravel(), count=one.count - half, numbers=[])
    ]


def pieces(pairs: Sequence[Pairs], most: int) -> Iterator[list[Pairs]]:
    """Cut pairs into pieces of at most `most` pairs."""
    found = [part for part in pairs if part.count]
    if sum(part.count for part in found) <= most:
        if found:
            yield found
        return
    for half in halved(found):
        yield from pieces(half, most)


def row_numbers(pairs: Pairs) -> tuple[Rows, Rows]:
    """Return the probe row and the base row of every pair."""
    if not pairs.numbers:
        rows, positions = np.empty(pairs.count, np.int64), np.empty(pairs.count, np.int64)
        expand(pairs.hits, rows, positions)
        if pairs.order is not None:
            places, positions = positions, np.empty(pairs.count, np.int64)
            gather(pairs.order, places, positions)
        pairs.numbers.append((rows, positions))
    return pairs.numbers[0]

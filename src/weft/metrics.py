"""What an operator counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from weft.types import Side


@dataclass(frozen=True, slots=True)
class Metrics:
    """What an operator has seen and what it holds now.

    `late` counts by physical input; `watermark` is None before any, an int for integer times, else a numpy
    datetime64 (UTC where times have a zone); `bytes` adds "keys", the table from keys to dense integers.
    """

    rows_in: Mapping[Side, int]
    pairs_out: int
    late: Mapping[Side, tuple[int, ...]]
    watermark: np.datetime64 | int | None
    rows: Mapping[Side, int]
    runs: Mapping[Side, int]
    bytes: Mapping[str, int]

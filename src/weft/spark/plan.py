"""What travels to Spark's workers: a bound join, narrowed to the columns it needs, and its shards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.types import SIDES, Side

if TYPE_CHECKING:
    from weft.edge.binding import Binding, SideBinding
    from weft.spec import JoinSpec


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """One join as its workers know it."""

    spec: JoinSpec
    binding: Binding
    shards: int

    def side(self, side: Side) -> SideBinding:
        """Return the columns of a side."""
        return self.binding.left if side == "left" else self.binding.right

    def input_of(self, number: int) -> tuple[Side, int]:
        """Return the side and the source of an input: the left ones are counted first."""
        lefts = self.spec.sources[0]
        return ("left", number) if number < lefts else ("right", number - lefts)


def narrowed(binding: Binding) -> tuple[Binding, dict[Side, tuple[int, ...]]]:
    """Return a binding over only the columns that the join needs, and where those are in each input."""
    needed: dict[Side, tuple[int, ...]] = {}
    sides: dict[Side, SideBinding] = {}
    for side, kept in zip(SIDES, binding.kept, strict=True):
        one = binding.left if side == "left" else binding.right
        needed[side] = tuple(sorted({*one.keys, one.time, *kept}))
        sides[side] = replace(
            one,
            schema=pa.schema([one.schema.field(at) for at in needed[side]]),
            keys=tuple(needed[side].index(at) for at in one.keys),
            time=needed[side].index(one.time),
        )
    return replace(
        binding,
        left=sides["left"],
        right=sides["right"],
        kept=(_moved(binding, needed, "left"), _moved(binding, needed, "right")),
        output=tuple((side, needed[side].index(at)) for side, at in binding.output),
    ), needed


def _moved(binding: Binding, needed: dict[Side, tuple[int, ...]], side: Side) -> tuple[int, ...]:
    return tuple(needed[side].index(at) for at in binding.kept[SIDES.index(side)])

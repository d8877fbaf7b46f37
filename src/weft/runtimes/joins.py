"""What every runtime drives: a join with its state, batches judged by the watermark, and horizons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weft.edge.arrivals import Arrived, lead_place
from weft.edge.binding import Binding, SideBinding, bind
from weft.edge.interner import Interner
from weft.edge.keys import Flags, as_words, both
from weft.edge.result import OutColumn, out_columns
from weft.indexes.run import NEVER
from weft.operators.interval import IntervalJoin, horizon, other
from weft.plan import plan
from weft.progress.late import late_flags, late_table, refuse_late, threshold
from weft.progress.watermark import Allowed, Progress
from weft.runtimes.small import SmallPushes, fits
from weft.spans import Span
from weft.types import SIDES, Late, Side

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.spec import JoinSpec


@dataclass(frozen=True, slots=True)
class Judged:
    """An arrived batch and its late rows (None: it has none), as a table too where they are handed back."""

    arrived: Arrived
    late: Flags | None
    routed: pa.Table | None


@dataclass(slots=True)
class Join:
    """What exists once both schemas are known: the state of the join and the columns of its result."""

    binding: Binding
    interner: Interner
    operator: IntervalJoin
    columns: tuple[OutColumn, ...]
    small: SmallPushes | None

    def crowded(self) -> bool:
        """Tell whether there are many keys that no row uses."""
        return self.interner.crowded(sum(len(window) for window in self.operator.windows.values()))

    def forget_places(self) -> None:
        """The windows are about to change: what small pushes know of where they lie is void."""
        if self.small is not None:
            self.small.forget()

    def forget_keys(self) -> None:
        """Forget the keys that no held row uses."""
        windows = self.operator.windows.values()
        used = np.logical_or.reduce([window.used(self.interner.size) for window in windows])
        interner, names = self.interner.without(used)
        fewer = [window.renamed(names, max(interner.size, 1)) for window in windows]
        for window, rows in zip(windows, fewer, strict=True):
            window.settle(rows)
        self.interner = interner
        self.forget_places()


def new_join(spec: JoinSpec, left: SideBinding, right: SideBinding) -> Join:
    """Bind both sides and make the empty state."""
    return empty_join(spec, bind(spec, left, right))


def empty_join(spec: JoinSpec, binding: Binding) -> Join:
    """Make the empty state of a join whose sides are bound."""
    index = plan(spec).index
    operator = IntervalJoin(binding.axis, lambda side: index(lead_place(binding, side)))
    columns = out_columns(binding)
    small = SmallPushes(binding, columns, operator) if fits(binding) else None
    return Join(binding, Interner(words=as_words(binding.families)), operator, columns, small)


def judge(arrived: Arrived, binding: SideBinding, watermark: int | None, policy: Late) -> Judged:
    """Find a batch's late rows, by the watermark that held before it; refuse them if the policy says so."""
    if watermark is None:
        return Judged(arrived, None, None)
    first = threshold(watermark, binding.clock.tick)
    late = late_flags(arrived, first)
    if late is None or policy == "drop":
        return Judged(arrived, late, None)
    if policy == "fail":
        refuse_late(arrived, late, first, binding)
    return Judged(arrived, late, late_table(arrived, late, first))


def usable(judged: Judged) -> Flags | None:
    """Tell which rows have a time and are not late; None stands for all."""
    return both(judged.arrived.timed, None if judged.late is None else ~judged.late)


def allowances(spec: JoinSpec) -> dict[Side, Allowed]:
    """Return what lateness and silence each side is allowed, in nanoseconds (or ticks, for integer times)."""
    lateness = spec.lateness or (Span(0, "ns"),) * 2
    return {
        side: Allowed(late.value, None if idle is None else idle.value)
        for side, late, idle in zip(SIDES, lateness, spec.idle, strict=True)
    }


def horizons(binding: Binding, progress: Progress) -> dict[Side, int]:
    """Return, for each side, the first time that a row to come may meet; past all times if none will come."""
    ticks = {"left": binding.left.clock.tick, "right": binding.right.clock.tick}
    fine, axis = min(ticks.values()), binding.axis
    past = {"left": -axis.upper * fine, "right": axis.lower * fine}
    return {
        side: NEVER
        if axis.lower > axis.upper or progress.side_finished(other(side))
        else horizon(progress.watermark, past[side], ticks[side])
        for side in SIDES
    }

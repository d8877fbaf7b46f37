"""Whole tables: sort the right one once, look each left row up in its own order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.edge.arrivals import arrive, lead_place
from weft.edge.binding import bind, bind_side
from weft.edge.interner import Interner
from weft.edge.keys import as_words
from weft.edge.result import out_columns, result_table
from weft.indexes.pairs import Pairs
from weft.indexes.run import build, probe, settled
from weft.indexes.runs import DENSE
from weft.operators.interval import reach
from weft.runtimes.rows import batch_of

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.spec import JoinSpec
    from weft.types import Side


def join_tables(spec: JoinSpec, left: pa.Table, right: pa.Table) -> tuple[pa.Table, list[tuple[Side, str]]]:
    """Return all pairs by left position, then right time; and the side and column of each result column."""
    binding = bind(spec, bind_side(spec, "left", left.schema), bind_side(spec, "right", right.schema))
    sides = {"left": binding.left, "right": binding.right}
    arrived = {
        "left": arrive("left", 0, left, binding.left),
        "right": arrive("right", 0, right, binding.right),
    }
    interner = Interner(words=as_words(binding.families))
    base = batch_of(binding, arrived["right"], arrived["right"].timed, interner.intern)
    probing = batch_of(binding, arrived["left"], arrived["left"].timed, interner.find)
    run = build(base, max(interner.size, 1))
    hits, count = probe(run, probing.ids, reach(binding.axis, "left", probing.lead))
    if count > DENSE * len(run):
        run = settled(run, lead_place(binding, "right"))
    pairs = Pairs(hits, count, "left", probing.columns, run.columns, run.order)
    origins = [(side, sides[side].schema.names[place]) for side, place in binding.output]
    return result_table(binding.schema, out_columns(binding), [pairs]), origins

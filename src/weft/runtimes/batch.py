"""Whole tables: sort the right one once, look each left row up in its own order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.edge.arrivals import arrive, lead_place
from weft.edge.binding import bind, bind_side
from weft.edge.interner import Interner
from weft.edge.keys import as_words
from weft.edge.result import out_columns, result_table
from weft.indexes.pairs import Pairs, pieces
from weft.indexes.run import build, probe, settled
from weft.indexes.runs import DENSE
from weft.operators.interval import reach
from weft.runtimes.replica import MOST_PAIRS
from weft.runtimes.rows import batch_of
from weft.state.chunks import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from weft.edge.binding import Binding
    from weft.indexes.run import Run
    from weft.spec import JoinSpec
    from weft.types import Side


@dataclass(slots=True)
class Base:
    """The right rows, sorted, and their keys."""

    binding: Binding
    interner: Interner
    run: Run

    def match(self, left: pa.Table) -> Pairs:
        """Return the pairs of left rows; the payload is sorted too once pairs are many."""
        arrived = arrive("left", 0, left, self.binding.left)
        probing = batch_of(self.binding, arrived, arrived.timed, self.interner.find)
        hits, count = probe(self.run, probing.ids, reach(self.binding.axis, "left", probing.lead))
        if count > DENSE * len(self.run):
            self.run = settled(self.run, lead_place(self.binding, "right"))
        return Pairs(hits, count, "left", probing.columns, self.run.columns, self.run.order)


def base_of(binding: Binding, right: pa.Table) -> Base:
    """Sort the right rows."""
    interner = Interner(words=as_words(binding.families))
    arrived = arrive("right", 0, right, binding.right)
    batch = batch_of(binding, arrived, arrived.timed, interner.intern)
    return Base(binding, interner, build(batch, max(interner.size, 1)))


def join_tables(spec: JoinSpec, left: pa.Table, right: pa.Table) -> tuple[pa.Table, list[tuple[Side, str]]]:
    """Return all pairs by left position, then right time; and the side and column of each result column."""
    binding = bind(spec, bind_side(spec, "left", left.schema), bind_side(spec, "right", right.schema))
    pairs = base_of(binding, right).match(left)
    schemas = {"left": left.schema, "right": right.schema}
    origins = [(side, schemas[side].names[place]) for side, place in binding.output]
    return result_table(binding.schema, out_columns(binding), [pairs]), origins


def join_packs(binding: Binding, left: Iterable[bytes], right: Sequence[bytes]) -> Iterator[pa.Table]:
    """Return all pairs of packed rows, piece by piece."""
    if not right:
        return
    base, columns = base_of(binding, pa.concat_tables(map(read_table, right))), out_columns(binding)
    for pack in left:
        for piece in pieces([base.match(read_table(pack))], MOST_PAIRS):
            yield result_table(binding.schema, columns, piece)

"""Pushes of a few rows: one kernel call, results as slices of an arena. It takes what it can, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from weft.edge.payload import read, width_of
from weft.edge.result import empty_table
from weft.edge.stored import plain
from weft.kernels import small as lie
from weft.operators.interval import BOTTOM, TOP, IntervalJoin, other
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.columns import Cells
    from weft.edge.binding import Binding, SideBinding
    from weft.edge.interner import Interner
    from weft.edge.result import OutColumn
    from weft.indexes.runs import State

Desk: TypeAlias = npt.NDArray[np.int64]

MOST_ROWS = 1024  # of a push that goes this way; above, the general way is as fast
MOST_HITS = 16384
FIRST_ARENA = 1024  # rows of results that share memory: it is held while one of them is
ARENA = 16384  # the same, once pushes give many
UNKNOWN = -1  # keys in use, while no call is under way
STRUCT = 10  # words of an exported Arrow array


class SmallPushes:
    """The desks of both sides, and the arena that results are cut from."""

    def __init__(self, binding: Binding, columns: Sequence[OutColumn], operator: IntervalJoin) -> None:
        self._binding, self._columns, self._windows = binding, columns, operator.windows
        self._struct = np.zeros(STRUCT, np.int64)
        self._ids, self._hits = np.empty(MOST_ROWS, np.int32), np.empty(4 * MOST_HITS, np.int64)
        self._cards: dict[Side, Desk] = {}
        self._plans = {side: self._plan(side) for side in SIDES}
        self._desks = {side: self._desk(side) for side in SIDES}
        self._empty = empty_table(binding.schema)
        self._filled = 0
        self.lay_arena(FIRST_ARENA)

    def _plan(self, side: Side) -> tuple[Desk, Desk]:
        """Return a side's kept columns (place, width) and the output's (own?, place, width, address)."""
        one = self._binding.left if side == "left" else self._binding.right
        kept = self._binding.kept[SIDES.index(side)]
        sizes = [[place, width_of(one.schema.field(place).type)] for place in kept]
        out = [
            [
                int(column.side == side),
                kept[column.place] if column.side == side else column.place,
                width_of(column.kind),
                0,
            ]
            for column in self._columns
        ]
        return np.array(sizes, np.int64).reshape(-1, 2), np.array(out, np.int64).reshape(-1, lie.OUT_FIELDS)

    def _desk(self, side: Side) -> Desk:
        one = self._binding.left if side == "left" else self._binding.right
        axis, (kept, out) = self._binding.axis, self._plans[side]
        desk = np.zeros(lie.DESK, np.int64)
        desk[lie.USED] = UNKNOWN
        desk[lie.BATCH] = self._struct.ctypes.data
        desk[lie.LOW], desk[lie.HIGH] = (
            (axis.lower, axis.upper) if side == "left" else (-axis.upper, -axis.lower)
        )
        desk[lie.KEY] = one.keys[0] if one.keys else -1
        desk[lie.KEY_WIDTH] = key_width(one) if one.keys else 0
        desk[lie.TIME] = one.time
        desk[lie.IDS], desk[lie.HITS], desk[lie.MOST_HITS] = (
            self._ids.ctypes.data,
            self._hits.ctypes.data,
            MOST_HITS,
        )
        desk[lie.OUT], desk[lie.OUTS] = out.ctypes.data, len(out)
        desk[lie.KEPT], desk[lie.KEPTS] = kept.ctypes.data, len(kept)
        return desk

    def lay_arena(self, rows: int) -> None:
        """Begin a new arena; results cut from the one before keep it."""
        arrays = []
        for place, column in enumerate(self._columns):
            width = width_of(column.kind)
            data = pa.allocate_buffer(rows * width)
            arrays.append(pa.Array.from_buffers(column.kind, rows, [None, data]))
            for _, out in self._plans.values():
                out[place, 3] = data.address
        self._arena = pa.Table.from_arrays(arrays, schema=self._binding.schema)
        self._filled = 0
        for desk in self._desks.values():
            desk[lie.ROOM], desk[lie.FILLED] = rows, 0

    def forget(self) -> None:
        """The windows have changed: lay their cards anew before the next push."""
        self._cards = {}

    def push(
        self, side: Side, batch: pa.RecordBatch, late: int, interner: Interner
    ) -> tuple[pa.Table, int] | None:
        """Return the pairs of a batch and its largest time, or None, nothing changed, for the general way."""
        desk, window = self._desks[side], self._windows[side]
        if not self._cards and not self._lay_cards(interner):
            return None
        if window.room < batch.num_rows:
            return None
        desk[lie.LATE], desk[lie.FILLED], desk[lie.USED] = (
            max(BOTTOM, min(TOP, late)),
            self._filled,
            interner.size,
        )
        answer = self._call(batch, desk)
        if answer == lie.NO_ROOM and desk[lie.PAIRS] <= ARENA:
            self.lay_arena(min(ARENA, max(FIRST_ARENA, 8 * int(desk[lie.PAIRS]))))
            answer = self._call(batch, desk)
        interner.size, desk[lie.USED] = int(desk[lie.USED]), UNKNOWN
        if answer != lie.DONE:
            return None
        newest, pairs = int(desk[lie.NEWEST]), int(desk[lie.PAIRS])
        window.appended(batch.num_rows, newest)
        if not pairs:
            return self._empty, newest
        self._filled += pairs
        return self._arena.slice(self._filled - pairs, pairs), newest

    def undo(self, side: Side, state: State, interner: Interner) -> None:
        """Take back a push that a kernel may have written before it failed; keys that it named stay named."""
        if self._cards:
            self._windows[side].uncounted(int(self._cards[side][lie.ROWS]))
        if self._desks[side][lie.USED] != UNKNOWN:
            interner.size, self._desks[side][lie.USED] = int(self._desks[side][lie.USED]), UNKNOWN
        self._windows[side].restore(state)
        self.forget()

    def _call(self, batch: pa.RecordBatch, desk: Desk) -> int:
        batch._export_to_c(int(desk[lie.BATCH]))
        return lie.push_small(desk)

    def _lay_cards(self, interner: Interner) -> bool:
        """Write down where everything of both windows lies; False where some of it is not plain cells."""
        cards = {}
        for side in SIDES:
            card = self._windows[side].card(self._prototypes(side), max(interner.size, 1))
            if card is None:
                return False
            cards[side] = card
        table, known, odd = interner.addresses()
        for side, desk in self._desks.items():
            desk[lie.OWN], desk[lie.OTHER] = cards[side].ctypes.data, cards[other(side)].ctypes.data
            desk[lie.TABLE], desk[lie.KNOWN], desk[lie.ODD] = table, known, odd
            desk[lie.SLOTS], desk[lie.MOST_KEYS] = interner.slots, interner.most
        self._cards = cards
        return True

    def _prototypes(self, side: Side) -> tuple[Cells, ...]:
        one = self._binding.left if side == "left" else self._binding.right
        kept = self._binding.kept[SIDES.index(side)]
        empty = tuple(read(pa.nulls(0, one.schema.field(place).type)) for place in kept)
        return cast("tuple[Cells, ...]", empty)  # see `fits`


def key_width(one: SideBinding) -> int:
    """Return the bytes of a key column's value, below 0 where it is unsigned."""
    kind = one.key_fields()[0].type
    unsigned = pt.is_unsigned_integer(kind) and not pt.is_uint64(kind)
    return -width_of(kind) if unsigned else width_of(kind)


def fits(binding: Binding) -> bool:
    """Tell whether a join can go this way: plain cells, no key or one of whole numbers, one unit of time."""
    axis = binding.axis
    kinds = [
        kind
        for kind in binding.schema.types
        if plain(kind) != kind or pt.is_boolean(kind) or not width_of(kind)
    ]
    stored = all(
        pt.is_timestamp(kind) or pt.is_int64(kind)
        for kind in (binding.left.time_field().type, binding.right.time_field().type)
    )
    same = axis.left == axis.right == 1 and BOTTOM < axis.lower <= axis.upper < TOP
    return not kinds and stored and same and _plain_keys(binding)


def _plain_keys(binding: Binding) -> bool:
    if not binding.families:
        return True
    kinds = [one.key_fields()[0].type for one in (binding.left, binding.right)]
    whole = all(pt.is_integer(kind) or pt.is_date32(kind) or pt.is_timestamp(kind) for kind in kinds)
    unit = kinds[0] == kinds[1] or all(pt.is_integer(kind) and not pt.is_uint64(kind) for kind in kinds)
    return len(binding.families) == 1 and whole and unit

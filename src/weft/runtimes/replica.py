"""One shard of a join: packs of rows in, pairs out, and a commit to a log at the end of every batch.

The rows of a batch are judged by the watermark before it; what expires goes by the one after it. Right packs
meet the stored left rows and are stored, then left packs meet all right rows: each pair once. A pack's rows
become chunks only if they outlive the batch.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.edge.arrivals import arrive
from weft.edge.result import result_table
from weft.errors import LateRowError
from weft.indexes.pairs import pieces
from weft.indexes.run import ALL, above
from weft.indexes.runs import crowd
from weft.progress.watermark import Progress
from weft.runtimes.joins import allowances, empty_join, horizons, judge, usable
from weft.runtimes.rows import batch_of
from weft.state.chunks import read_table
from weft.state.log import Codec, Log
from weft.state.manifest import Manifest
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from weft.edge.binding import Binding
    from weft.indexes.run import Batch
    from weft.runtimes.joins import Join
    from weft.spec import JoinSpec
    from weft.state.log import Store

LATE = (
    'start the query again with late="drop", which counts late rows: its checkpoint goes on from the '
    "batch before; "
    "more `lateness` spares rows to come"
)
MOST_PAIRS = 1 << 17  # of one delivered table: a few MiB, which the receiver takes while the next is made


COUNTED = ("rows_left", "rows_right", "pairs", "late_left", "late_right")


@dataclass(frozen=True, slots=True)
class Pack:
    """What one emitter task says to one shard of one input: its rows there, and how far it has come.

    `newest` is the largest time of all its rows, in the time column's own unit; `rows` are those it has seen.
    """

    side: Side
    source: int
    newest: int | None
    rows: int
    data: bytes | None


class Replica:
    """The state of one shard while a batch is taken; `manifest` is that of the last commit."""

    def __init__(
        self, spec: JoinSpec, binding: Binding, join: Join, manifest: Manifest, store: Store
    ) -> None:
        self.join = join
        self.manifest = manifest
        self._policy = spec.late
        self._sides = {"left": binding.left, "right": binding.right}
        self._progress = Progress(allowances(spec), manifest.inputs, manifest.watermark).resumed()
        self._log = Log(store, manifest.chunks, manifest.begun)
        self._counts = Counter(dict.fromkeys(COUNTED, 0) | dict(manifest.counts))
        self._fresh: list[tuple[Side, Batch]] = []

    def take(self, packs: Iterable[Pack]) -> Iterator[pa.Table]:
        """Take all packs of a batch; return the pairs that they complete, piece by piece, then commit."""
        newest: dict[tuple[Side, int], int] = {}
        before = horizons(self.join.binding, self._progress)
        held = []
        for pack in packs:
            self._note(pack, newest)
            if pack.data is None:
                continue
            if pack.side == "left":  # it waits, packed, until all right rows are in
                held.append((pack, pack.data))
            else:
                yield from self._step(pack, pack.data, before, ALL)
        progress = self._progress.observed(newest)
        after = horizons(self.join.binding, progress)
        for pack, data in held:
            yield from self._step(pack, data, before, after["left"])
        self._commit(progress, after)

    def _note(self, pack: Pack, newest: dict[tuple[Side, int], int]) -> None:
        """Count the rows that an emitter has seen, and see how far its input has come."""
        self._counts[f"rows_{pack.side}"] += pack.rows
        if pack.newest is not None:
            time = pack.newest * self._sides[pack.side].clock.tick
            place = pack.side, pack.source
            newest[place] = max(time, newest.get(place, time))

    def _step(self, pack: Pack, data: bytes, before: Mapping[Side, int], horizon: int) -> Iterator[pa.Table]:
        """Match the rows of a pack with the other side's window, deliver their pairs, store them."""
        join, side = self.join, pack.side
        arrived = arrive(side, pack.source, read_table(data), self._sides[side])
        try:
            judged = judge(arrived, self._sides[side], self._progress.watermark, self._policy)
        except LateRowError as error:
            error.hint = LATE
            raise
        self._counts[f"late_{side}"] += 0 if judged.late is None else int(judged.late.sum())
        batch = batch_of(join.binding, arrived, usable(judged), join.interner.intern)
        keys = max(join.interner.size, 1)
        join.operator.prepare({side: batch}, keys, before)
        pairs = join.operator.match(side, batch)
        join.operator.windows[side].insert(batch, keys, horizon)
        self._fresh.append((side, above(batch, horizon)))
        for piece in pieces(pairs, MOST_PAIRS):
            delivered = result_table(join.binding.schema, join.columns, piece)
            self._counts["pairs"] += delivered.num_rows
            yield delivered
        if crowd(join.operator.windows[side].runs) is not None:  # many packs: as few runs as in many pushes
            join.operator.purge(keys, before)

    def _commit(self, progress: Progress, after: Mapping[Side, int]) -> None:
        """Write what outlives the batch to the log, drop what does not, and draw a new nonce."""
        join, log, codec = self.join, self._log, codec_of(self.join)
        for side, batch in self._fresh:
            log.append(side, above(batch, after[side]), codec)
        log.tidy(after, codec)
        join.operator.purge(codec.keys, after)
        if join.crowded():
            join.forget_keys()
        self.manifest = Manifest(
            secrets.token_hex(16),
            progress.inputs,
            progress.watermark,
            dict(self._counts),
            tuple(log.chunks),
            log.begun,
        )


def codec_of(join: Join) -> Codec:
    """Return how the rows of a join become chunks."""
    binding = join.binding
    sides = {"left": binding.left, "right": binding.right}
    payload: dict[Side, list[pa.Field]] = {
        side: [sides[side].schema.field(place) for place in kept]
        for side, kept in zip(SIDES, binding.kept, strict=True)
    }
    return Codec(join.interner if binding.families else None, payload)


def caught_up(spec: JoinSpec, binding: Binding, manifest: Manifest, store: Store) -> Join:
    """Return a join with the rows that a manifest names, read from the log."""
    join = empty_join(spec, binding)
    codec = codec_of(join)
    for side, batch in Log(store, manifest.chunks, manifest.begun).read(codec):
        join.operator.windows[side].load(batch, codec.keys)
    return join

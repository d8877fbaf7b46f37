"""Workloads that are one join: the case, the jobs of its contenders, and the comparison of their answers."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.model import Answer, Figure, Job, Setting, Trial
from bench.peers import contender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

# A contender hands every piece of its result (an Arrow table, a Polars frame) to `Keep`. It returns what must
# outlive the measurement: a table that is whole at the end is not also freed on the clock.
Keep = Callable[[Any], None]
Run = Callable[[Keep], object]

SLICE = 1 << 18
NULL = np.uint64(0xB5297A4D3C2E1F09)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class JoinCase:
    """Join `left` and `right` on `key`, with lower <= right.ts - left.ts <= upper, in microseconds."""

    left: pa.Table
    right: pa.Table
    lower: int
    upper: int
    lateness: int
    push: int = 65_536  # rows a push and side, for streams

    @property
    def rows(self) -> int:
        """Rows of both sides."""
        return int(self.left.num_rows + self.right.num_rows)

    @property
    def output(self) -> list[str]:
        """Return the result's column names in order."""
        left: list[str] = self.left.column_names
        right = [name for name in self.right.column_names if name != "key"]
        return left + [f"{name}_right" if name in left else name for name in right]


def fold(column: pa.Array) -> Words:
    """Return one 64-bit word a row that depends on nothing but the value."""
    words: Words
    if column.type in {pa.string(), pa.large_string(), pa.string_view()}:
        encoded = column.cast(pa.large_string()).fill_null("").dictionary_encode()
        hashes = [zlib.crc32(text.encode()) for text in encoded.dictionary.to_pylist()]
        words = np.array(hashes, np.uint64)[encoded.indices.to_numpy()]
    elif pa.types.is_floating(column.type):
        words = column.cast(pa.float64()).fill_null(0.0).to_numpy().view(np.uint64)
    else:
        words = column.cast(pa.int64()).fill_null(0).to_numpy().view(np.uint64)
    if column.null_count:
        words = np.where(column.is_null().to_numpy(zero_copy_only=False), NULL, words)
    return words


def checksum(table: pa.Table, names: Sequence[str]) -> int:
    """Return a sum over rows, so that their order does not matter, of a mix of all columns of a row."""
    total = 0
    for start in range(0, table.num_rows, SLICE):
        piece = table.slice(start, SLICE).combine_chunks()
        mixed = np.zeros(piece.num_rows, np.uint64)
        for name in names:
            # Multiply and shift after every column: values that change places or rows change the sum.
            mixed = (mixed ^ fold(piece[name].chunk(0))) * GOLDEN
            mixed ^= mixed >> np.uint64(29)
        total += int(mixed.sum(dtype=np.uint64))
    return total % (1 << 64)


def as_arrow(piece: Any, names: Sequence[str]) -> pa.Table:
    """Return a piece of a result as an Arrow table, whoever made it; refuse other columns than these."""
    table = piece if isinstance(piece, pa.Table) else piece.to_arrow()
    if table.column_names != list(names):
        message = f"the result has the columns {table.column_names}; expected {list(names)}"
        raise ValueError(message)
    return table


def answer(run: Run, names: Sequence[str]) -> Answer:
    """Run once and reduce all that comes out to a count and a checksum."""
    pairs = total = 0

    def keep(piece: Any) -> None:
        nonlocal pairs, total
        pairs += len(piece)
        total += checksum(as_arrow(piece, names), names)

    run(keep)
    return Answer(pairs, total % (1 << 64))


def timed(run: Run, rows: int) -> dict[str, float]:
    """Return rows per second of the second of two runs in a row; the pieces are counted and let go.

    While the others have their turn, a process gives its free memory back. With fresh pages to fetch, Polars
    ran W2 at a third of its speed (2.1 instead of 6.5 M rows/s), weft at two thirds: hence the run before.
    """
    pairs = 0

    def keep(piece: Any) -> None:
        nonlocal pairs
        pairs += len(piece)

    run(lambda _: None)
    start = time.perf_counter()
    result = run(keep)
    seconds = time.perf_counter() - start
    del result
    return {"rows/s": rows / seconds, "pairs": pairs}


def join_job(name: str, make: Callable[[Setting], JoinCase]) -> Job:
    """Return the job of one contender for this case."""

    def job(setting: Setting) -> Trial:
        case = make(setting)
        run = contender(name)(case)
        return Trial(case.rows, lambda: answer(run, case.output), lambda: timed(run, case.rows))

    return job


def join_jobs(make: Callable[[Setting], JoinCase], *names: str) -> dict[str, Job]:
    """Return one job a contender."""
    return {name: join_job(name, make) for name in names}


def throughput(at_least: float | None, goal: float | None, *over: str) -> tuple[Figure, ...]:
    """Return the one figure of these workloads: rows per second, judged beside the fastest of `over`."""
    return (Figure("rows/s", "rows/s", "higher", at_least, goal, over),)

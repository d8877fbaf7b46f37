"""A push of a few rows in one call: look up, find, write the pairs into an arena, append. 2 us for one row.

The call takes one array, the *desk*: everything else is addresses that lie on it, so that nothing is unboxed.
A window lies on a *card*: its mutable part, then its runs. The general way (operators/interval.py) says what
all this means; this way takes what it can and answers GENERAL, nothing changed, for what it can't.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.kernels.hashing import home, mix
from weft.kernels.jit import kernel
from weft.kernels.words import byte, int64, let_go, load4, load8, ones, store1, store4, store8, word

I64 = npt.NDArray[np.int64]

# The desk. Addresses, unless the name says otherwise; what a call writes stands at the end.
(
    BATCH,
    LATE,
    LOW,
    HIGH,
    KEY,
    KEY_WIDTH,
    TIME,
    OWN,
    OTHER,
    TABLE,
    SLOTS,
    MOST_KEYS,
    KNOWN,
    ODD,
    IDS,
    HITS,
    MOST_HITS,
    OUT,
    OUTS,
    KEPT,
    KEPTS,
    ROOM,
    USED,
    FILLED,
    PAIRS,
    NEWEST,
) = range(26)
DESK = 26
# A card: rows, heads, how many heads, ids, lead, behind, rest, runs, columns; a tail a column; the runs.
ROWS, HEADS, KEYS, ROW_IDS, LEAD, BEHIND, REST, RUNS, COLUMNS, TAILS = range(10)
# A run on a card: bits, words of bits, ranks, offsets, lead, oldest, newest; then its columns.
BITS, WORDS, RANKS, OFFSETS, RUN_LEAD, RUN_OLDEST, RUN_NEWEST, RUN_COLUMNS = range(8)
# An output column: whether it is the pushed side's, its place there, bytes of a value, where it is written.
OUT_FIELDS = 4
OFFSET = 4  # bytes of a run's offset

DONE, GENERAL, NO_ROOM = 0, 1, 2
TOP = np.iinfo(np.int64).max
BOTTOM = np.iinfo(np.int64).min


@kernel
def push_small(desk: I64) -> int:
    """Do a whole push; return DONE, GENERAL, or NO_ROOM where the arena has no room for the PAIRS found."""
    answer = _push(desk.ctypes.data)
    batch = desk[BATCH]
    let_go(load8(batch + 64), batch)
    return answer


@kernel
def _push(desk: int) -> int:
    batch = load8(desk + 8 * BATCH)
    rows = load8(batch)
    if not _plain(desk, batch) or not _in_time(desk, batch, rows) or not _named(desk, batch, rows):
        return GENERAL
    hits = _found(desk, batch, rows)
    if hits < 0:
        return GENERAL
    if load8(desk + 8 * PAIRS) > load8(desk + 8 * ROOM) - load8(desk + 8 * FILLED):
        return NO_ROOM
    _written(desk, batch, hits)
    _appended(desk, batch, rows)
    store8(desk + 8 * FILLED, load8(desk + 8 * FILLED) + load8(desk + 8 * PAIRS))
    return DONE


@kernel
def _child(batch: int, place: int) -> int:
    """Return the address of a column of an exported batch (Arrow's C data interface)."""
    return load8(load8(batch + 48) + 8 * place)


@kernel
def _values(batch: int, place: int, width: int) -> int:
    """Return the address of a column's first value."""
    column = _child(batch, place)
    return load8(load8(column + 40) + 8) + (load8(column + 16) + load8(batch + 16)) * width


@kernel
def _nullable(batch: int, place: int) -> bool:
    column = _child(batch, place)
    nulls = load8(column + 8)
    return nulls > 0 or (nulls < 0 and load8(load8(column + 40)) != 0)


@kernel
def _plain(desk: int, batch: int) -> bool:
    """Tell whether no column that counts has nulls."""
    key = load8(desk + 8 * KEY)
    if (key >= 0 and _nullable(batch, key)) or _nullable(batch, load8(desk + 8 * TIME)):
        return False
    kept = load8(desk + 8 * KEPT)
    for k in range(load8(desk + 8 * KEPTS)):
        if _nullable(batch, load8(kept + 16 * k)):
            return False
    return True


@kernel
def _in_time(desk: int, batch: int, rows: int) -> bool:
    """Tell whether no row is late and none so near the ends of int64 that its reach would leave them."""
    times = _values(batch, load8(desk + 8 * TIME), 8)
    late, low, high = load8(desk + 8 * LATE), load8(desk + 8 * LOW), load8(desk + 8 * HIGH)
    newest, oldest = BOTTOM, TOP
    for i in range(rows):
        time = load8(times + 8 * i)
        newest = max(newest, time)
        oldest = min(oldest, time)
    store8(desk + 8 * NEWEST, newest)
    return rows > 0 and oldest >= late and newest < TOP - max(high, 0) and oldest >= BOTTOM - min(low, 0)


@kernel
def _key(values: int, row: int, width: int) -> int:
    """Return a key of 8 or 4 bytes, or of fewer: widths below 0 are unsigned."""
    if width == 8:
        return load8(values + 8 * row)
    if width == 4:
        return int64(load4(values + 4 * row))
    size = abs(width)
    value = np.uint64(0)
    for k in range(size):
        value |= np.uint64(byte(values + size * row + k)) << np.uint64(8 * k)
    if width > 0 and size < 8 and (value >> np.uint64(8 * size - 1)) != 0:
        return int64(value) - (int64(1) << int64(8 * size))
    return int64(value)


@kernel
def _named(desk: int, batch: int, rows: int) -> bool:
    """Give each row its key's id; False where the table is full (what was named stays, and does no harm)."""
    ids, key = load8(desk + 8 * IDS), load8(desk + 8 * KEY)
    if key < 0:
        for i in range(rows):
            store4(ids + 4 * i, np.int32(0))
        return True
    width = load8(desk + 8 * KEY_WIDTH)
    values = _values(batch, key, abs(width))
    table, slots, odd = load8(desk + 8 * TABLE), load8(desk + 8 * SLOTS), load8(desk + 8 * ODD)
    used = load8(desk + 8 * USED)
    for i in range(rows):
        value = _key(values, i, width)
        slot = home(mix(value, odd), slots)
        while load8(table + 16 * slot + 8) != 0 and load8(table + 16 * slot) != value:
            slot = (slot + 1) & (slots - 1)
        held = load8(table + 16 * slot + 8)
        if held == 0:
            if used >= load8(desk + 8 * MOST_KEYS):
                return False
            store8(load8(desk + 8 * KNOWN) + 8 * used, value)
            used += 1
            held = used
            store8(table + 16 * slot, value)
            store8(table + 16 * slot + 8, held)
            store8(desk + 8 * USED, used)
        store4(ids + 4 * i, np.int32(held - 1))
    return used <= load8(load8(desk + 8 * OWN) + 8 * KEYS)


@kernel
def _found(desk: int, batch: int, rows: int) -> int:
    """Write hits (row, run or -1, start, count) for all that each row meets; how many, or -1 if too many."""
    times, ids = _values(batch, load8(desk + 8 * TIME), 8), load8(desk + 8 * IDS)
    low, high = load8(desk + 8 * LOW), load8(desk + 8 * HIGH)
    card, hits, most = load8(desk + 8 * OTHER), load8(desk + 8 * HITS), load8(desk + 8 * MOST_HITS)
    size = 8 * (RUN_COLUMNS + load8(card + 8 * COLUMNS))
    first = card + 8 * (TAILS + load8(card + 8 * COLUMNS))
    found = pairs = 0
    for i in range(rows):
        id_, time = int64(load4(ids + 4 * i)), load8(times + 8 * i)
        for r in range(load8(card + 8 * RUNS)):
            start, count = _slice(first + r * size, id_, time + low, time + high)
            if count > 0:
                if found >= most:
                    return -1
                _hit(hits + 32 * found, i, r, start, count)
                found += 1
                pairs += count
        before = found
        found = _followed(card, (id_, time + low, time + high), hits, (found, most, i))
        if found < 0:
            return -1
        pairs += found - before
    store8(desk + 8 * PAIRS, pairs)
    return found


@kernel
def _hit(hit: int, row: int, part: int, start: int, count: int) -> None:
    store8(hit, row)
    store8(hit + 8, part)
    store8(hit + 16, start)
    store8(hit + 24, count)


@kernel
def _slice(run: int, id_: int, low: int, high: int) -> tuple[int, int]:
    """Return where a key's rows in [low, high] begin in a run, and how many there are."""
    if (
        low > load8(run + 8 * RUN_NEWEST)
        or high < load8(run + 8 * RUN_OLDEST)
        or (id_ >> 6) >= load8(run + 8 * WORDS)
    ):
        return 0, 0
    bits = word(load8(run + 8 * BITS) + 8 * (id_ >> 6))
    bit = np.uint64(1) << np.uint64(id_ & 63)
    if bits & bit == 0:
        return 0, 0
    slot = int64(load4(load8(run + 8 * RANKS) + 4 * (id_ >> 6))) + ones(bits & (bit - np.uint64(1)))
    offsets, lead = load8(run + 8 * OFFSETS), load8(run + 8 * RUN_LEAD)
    first, last = int64(load4(offsets + 4 * slot)), int64(load4(offsets + 4 * slot + 4))
    start = _first_from(lead, low, first, last)
    return start, _first_from(lead, high + 1, start, last) - start


@kernel
def _first_from(lead: int, bound: int, first: int, last: int) -> int:
    """Return the first position in [first, last) whose lead is not below `bound`, seeking from the end."""
    step, low, high = 1, first, last
    while high - step >= first and load8(lead + 8 * (high - step)) >= bound:
        high -= step
        step += step
    low = max(high - step + 1, first) if high - step >= first else first
    while low < high:
        middle = (low + high) >> 1
        if load8(lead + 8 * middle) < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _followed(card: int, want: tuple[int, int, int], hits: int, state: tuple[int, int, int]) -> int:
    """Walk a key's chain in the mutable part; return the hits there are now, -1 if too many."""
    id_, low, high = want
    found, most, probe = state
    if id_ >= load8(card + 8 * KEYS):
        return found
    lead, rest, behind = load8(card + 8 * LEAD), load8(card + 8 * REST), load8(card + 8 * BEHIND)
    row = int64(load4(load8(card + 8 * HEADS) + 4 * id_))
    while row >= 0 and load8(rest + 8 * row) >= low:
        time = load8(lead + 8 * row)
        if low <= time <= high:
            if found >= most:
                return -1
            _hit(hits + 32 * found, probe, -1, row, 1)
            found += 1
        row = int64(load4(behind + 4 * row))
    return found


@kernel
def _written(desk: int, batch: int, hits: int) -> None:
    """Write every output column of the hits behind what the arena holds."""
    card, filled = load8(desk + 8 * OTHER), load8(desk + 8 * FILLED)
    columns = load8(card + 8 * COLUMNS)
    size = 8 * (RUN_COLUMNS + columns)
    first = card + 8 * (TAILS + columns)
    for c in range(load8(desk + 8 * OUTS)):
        column = load8(desk + 8 * OUT) + 8 * OUT_FIELDS * c
        own, place, width = load8(column), load8(column + 8), load8(column + 16)
        to = load8(column + 24) + filled * width
        mine = _values(batch, place, width) if own else 0
        hit = load8(desk + 8 * HITS)
        for _ in range(hits):
            count = load8(hit + 24)
            if own:
                for k in range(count):
                    _move(to + k * width, mine + load8(hit) * width, width)
            else:
                part = load8(hit + 8)
                at = card + 8 * TAILS if part < 0 else first + part * size + 8 * RUN_COLUMNS
                _move(to, load8(at + 8 * place) + load8(hit + 16) * width, count * width)
            to += count * width
            hit += 32


@kernel
def _move(to: int, source: int, size: int) -> None:
    """Copy bytes, eight at a time."""
    done = 0
    while done + 8 <= size:
        store8(to + done, load8(source + done))
        done += 8
    while done < size:
        store1(to + done, byte(source + done))
        done += 1


@kernel
def _appended(desk: int, batch: int, rows: int) -> None:
    """Append the rows to the pushed side's mutable part."""
    card, ids = load8(desk + 8 * OWN), load8(desk + 8 * IDS)
    times = _values(batch, load8(desk + 8 * TIME), 8)
    heads, lead = load8(card + 8 * HEADS), load8(card + 8 * LEAD)
    behind, rest = load8(card + 8 * BEHIND), load8(card + 8 * REST)
    first, kept = load8(card), load8(desk + 8 * KEPT)
    for k in range(load8(desk + 8 * KEPTS)):
        width = load8(kept + 16 * k + 8)
        source = _values(batch, load8(kept + 16 * k), width)
        _move(load8(card + 8 * (TAILS + k)) + first * width, source, rows * width)
    for i in range(rows):
        row, id_, time = first + i, int64(load4(ids + 4 * i)), load8(times + 8 * i)
        head = int64(load4(heads + 4 * id_))
        store4(load8(card + 8 * ROW_IDS) + 4 * row, np.int32(id_))
        store8(lead + 8 * row, time)
        store4(behind + 4 * row, np.int32(head))
        store8(rest + 8 * row, max(time, load8(rest + 8 * head)) if head >= 0 else time)
        store4(heads + 4 * id_, np.int32(row))
    store8(card, first + rows)

"""The emitter sends every row to one shard, equal keys to the same one, and the time to all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from tests.kernels.memory import SEEDS, tries
from tests.support.cases import Case, side_of
from tests.support.families import FAMILIES, Family, array_of
from tests.support.players import Settings
from tests.support.rows import rows_of, values_of
from tests.support.sharded import plan_of, travelling
from tests.support.streams import cases, relaid
from weft.columns import arrow_size
from weft.edge.binding import bind, bind_side
from weft.spark.emitter import PACKED_ARROW, Emitter
from weft.spark.plan import ShardPlan, narrowed
from weft.spark.shards import shard_keys
from weft.spec import join_spec
from weft.state.chunks import read_table

PLAIN = pa.schema([("id", pa.int64()), ("key", pa.int64()), ("ts", pa.int64())])
INPUT = {"left": 0, "right": 1}


def plan(shards: int, left: pa.Schema = PLAIN, right: pa.Schema | None = None, **more: Any) -> ShardPlan:
    """Return the plan of a join on `key` and `ts`."""
    spec = join_spec(**{"on": "key", "time": "ts", "lower": 0, "upper": 1, "lateness": 0} | more)
    sides = bind_side(spec, "left", left), bind_side(spec, "right", left if right is None else right)
    return ShardPlan(spec, narrowed(bind(spec, *sides))[0], shards)


@dataclass(slots=True)
class Sent:
    """What an emitter sent: by shard, its tables of rows; and all that was said beside them."""

    tables: dict[int, list[pa.Table]] = field(default_factory=dict)
    packs: list[bytes] = field(default_factory=list)
    newest: dict[int, list[int]] = field(default_factory=dict)
    rows: int = 0
    words: int = 0

    @property
    def ids(self) -> dict[int, list[int]]:
        """Return the ids of the rows of each shard."""
        return {
            shard: [id_ for table in tables for id_ in values_of(table["id"])]
            for shard, tables in self.tables.items()
        }


def sent(one: ShardPlan, batches: Sequence[pa.RecordBatch], number: int = 0) -> Sent:
    """Run an emitter over the batches of one task."""
    told = Sent()
    for batch in Emitter(one, number)(iter(batches)):
        assert batch.schema == PACKED_ARROW
        batch.validate(full=True)
        for row in batch.to_pylist():
            assert row["input"] == number
            told.words += 1
            told.rows += row["rows"]
            if row["told"]:
                told.newest.setdefault(row["shard"], []).append(row["newest"])
            if row["pack"] is not None:
                told.packs.append(row["pack"])
                told.tables.setdefault(row["shard"], []).append(read_table(row["pack"]))
    assert set(told.tables) | set(told.newest) <= set(shard_keys(one.shards))
    return told


def all_told(shards: int, newest: int) -> dict[int, list[int]]:
    """Return what is said of the time when every shard hears of it once."""
    return {key: [newest] for key in shard_keys(shards)}


def rows(first: int, count: int, **more: Any) -> pa.RecordBatch:
    """Return so many rows, a key a row."""
    at = range(first, first + count)
    columns = {"id": pa.array(at), "key": pa.array(at), "ts": pa.array(at)} | more
    return pa.RecordBatch.from_pydict(columns)


@given(case=cases(rows=12).map(travelling), seed=SEEDS)
@tries(60)
def test_every_row_with_a_time_goes_to_one_shard_as_it_was(case: Case, seed: int) -> None:
    random = Random(seed)
    one, needed = plan_of(case, Settings((0, 0)), random.choice((1, 2, 3, 8, 200)))
    for side, number in INPUT.items():
        stream, time = (case.left, case.left_time) if side == "left" else (case.right, case.right_time)
        kept = [stream.schema.names[place] for place in needed[side]]  # type: ignore[index]
        table = pa.table({name: stream.columns[name].array(range(len(stream))) for name in kept})
        batches = relaid(random, table).to_batches()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("weft.spark.emitter.PACK", random.choice((30, 200, 1 << 25)))
            told = sent(one, batches, number)
        tables = [each for shard in told.tables.values() for each in shard]
        assert all(each.schema.equals(table.schema) and each.num_rows for each in tables)
        expected = [row for row in rows_of(table) if row[time] is not None]
        assert _multiset(rows_of(each) for each in tables) == _multiset([expected])
        assert told.rows == len(stream)
        times = [at for at in _stored(table[time]) if at is not None]
        keys = shard_keys(one.shards) if len(stream) else ()
        assert told.newest == ({key: [max(times)] for key in keys} if times else {})


def _multiset(parts: Any) -> Counter[Any]:
    return Counter(tuple(row.items()) for part in parts for row in part)


def _stored(column: pa.ChunkedArray) -> Iterator[int | None]:
    kind = column.type
    wide = kind.bit_width == 64
    for chunk in column.chunks:
        whole = chunk if pa.types.is_integer(kind) else chunk.view(pa.int64() if wide else pa.int32())
        yield from whole.to_pylist()


UNLIKE = [
    (family, one, other)
    for family in FAMILIES
    for at, one in enumerate(family.kinds)
    for other in family.kinds[at:]
    if "view" not in f"{one} {other}"  # which Spark has not
]


@pytest.mark.parametrize(
    ("family", "one", "other"), UNLIKE, ids=[f"{one}-{other}" for _, one, other in UNLIKE]
)
def test_equal_keys_of_unlike_types_go_to_the_same_shard(
    family: Family, one: pa.DataType, other: pa.DataType
) -> None:
    both = [value for value in family.pool_of(one) if value in family.pool_of(other)]
    schemas = [pa.schema([("id", pa.int64()), ("key", kind), ("ts", pa.int64())]) for kind in (one, other)]
    placed = []
    for number, schema in enumerate(schemas):
        columns = [pa.array(range(len(both)), pa.int64()), array_of(schema.field("key").type, both)]
        batch = pa.RecordBatch.from_arrays([*columns, columns[0]], schema=schema)
        told = sent(plan(64, *schemas), [batch], number)
        placed.append({id_: shard for shard, ids in told.ids.items() for id_ in ids})
    assert placed[0] == placed[1]
    assert len(placed[0]) == len(both)


def test_several_keys_and_both_sides_agree() -> None:
    left = pa.schema([("id", pa.int64()), ("a", pa.int32()), ("b", pa.string()), ("ts", pa.int64())])
    right = pa.schema([("ts", pa.int64()), ("b", pa.large_string()), ("id", pa.int64()), ("a", pa.uint8())])
    one = plan(64, left, right, on=["a", "b"])
    at = range(100)
    values = {"id": at, "a": at, "b": [str(number % 7) for number in at], "ts": at}
    placed = []
    for number, schema in enumerate((left, right)):
        columns = [pa.array(values[field.name], field.type) for field in schema]
        told = sent(one, [pa.RecordBatch.from_arrays(columns, schema=schema)], number)
        placed.append({id_: shard for shard, ids in told.ids.items() for id_ in ids})
    assert placed[0] == placed[1]
    assert len(set(placed[0].values())) > 30


def test_rows_without_a_key_are_spread() -> None:
    told = sent(plan(8), [rows(0, 800, key=pa.nulls(800, pa.int64()))])
    assert min(len(ids) for ids in told.ids.values()) > 40
    assert sum(len(ids) for ids in told.ids.values()) == 800


def test_one_key_goes_to_one_shard() -> None:
    told = sent(plan(8), [rows(0, 800, key=pa.array([5] * 800))])
    assert [len(ids) for ids in told.ids.values()] == [800]


def test_a_join_on_time_alone_goes_to_one_shard() -> None:
    told = sent(plan(8, on=None), [rows(0, 800)])
    assert list(told.ids) == [shard_keys(8)[0]]


def test_rows_of_a_shard_stay_in_order() -> None:
    told = sent(plan(3), [rows(at * 100, 100) for at in range(5)])
    assert all(ids == sorted(ids) for ids in told.ids.values())


@pytest.mark.parametrize("shards", [1, 2, 7, 200])
def test_every_shard_hears_of_the_time_once_a_task(shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 1000)
    told = sent(plan(shards), [rows(at, 50) for at in (500, 900, 100)])
    assert told.newest == {key: [949] for key in shard_keys(shards)}
    assert told.rows == 150


def test_the_time_is_told_with_the_last_pack_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 1000)
    batches = list(Emitter(plan(1), 0)(iter([rows(at * 50, 50) for at in range(6)])))
    flags = [flag for batch in batches for flag in batch.column("told").to_pylist()]
    assert flags[-1] is True
    assert not any(flags[:-1])
    assert len(flags) > 2


def test_the_newest_time_overlooks_nulls() -> None:
    times = pa.array([None, 7, None, 3], pa.int64())
    told = sent(plan(2), [rows(0, 4, ts=times)])
    assert told.newest == all_told(2, 7)
    assert told.rows == 4
    assert sorted(id_ for ids in told.ids.values() for id_ in ids) == [1, 3]


@pytest.mark.parametrize("newest", [0, -5, -(2**63), 2**63 - 1])
def test_any_time_may_be_the_newest(newest: int) -> None:
    told = sent(plan(2), [rows(0, 1, ts=pa.array([newest]))])
    assert told.newest == all_told(2, newest)


def test_a_task_of_rows_without_a_time_is_counted_and_tells_none() -> None:
    nothing = pa.nulls(4, pa.int64())
    told = sent(plan(3), [rows(0, 4, ts=nothing)])
    assert (told.rows, told.words, told.newest, told.tables) == (4, 3, {}, {})


@pytest.mark.parametrize("place", range(3))
def test_a_table_of_rows_without_a_time_among_others_holds_up_nothing(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 1)
    batches = [rows(at * 10, 1) for at in range(2)]
    batches.insert(place, rows(90, 1, ts=pa.nulls(1, pa.int64())))
    told = sent(plan(2), batches)
    assert told.rows == 3
    assert told.newest == all_told(2, 10)
    assert sorted(id_ for ids in told.ids.values() for id_ in ids) == [0, 10]


@pytest.mark.parametrize("batches", [[], [rows(0, 0)], [rows(0, 0)] * 3], ids=["none", "one", "three"])
def test_a_task_without_rows_says_nothing(batches: list[pa.RecordBatch]) -> None:
    assert sent(plan(3), batches).words == 0


def test_batches_without_rows_among_others_are_passed_over() -> None:
    told = sent(plan(3), [rows(0, 0), rows(0, 5), rows(0, 0)])
    assert (told.rows, told.words) == (5, 3)


def text_rows(first: int, sizes: Sequence[int]) -> pa.RecordBatch:
    """Return rows that hold a text of each of these sizes."""
    words = pa.array(["x" * size for size in sizes], pa.string())
    return rows(first, len(sizes), word=words)


WORDY = PLAIN.append(pa.field("word", pa.string()))


def test_packs_are_of_a_bounded_size_however_rows_come(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 5000
    monkeypatch.setattr("weft.spark.emitter.PACK", most)
    for per_batch in (1, 8, 100, 3000):
        batches = [text_rows(first, [10] * per_batch) for first in range(0, 3000, per_batch)]
        told = sent(plan(1, WORDY), batches)
        sizes = [arrow_size(table) for tables in told.tables.values() for table in tables]
        assert max(sizes) <= most + 200
        assert len(sizes) <= 2 * sum(sizes) / most + 1  # and coalesced: not a pack a batch
        assert sorted(id_ for ids in told.ids.values() for id_ in ids) == list(range(3000))


def test_a_batch_larger_than_a_pack_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 2000)
    told = sent(plan(1, WORDY), [text_rows(0, [50] * 500)])
    assert len(told.packs) >= 500 * 74 // 4000
    assert [id_ for ids in told.ids.values() for id_ in ids] == list(range(500))


@pytest.mark.parametrize("place", [0, 50, 99])
def test_a_giant_row_travels_whole(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 2000)
    sizes = [10] * 100
    sizes[place] = 100_000
    told = sent(plan(3, WORDY), [text_rows(0, sizes)])
    words = {
        row["id"]: len(row["word"]) for tables in told.tables.values() for t in tables for row in rows_of(t)
    }
    assert words == dict(enumerate(sizes))
    small = [arrow_size(table) for tables in told.tables.values() for table in tables]
    assert sum(size > 2200 for size in small) == 1


def test_packs_are_bounded_by_bytes_not_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 20_000)
    told = sent(plan(1, WORDY), [text_rows(0, [10_000]), text_rows(1, [9_000] * 10 + [0] * 2000)])
    assert max(arrow_size(table) for tables in told.tables.values() for table in tables) <= 20_200
    assert told.rows == 2011


def test_one_giant_row_alone_travels_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.spark.emitter.PACK", 100)
    told = sent(plan(2, WORDY), [text_rows(3, [10_000])])
    assert told.ids == {shard: [3] for shard in told.ids}
    assert told.rows == 1


def test_a_pack_holds_only_its_shards_share(monkeypatch: pytest.MonkeyPatch) -> None:
    told = sent(plan(200), [rows(0, 20_000)])
    assert sum(map(len, told.packs)) < 20_000 * 24 + 200 * 1500
    assert max(map(len, told.packs)) < 8000


CASTS = [
    (pa.string(), pa.large_string(), ["a", None, "é"]),
    (pa.binary(), pa.large_binary(), [b"a", None, b"\xff"]),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Rome"), [0, None, 10**15]),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "America/Los_Angeles"), [0, None, 10**15]),
    (pa.list_(pa.string()), pa.list_(pa.large_string()), [["a"], None, []]),
    (
        pa.struct([("a", pa.timestamp("us", "UTC"))]),
        pa.struct([("a", pa.timestamp("us", "Asia/Tokyo"))]),
        [{"a": 0}, None, {"a": None}],
    ),
    (pa.map_(pa.string(), pa.int8()), pa.map_(pa.large_string(), pa.int8()), [[("a", 1)], None, []]),
    (pa.decimal128(10, 2), pa.decimal128(10, 2), [Decimal("1.50"), None, Decimal(0)]),
]


@pytest.mark.parametrize(("planned", "came", "values"), CASTS, ids=[str(came) for _, came, _ in CASTS])
def test_payload_comes_in_the_types_of_the_plan(
    planned: pa.DataType, came: pa.DataType, values: list[Any]
) -> None:
    one = plan(2, PLAIN.append(pa.field("p", planned)))
    told = sent(one, [rows(0, 3, p=array_of(came, values))])
    got = {}
    for tables in told.tables.values():
        for table in tables:
            assert table.schema.field("p").type == planned
            got |= dict(zip(table["id"].to_pylist(), values_of(table["p"]), strict=True))
    assert got == dict(enumerate(values_of(array_of(planned, values))))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Rome", "-03:00"])
def test_keys_and_times_come_in_the_types_of_the_plan(zone: str) -> None:
    clock = pa.timestamp("us", "UTC")
    schema = pa.schema([("id", pa.int64()), ("key", pa.string()), ("ts", clock)])
    one = plan(64, schema, lower="0 s", upper="1 s", lateness="0 s")
    at = np.arange(50) * 10**6
    told = []
    for text, kind in ((pa.string(), clock), (pa.large_string(), pa.timestamp("us", zone))):
        keys = pa.array([f"k{number}" for number in range(50)], text)
        batch = pa.RecordBatch.from_arrays(
            [pa.array(range(50)), keys, pa.array(at).view(kind)], ["id", "key", "ts"]
        )
        told.append(sent(one, [batch]))
    assert told[0].ids == told[1].ids
    assert told[0].newest == told[1].newest == all_told(64, 49 * 10**6)
    assert {table.schema.field("ts").type for tables in told[1].tables.values() for table in tables} == {
        clock
    }


def test_inputs_are_counted_from_the_left() -> None:
    one = plan(1, sources=(2, 3))
    assert [one.input_of(number) for number in range(5)] == [
        ("left", 0),
        ("left", 1),
        ("right", 0),
        ("right", 1),
        ("right", 2),
    ]
    for number in range(5):
        sent(one, [rows(0, 3)], number)


def test_only_the_columns_that_the_result_needs_are_in_the_plan() -> None:
    left = side_of(
        {"id": (pa.int64(), [1]), "p": (pa.string(), ["x"]), "k": (pa.int64(), [1]), "t": (pa.int64(), [1])}
    )
    case = Case(left, left, 0, 1, (("k", "k"),), "t", "t", columns=("id",))
    one, needed = plan_of(case, Settings((0, 0)), 1)
    assert needed == {"left": (0, 2, 3), "right": (2, 3)}
    assert one.side("left").schema.names == ["id", "k", "t"]
    assert one.side("right").schema.names == ["k", "t"]

"""Tables joined by packs: the oracle's rows, however the packs are made and the shards put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given

from tests.kernels.memory import SEEDS, tries
from tests.support.cases import Case, side_of
from tests.support.duck import duck_pairs
from tests.support.long_streams import long_case
from tests.support.players import Settings
from tests.support.rows import multiset, pairs_of, rows_of
from tests.support.sharded import Cluster, draw_batches, travelling
from tests.support.streams import cases, draw_case
from weft.runtimes.replica import Pack
from weft.spark.emitter import PACKED_ARROW
from weft.spark.tables import TableJoin


def joined(case: Case, random: Random, shards: int, sizes: Sequence[int] | None = None) -> pa.Table:
    """Pack the rows of both sides in tasks, join the shards of each partition; return all pairs."""
    cluster = Cluster(case, Settings((0, 0)), shards, random, reliable=True)
    partitions: list[list[tuple[int, Pack]]] = [[] for _ in range(random.randint(1, shards))]
    for batch in draw_batches(random, case, sizes=sizes):
        for key, packs in cluster.emitted(batch).items():
            partitions[key % len(partitions)] += [(key, pack) for pack in packs]
    results = []
    for packs in partitions:
        random.shuffle(packs)
        results += [
            pa.Table.from_batches([one]) for one in TableJoin(cluster.plan)(rows_of_packs(random, packs))
        ]
    for table in results:
        table.validate(full=True)
        assert [(one.name, one.type) for one in table.schema] == case.fields()
    return pa.concat_tables(results) if results else pa.table({})


def rows_of_packs(random: Random, packs: list[tuple[int, Pack]]) -> Iterator[pa.RecordBatch]:
    """Return packs as Spark hands them on, in record batches of some size."""
    rows = [
        {
            "shard": key,
            "input": int(pack.side == "right"),
            "told": pack.newest is not None,
            "newest": pack.newest or 0,
            "rows": pack.rows,
            "pack": pack.data,
        }
        for key, pack in packs
    ]
    while rows:
        size = random.choice((1, 3, 100))
        yield pa.RecordBatch.from_pylist(rows[:size], schema=PACKED_ARROW)
        rows = rows[size:]


@given(case=cases().map(travelling), seed=SEEDS)
@tries(40)
def test_packs_give_the_oracles_rows(case: Case, seed: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.spark.emitter.PACK", random.choice((1 << 25, 300, 40)))
        patch.setattr("weft.runtimes.batch.MOST_PAIRS", random.choice((1 << 17, 3)))
        result = joined(case, random, random.choice((1, 1, 2, 3, 7, 64)))
    assert multiset(rows_of(result)) == multiset(case.expected())


@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_rows_of_any_shape_give_the_oracles_rows(seed: int) -> None:
    case = travelling(draw_case(Random(seed), 100))
    assert multiset(rows_of(joined(case, Random(seed), 3))) == multiset(case.expected())


@pytest.mark.parametrize("seed", range(2))
def test_thousands_of_rows_give_the_pairs_duckdb_gives(seed: int) -> None:
    case = long_case(Random(seed), 5000)
    assert pairs_of(joined(case, Random(seed), 2, (500, 4000))) == duck_pairs(case)


def one_sided(left: int, right: int) -> Case:
    """Return a case with so many rows on each side, all of one key and time."""
    sides = [
        side_of(
            {"id": (pa.int64(), range(rows)), "key": (pa.int64(), [1] * rows), "ts": (pa.int64(), [0] * rows)}
        )
        for rows in (left, right)
    ]
    return Case(sides[0], sides[1], 0, 0)


@pytest.mark.parametrize(("left", "right"), [(0, 0), (5, 0), (0, 5)])
def test_a_side_without_rows_gives_no_pairs(left: int, right: int) -> None:
    assert joined(one_sided(left, right), Random(0), 2).num_rows == 0


def test_pairs_are_delivered_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.runtimes.batch.MOST_PAIRS", 1000)
    case = one_sided(100, 300)
    cluster = Cluster(case, Settings((0, 0)), 1, Random(0), reliable=True)
    packs = [
        (key, pack)
        for batch in draw_batches(Random(0), case)
        for key, each in cluster.emitted(batch).items()
        for pack in each
    ]
    sizes = [one.num_rows for one in TableJoin(cluster.plan)(rows_of_packs(Random(0), packs))]
    assert sum(sizes) == 30_000
    assert max(sizes) <= 1000

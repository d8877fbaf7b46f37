"""Results: the table of all pairs is what Arrow's own `take` gives, for every type, however it was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edge.test_payload import KINDS, made
from tests.kernels.memory import tries
from weft.columns import Held, take
from weft.edge.payload import read
from weft.edge.result import OutColumn, result_table, rows_table
from weft.indexes.pairs import Pairs
from weft.types import Side

SEEDS = st.integers(0, 2**32 - 1)
WAYS = ("sorted", "in order of arrival")


@dataclass(frozen=True, slots=True)
class Part:
    """One probe of one base, and the values that each of its pairs has on both sides."""

    pairs: Pairs
    probe: list[Any]
    base: list[Any]


def values_of(source: Any) -> list[str]:
    """Return Arrow values so that equal ones compare equal (NaN too)."""
    return [repr(value) for value in source.to_pylist()]


def part(random: Random, name: str, side: Side, way: str) -> Part:
    """Draw a probe of a column in another of the same type: sorted payload has its rows as slices."""
    kind, values = KINDS[name]
    some = values if random.random() < 0.7 else values[1:] or values
    sources = [made(kind, some, random.choices(range(20), k=random.randint(1, 40))) for _ in range(2)]
    probe, base = (read(source) for source in sources)
    rows = random.choices(range(len(base)), k=random.randint(1, 60))
    starts = [random.randrange(len(rows)) for _ in range(random.randint(1, 30))]
    hits = [(random.randrange(len(probe)), start, random.randint(0, len(rows) - start)) for start in starts]
    order = np.array(rows, np.int64)
    count = sum(count for _, _, count in hits)
    held = (take(base, order), None) if way == "sorted" else (base, order)
    pairs = Pairs(np.array(hits, np.int64).ravel(), count, side, (probe,), (held[0],), held[1])
    told = [values_of(source) for source in sources]
    met = [[told[0][row]] * count for row, _, count in hits]
    found = [told[1][rows[start + k]] for _, start, count in hits for k in range(count)]
    return Part(pairs, [value for one in met for value in one], found)


def table_of(name: str, parts: Sequence[Part]) -> pa.Table:
    """Return the result of a left and a right column."""
    kind = KINDS[name][0]
    schema = pa.schema([("l", kind), ("r", kind)])
    columns = [OutColumn("left", 0, kind), OutColumn("right", 0, kind)]
    return result_table(schema, columns, [one.pairs for one in parts])


def expected(parts: Sequence[Part], side: Side) -> list[Any]:
    return [value for one in parts for value in (one.probe if one.pairs.probe_side == side else one.base)]


def assert_told(name: str, parts: Sequence[Part]) -> None:
    table = table_of(name, parts)
    table.validate(full=True)
    assert table.schema.types == [KINDS[name][0]] * 2
    assert values_of(table["l"]) == expected(parts, "left")
    assert values_of(table["r"]) == expected(parts, "right")


def drawn(seed: int, name: str) -> list[Part]:
    """Draw probes of both sides, with sorted payload and with payload as it came."""
    random = Random(seed)
    return [
        part(random, name, random.choice(("left", "right")), random.choice(WAYS))
        for _ in range(random.randint(1, 4))
    ]


@pytest.mark.parametrize("name", KINDS)
@given(SEEDS)
@tries(25)
def test_every_pair_has_the_values_of_its_rows(name: str, seed: int) -> None:
    assert_told(name, drawn(seed, name))


@pytest.mark.parametrize("name", KINDS)
@given(SEEDS, st.lists(st.integers(0, 10**6), max_size=40))
@tries(15)
def test_rows_of_a_table_are_those_that_were_asked_for(name: str, seed: int, wanted: list[int]) -> None:
    kind, values = KINDS[name]
    source = made(kind, values, Random(seed).choices(range(20), k=30))
    rows = np.array([row % 30 for row in wanted], np.int64)
    table = rows_table(pa.table({"a": source, "n": pa.array(range(30))}), rows)
    table.validate(full=True)
    told = values_of(source)
    assert values_of(table["a"]) == [told[row] for row in rows]
    assert table["n"].to_pylist() == rows.tolist()
    assert table.schema.field("a").type == kind


@pytest.mark.parametrize("name", KINDS)
def test_no_pairs_are_a_table_without_rows(name: str) -> None:
    one = part(Random(1), name, "left", "sorted")
    none = Pairs(np.empty(0, np.int64), 0, "left", one.pairs.probe, one.pairs.base)
    for pairs in ([], [Part(none, [], [])]):
        table = table_of(name, pairs)
        assert table.num_rows == 0
        assert table.schema.types == [KINDS[name][0]] * 2
    assert_told(name, [Part(none, [], []), one])


@pytest.fixture
def short_texts() -> Iterator[None]:
    """Let offsets of 32 bits reach 50 bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.edge.result.LONGEST", 50)
        yield


@pytest.mark.usefixtures("short_texts")
@pytest.mark.parametrize("name", ["string", "binary"])
@given(seed=SEEDS)
@tries(25)
def test_text_beyond_its_offsets_is_cut_into_chunks(name: str, seed: int) -> None:
    parts = drawn(seed, name)
    assert_told(name, parts)
    chunks = [chunk for column in table_of(name, parts).columns for chunk in column.chunks]
    assert all(chunk.nbytes < 50 + 5 * len(chunk) + 8 for chunk in chunks)


@pytest.mark.parametrize("words", [100, 127, 128, 129, 1000])
def test_more_words_than_a_dictionary_can_count_are_cut_into_chunks(words: int) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    dictionary = pa.array([f"w{at}" for at in range(words)])
    base = Held(pa.DictionaryArray.from_arrays(pa.array(range(words), pa.int64()), dictionary))
    probe = read(pa.array(range(words), pa.int64()))
    hits = np.stack([np.arange(words), np.arange(words), np.ones(words, np.int64)], axis=1).ravel()
    schema = pa.schema([("n", pa.int64()), ("w", kind)])
    columns = [OutColumn("left", 0, pa.int64()), OutColumn("right", 0, kind)]
    table = result_table(schema, columns, [Pairs(hits, words, "left", (probe,), (base,))])
    table.validate(full=True)
    assert table.schema == schema
    assert table["n"].to_pylist() == list(range(words))
    assert table["w"].to_pylist() == dictionary.to_pylist()


def test_few_rows_of_a_long_dictionary_fit_its_narrow_index_in_one_piece() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    dictionary = pa.array([f"w{at}" for at in range(1000)])
    base = Held(pa.DictionaryArray.from_arrays(pa.array(range(1000), pa.int64()), dictionary))
    hits = np.array([0, 990, 10], np.int64)
    pairs = Pairs(hits, 10, "left", (), (base,))
    table = result_table(pa.schema([("w", kind)]), [OutColumn("right", 0, kind)], [pairs])
    assert table["w"].num_chunks == 1
    assert table["w"].to_pylist() == [f"w{at}" for at in range(990, 1000)]


@pytest.mark.parametrize("name", ["int64", "bool", "string", "decimal128(12, 3)"])
def test_nulls_of_one_part_do_not_reach_the_others(name: str) -> None:
    kind, values = KINDS[name]
    with_nulls, without = (made(kind, some, range(30)) for some in (values, values[1:]))
    numbers = np.arange(30)
    hits = np.stack([numbers, numbers, np.ones_like(numbers)], axis=1).ravel()
    pairs = [Pairs(hits, 30, "left", (read(one),), ()) for one in (without, with_nulls, without)]
    schema = pa.schema([("a", kind)])
    table = result_table(schema, [OutColumn("left", 0, kind)], pairs)
    told = [values_of(one) for one in (without, with_nulls, without)]
    assert values_of(table["a"]) == [value for one in told for value in one]
    table = result_table(schema, [OutColumn("left", 0, kind)], pairs[:1])
    assert table["a"].chunk(0).buffers()[0] is None


def test_a_result_takes_the_memory_of_its_rows_and_little_more() -> None:
    before = pa.total_allocated_bytes()
    probe, base = (take(read(pa.array(range(1000), pa.int64())), np.arange(1000)) for _ in range(2))
    hits = np.array([[row, 0, 500] for row in range(200)], np.int64).ravel()
    schema = pa.schema([("l", pa.int64()), ("r", pa.int64())])
    columns = [OutColumn("left", 0, pa.int64()), OutColumn("right", 0, pa.int64())]
    table = result_table(schema, columns, [Pairs(hits, 100_000, "left", (probe,), (base,))])
    assert table.nbytes == 1_600_000
    assert pa.total_allocated_bytes() - before < 1_610_000

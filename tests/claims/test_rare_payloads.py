"""Payloads that are easy to lose: dictionaries of every push, run ends, types that Arrow half knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import weft

SPEC: dict[str, Any] = {"on": "k", "time": "ts", "lower": 0, "upper": 2, "lateness": 0}


def rows(start: int, count: int, payload: pa.Array) -> pa.Table:
    """Return rows a tick apart, of one key."""
    return pa.table({"k": [1] * count, "ts": np.arange(start, start + count), "p": payload})


def words(start: int, count: int) -> pa.DictionaryArray:
    """Return words that no other batch has."""
    return pa.array([f"word {at}" for at in range(start, start + count)]).dictionary_encode()


def test_words_that_no_held_row_uses_are_forgotten() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    sizes = []
    for start in range(0, 40_000, 100):
        op.push(left=rows(start, 100, words(start, 100)), right=rows(start, 100, words(start, 100)))
        sizes.append(sum(op.metrics.bytes.values()))
    assert max(sizes[200:]) <= 1.5 * max(sizes[:100])


def test_dictionaries_with_a_null_among_their_words_pass_through() -> None:
    op = weft.stream.IntervalJoin(**SPEC)
    for at in range(3):
        dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1], "int8"), pa.array([f"w{at}", None]))
        op.push("left", rows(2 * at, 2, dictionary))
    again = weft.stream.IntervalJoin(**SPEC)
    again.restore(op.snapshot())
    for one in (op, again):
        result = one.push("right", pa.table({"k": [1], "ts": [5]}))
        assert result.schema.field("p").type == pa.dictionary(pa.int8(), pa.string())
        assert sorted(map(str, result["p"].to_pylist())) == ["None", "None", "w2"]


@pytest.mark.parametrize("run_ends", [pa.int16(), pa.int32()], ids=str)
def test_run_ends_reach_as_far_as_they_can_and_then_the_result_is_cut(run_ends: pa.DataType) -> None:
    values = pa.compute.run_end_encode(pa.array(np.arange(20_000) // 10), run_end_type=run_ends)
    table = pa.table({"k": np.arange(20_000), "ts": [0] * 20_000, "p": values})
    twice = pa.concat_tables([table.select(["k", "ts"])] * 2)
    result = weft.interval_join(twice, table, on="k", time="ts", lower=0, upper=0)
    assert result.schema.field("p").type == values.type
    assert sorted(result["p"].to_pylist()) == sorted([at // 10 for at in range(20_000)] * 2)


UNIONS = [
    pa.UnionArray.from_sparse(pa.array([0, 1], "int8"), [pa.array([1, 2]), pa.array(["a", "b"])]),
    pa.StructArray.from_arrays([pa.array([b"a" * 16, None], pa.uuid())], ["id"]),
    pa.StructArray.from_arrays([pa.array(["a", None]).dictionary_encode()], ["word"]),
    pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"], pa.string_view())),
]


@pytest.mark.parametrize("payload", UNIONS, ids=lambda array: str(array.type))
def test_a_result_without_pairs_has_all_columns_whatever_their_type(payload: pa.Array) -> None:
    table = rows(0, 2, payload)
    far = rows(100, 2, payload)
    none = weft.interval_join(table, far, on="k", time="ts", lower=0, upper=2)
    assert none.num_rows == 0
    assert none.schema.field("p").type == payload.type
    op = weft.stream.IntervalJoin(**SPEC)
    assert op.push(left=table, right=far).schema == none.schema
    both = weft.interval_join(table, table, on="k", time="ts", lower=0, upper=0)
    assert both["p"].to_pylist() == payload.to_pylist()


def test_a_type_that_arrow_cannot_gather_is_refused_when_both_sides_are_known() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"]).dictionary_encode())
    table = rows(0, 2, runs)
    with pytest.raises(weft.InputError, match='left "p"'):
        weft.interval_join(table, table, on="k", time="ts", lower=0, upper=2)
    assert weft.interval_join(table, table, on="k", time="ts", lower=0, upper=2, columns=["k"]).num_rows == 3


def test_batches_that_declare_nullability_otherwise_give_one_schema() -> None:
    strict = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("ts", pa.int64())])
    op = weft.stream.IntervalJoin(**SPEC | {"late": "route"})
    lax = pa.table({"k": [1], "ts": [9]})
    op.push(left=lax.cast(strict), right=lax)
    for late in (lax.cast(strict), lax):
        op.push("left", late.set_column(1, "ts", pa.array([3])))
    assert op.late()["left"].num_rows == 2
    with pytest.raises(weft.InputError, match='"k" was not null'):
        op.push("left", pa.table({"k": pa.array([None], pa.int64()), "ts": [9]}))


@pytest.mark.parametrize(
    "kind",
    [
        pa.dictionary(pa.int16(), pa.decimal128(9, 4)),
        pa.dictionary(pa.int8(), pa.string()),
        pa.string_view(),
        pa.uuid(),
        pa.run_end_encoded(pa.int32(), pa.int64()),
    ],
    ids=str,
)
def test_a_table_without_chunks_is_a_batch_without_rows(kind: pa.DataType) -> None:
    schema = pa.schema([("k", kind), ("ts", pa.int64())])
    empty = pa.Table.from_batches([], schema)
    assert weft.interval_join(empty, empty, on="k", time="ts", lower=0, upper=1).num_rows == 0
    op = weft.stream.IntervalJoin(**SPEC)
    assert op.push(left=empty, right=empty).column_names == ["k", "ts", "ts_right"]


class Unhashed(pa.ExtensionType):  # noqa: PLW1641 - the point of it
    """A type of a user's own that, as easily happens, defines equality and thereby loses its hash."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.unhashed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashed)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Unhashed:
        return cls()


def test_an_extension_type_without_a_hash_passes_through() -> None:
    payload = pa.ExtensionArray.from_storage(Unhashed(), pa.array([7, None]))
    table = rows(0, 2, payload)
    result = weft.interval_join(table, table, on="k", time="ts", lower=0, upper=0)
    assert result.schema.field("p").type == Unhashed()
    assert result["p"].combine_chunks().storage.to_pylist() == [7, None]


@pytest.mark.parametrize(
    "values", [pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "b"], pa.string_view())]
)
def test_run_ends_of_any_encoding_are_keys(values: pa.Array) -> None:
    keys = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), values)
    left = pa.table({"k": keys, "ts": [0, 0, 0], "id": [1, 2, 3]})
    right = pa.table({"k": ["a", "b", "b"], "ts": [0, 0, 1]})
    join = weft.interval_join(left, right, on="k", time="ts", lower=0, upper=1, columns=["id", "ts_right"])
    assert join.to_pylist() == [
        {"id": 1, "ts_right": 0},
        {"id": 2, "ts_right": 0},
        {"id": 3, "ts_right": 0},
        {"id": 3, "ts_right": 1},
    ]

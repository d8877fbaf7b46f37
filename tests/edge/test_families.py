"""Key families: which keys can be compared, and what they are compared as."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weft.edge.families import KeyFamily, key_family, kind_of
from weft.errors import InputError


def there(*makers: str) -> list[pa.DataType]:
    # The oldest Arrow that weft runs on lacks some types.
    return [getattr(pa, name)() for name in makers if hasattr(pa, name)]


ENCODINGS = {
    "integer": there("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "string": [
        *there("string", "large_string", "string_view"),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.uint32(), pa.large_string()),
        pa.run_end_encoded(pa.int32(), pa.string()),
    ],
    "binary": [*there("binary", "large_binary", "binary_view"), pa.binary(16), pa.uuid()],
    "decimal": [pa.decimal128(5, 2), pa.decimal256(60, 2), pa.dictionary(pa.int8(), pa.decimal128(9, 4))],
    "date": [pa.date32(), pa.date64()],
    "timestamp": [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")],
    "boolean": [pa.bool_()],
}
PAIRS = [(kind, left, right) for kind, types in ENCODINGS.items() for left in types for right in types]


def family(left: pa.DataType, right: pa.DataType) -> KeyFamily:
    return key_family(pa.field("id", left), pa.field("id", right))


def refused(left: pa.DataType, right: pa.DataType) -> str:
    with pytest.raises(InputError) as caught:
        family(left, right)
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(("kind", "left", "right"), PAIRS, ids=str)
def test_every_encoding_meets_every_other_of_its_family(
    kind: str, left: pa.DataType, right: pa.DataType
) -> None:
    assert family(left, right).kind == kind


@pytest.mark.parametrize("left", ENCODINGS)
@pytest.mark.parametrize("right", ENCODINGS)
def test_unlike_families_do_not_meet(left: str, right: str) -> None:
    if left != right:
        message = refused(ENCODINGS[left][0], ENCODINGS[right][0])
        assert message.startswith("`on` must pair keys of one family; got left ")


def test_unlike_families_are_refused_with_a_cast() -> None:
    assert refused(pa.int64(), pa.string()) == (
        '`on` must pair keys of one family; got left "id" (int64) and right "id" (string).\n\n'
        "Hint: cast one of them, such as the right one to int64"
    )


NO_KEYS = [
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.dictionary(pa.int8(), pa.float64()),
    pa.duration("s"),
    pa.time32("s"),
    pa.time64("us"),
    pa.list_(pa.int8()),
    pa.struct([("a", pa.int8())]),
    pa.month_day_nano_interval(),
]


@pytest.mark.parametrize("kind", NO_KEYS, ids=str)
def test_what_has_no_family_is_refused_on_either_side(kind: pa.DataType) -> None:
    for left, right, side in ((kind, pa.int8(), "left"), (pa.int8(), kind, "right"), (kind, kind, "left")):
        message = refused(left, right)
        assert message.startswith(
            "a key in `on` must be integer, string, decimal, date, timestamp, boolean or binary; "
            f'got {side} "id" ('
        )


def test_float_keys_are_refused_with_what_to_cast_to_and_where_they_come_from() -> None:
    assert refused(pa.int64(), pa.float64()).endswith(
        'got right "id" (double).\n\n'
        'Hint: cast it to whole numbers: .astype("Int64") in pandas (which turns integers with missing '
        'values into floats), .cast(pl.Int64) in Polars, .cast("int64") in pyarrow, '
        '.cast("long") in Spark'
    )


def test_a_very_long_type_is_cut_in_the_message() -> None:
    message = refused(pa.struct([(f"field_{at}", pa.int8()) for at in range(1000)]), pa.int8())
    assert len(message) < 400


@pytest.mark.parametrize("kind", [types[0] for types in ENCODINGS.values()], ids=str)
def test_a_column_of_nulls_takes_the_others_family(kind: pa.DataType) -> None:
    assert family(pa.null(), kind) == family(kind, pa.null()) == family(kind, kind)


def test_two_columns_of_nulls_count_as_integers() -> None:
    assert family(pa.null(), pa.null()) == KeyFamily("integer")
    assert kind_of("left", pa.field("id", pa.null())) is None


def test_only_two_unsigned_words_are_compared_as_unsigned() -> None:
    assert family(pa.uint64(), pa.uint64()).unsigned
    assert family(pa.uint64(), pa.null()).unsigned
    assert not family(pa.uint64(), pa.int64()).unsigned
    assert not family(pa.uint64(), pa.uint32()).unsigned


@pytest.mark.parametrize(
    ("left", "right", "scale", "precision"),
    [
        (pa.decimal128(5, 2), pa.decimal128(5, 2), 2, 5),
        (pa.decimal128(5, 2), pa.decimal128(9, 4), 4, 9),
        (pa.decimal128(38, 0), pa.decimal128(38, 38), 38, 76),
        (pa.decimal128(5, -2), pa.decimal128(5, 2), 2, 9),
        (pa.decimal128(3, 5), pa.decimal128(3, 5), 5, 3),
        (pa.decimal256(60, 20), pa.dictionary(pa.int8(), pa.decimal128(38, 0)), 20, 60),
    ],
    ids=str,
)
def test_decimals_meet_in_digits_that_hold_both(
    left: pa.DataType, right: pa.DataType, scale: int, precision: int
) -> None:
    expected = KeyFamily("decimal", scale=scale, precision=precision)
    assert family(left, right) == family(right, left) == expected


def test_decimals_that_no_decimal_holds_together_are_refused() -> None:
    assert "must fit 76 digits together" in refused(pa.decimal128(38, 38), pa.decimal256(76, 0))


def test_timestamps_meet_in_the_finer_unit_whatever_their_zones() -> None:
    left, right = pa.timestamp("ms", "UTC"), pa.timestamp("us", "Asia/Tokyo")
    assert family(left, right) == family(right, left) == KeyFamily("timestamp", tick=1000)


def test_naive_beside_zoned_keys_are_refused() -> None:
    assert refused(pa.timestamp("s"), pa.timestamp("s", "UTC")) == (
        "a pair of keys in `on` must both have a time zone or both have none; "
        'got left "id" (timestamp[s]) and right "id" (timestamp[s, tz=UTC]).\n\n'
        'Hint: give it a zone too: .dt.tz_localize("UTC") in pandas, .dt.replace_time_zone("UTC") in Polars, '
        '.cast("timestamp") in Spark'
    )


def test_extension_types_meet_their_storage_and_themselves_but_no_other_extension() -> None:
    other = pa.opaque(pa.binary(16), "weft", "tests")
    assert family(pa.uuid(), pa.binary(16)) == family(pa.uuid(), pa.uuid()) == KeyFamily("binary")
    assert "must pair keys of one family" in refused(pa.uuid(), other)

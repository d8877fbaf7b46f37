"""A spec meets the columns of both sides: places, common terms and the result's schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from weft.edge.binding import Axis, Binding, Clock, KeyFamily, SideBinding, bind, bind_side
from weft.errors import ColumnError, InputError, SpecError, WeftError
from weft.spec import join_spec

TS = pa.timestamp("us")
VIEWS = pa.schema([("user_id", pa.int64()), ("ts", TS), ("page", pa.string())])
CLICKS = pa.schema(
    [("ts", pa.timestamp("ms")), ("page", pa.string()), ("user_id", pa.int32()), ("price", pa.float64())]
)


def bound(left: pa.Schema, right: pa.Schema, **changes: Any) -> Binding:
    spec = join_spec(**{"on": "user_id", "time": "ts", "lower": "0s", "upper": "30s", **changes})
    return bind(spec, bind_side(spec, "left", left), bind_side(spec, "right", right))


def test_each_side_knows_where_its_keys_and_its_time_are() -> None:
    binding = bound(VIEWS, CLICKS)
    assert binding.left == SideBinding(VIEWS, keys=(0,), time=1, clock=Clock("timestamp", 1000))
    assert binding.right == SideBinding(CLICKS, keys=(2,), time=0, clock=Clock("timestamp", 10**6))


def test_keys_keep_the_order_of_the_call() -> None:
    binding = bound(VIEWS, CLICKS, on=["page", "user_id"])
    assert (binding.left.keys, binding.right.keys) == ((2, 0), (1, 2))
    assert [family.kind for family in binding.families] == ["string", "integer"]


def test_both_sides_meet_on_one_axis_and_in_common_families() -> None:
    binding = bound(VIEWS, CLICKS, closed="left")
    assert binding.axis == Axis(left=1, right=1000, lower=0, upper=30 * 10**6 - 1)
    assert binding.families == (KeyFamily("integer"),)


def test_time_alone_has_no_families() -> None:
    binding = bound(VIEWS, CLICKS, on=None)
    assert (binding.families, binding.left.keys) == ((), ())
    assert binding.schema.names[-2:] == ["user_id_right", "price"]


def test_the_result_has_each_sides_columns_with_their_own_types() -> None:
    assert bound(VIEWS, CLICKS).schema == pa.schema(
        [
            ("user_id", pa.int64()),
            ("ts", TS),
            ("page", pa.string()),
            ("ts_right", pa.timestamp("ms")),
            ("page_right", pa.string()),
            ("price", pa.float64()),
        ]
    )


def test_the_output_says_where_every_column_comes_from_and_what_is_kept() -> None:
    binding = bound(VIEWS, CLICKS, columns=["price", "page", "ts_right"])
    assert binding.output == (("right", 3), ("left", 2), ("right", 0))
    assert binding.kept == ((2,), (0, 3))
    assert binding.schema.names == ["price", "page", "ts_right"]


def test_a_side_may_be_left_out_of_the_result() -> None:
    binding = bound(VIEWS, CLICKS, columns=["price"])
    assert binding.kept == ((), (3,))


def test_fields_keep_nullability_and_metadata_and_inputs_metadata_is_left_out() -> None:
    field = pa.field("page", pa.string(), nullable=False, metadata={"of": "us"})
    left = pa.schema([("user_id", pa.int64()), ("ts", TS), field], metadata={"pandas": "{}"})
    schema = bound(left, CLICKS).schema
    assert schema.field("page").equals(field, check_metadata=True)
    assert schema.metadata is None


def test_a_side_can_be_bound_before_the_other_is_known() -> None:
    spec = join_spec(on="user_id", time="ts", lower=0, upper=1)
    with pytest.raises(SpecError, match="must be durations for timestamp times"):
        bind_side(spec, "left", VIEWS)


def changed(schema: pa.Schema, name: str, kind: pa.DataType) -> pa.Schema:
    return schema.set(schema.get_field_index(name), pa.field(name, kind))


REFUSED: dict[str, tuple[type[WeftError], pa.Schema, dict[str, Any], str]] = {
    "an unknown key": (
        ColumnError,
        VIEWS,
        {"on": "user"},
        '`on` must name a column of the left input; got "user"',
    ),
    "an unknown key on the right": (
        ColumnError,
        VIEWS,
        {"on": [("user_id", "usr_id")]},
        '`on` must name a column of the right input; got "usr_id"',
    ),
    "an unknown time": (ColumnError, VIEWS, {"time": "when"}, "`time` must name a column of the left input"),
    "an unknown time of one side": (
        ColumnError,
        VIEWS,
        {"time": None, "left_time": "ts", "right_time": "at"},
        "`right_time` must name a column of the right input",
    ),
    "an unknown result column": (
        ColumnError,
        VIEWS,
        {"columns": ["cost"]},
        "`columns` must name columns of the result",
    ),
    "a name twice": (
        InputError,
        VIEWS.append(VIEWS.field(2)),
        {},
        'each column once; got "page" more than once',
    ),
    "keys of unlike families": (
        InputError,
        VIEWS,
        {"on": [("page", "user_id")]},
        "`on` must pair keys of one family",
    ),
    "a float key": (InputError, VIEWS, {"on": [("user_id", "price")]}, "a key in `on` must be integer"),
    "a time that is text": (
        InputError,
        VIEWS,
        {"time": "page"},
        'must be a timestamp, .*; got left "page" \\(string\\)',
    ),
    "a time that is a float": (
        InputError,
        VIEWS,
        {"time": None, "left_time": "ts", "right_time": "price"},
        'must be a timestamp, .*; got right "price" \\(double\\)',
    ),
    "times of two kinds": (
        InputError,
        changed(VIEWS, "ts", pa.date32()),
        {},
        "both times must be of one kind",
    ),
    "naive beside zoned": (
        InputError,
        changed(VIEWS, "ts", pa.timestamp("us", "UTC")),
        {},
        "both times must both have a time zone",
    ),
    "an integer as the bound of a timestamp": (
        SpecError,
        VIEWS,
        {"lower": 0, "upper": 30},
        "must be durations for",
    ),
    "a text as the bound of an integer": (
        SpecError,
        changed(VIEWS, "ts", pa.int64()),
        {},
        "must be integers for",
    ),
    "suffixes that clash": (SpecError, VIEWS, {"suffixes": ("", "")}, "`suffixes` must tell columns apart"),
    "a reserved name": (
        InputError,
        VIEWS.append(pa.field("_weft_lateness", pa.int64())),
        {"late": "route"},
        'must not have "_weft_lateness"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_a_hint(case: str) -> None:
    kind, left, changes, says = REFUSED[case]
    with pytest.raises(kind, match=says) as caught:
        bound(left, CLICKS, **changes)
    assert caught.value.hint

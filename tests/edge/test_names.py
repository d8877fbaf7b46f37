"""Names of result columns: the left ones, then the right ones, keys of equal name once, clashes by suffix."""

from __future__ import annotations

import pytest

from weft.edge.names import check_names, kept_columns, place, result_columns
from weft.errors import ColumnError, InputError, SpecError

DEFAULT = ("", "_right")

NAMES = {
    "no clash": (["id", "x"], ["id", "y"], [("id", "id")], DEFAULT, "id x y"),
    "clashes take suffixes": (["id", "ts"], ["id", "ts"], [("id", "id")], DEFAULT, "id ts ts_right"),
    "both suffixes": (["id", "ts"], ["ts", "id"], [("id", "id")], ("_l", "_r"), "id ts_l ts_r"),
    "only clashes take suffixes": (["a", "b"], ["b", "c"], [], ("_l", "_r"), "a b_l b_r c"),
    "keys of other names stay": (["a"], ["b"], [("a", "b")], DEFAULT, "a b"),
    "keys crossed over stay": (
        ["a", "b"],
        ["a", "b"],
        [("a", "b"), ("b", "a")],
        DEFAULT,
        "a b a_right b_right",
    ),
    "a key stays plain beside a clash": (
        ["id", "x"],
        ["id", "x"],
        [("id", "id")],
        ("_l", "_r"),
        "id x_l x_r",
    ),
    "a left key that clashes": (["a"], ["b", "a"], [("a", "b")], DEFAULT, "a b a_right"),
    "a swap through suffixes": (["a", "a_x"], ["a"], [], ("_y", "_z"), "a_y a_x a_z"),
    "an empty name": (["", "x"], ["", "y"], [("", "")], DEFAULT, " x y"),
    "equal suffixes without a clash": (["a"], ["b"], [], ("", ""), "a b"),
    "an empty side": (["a"], [], [], DEFAULT, "a"),
}


@pytest.mark.parametrize("case", NAMES)
def test_the_result_has_the_left_columns_then_the_right_ones(case: str) -> None:
    left, right, on, suffixes, names = NAMES[case]
    assert list(result_columns(left, right, on, suffixes)) == names.split(" ")


def test_every_result_column_knows_where_it_comes_from() -> None:
    named = result_columns(["id", "ts"], ["ts", "id", "x"], [("id", "id")], DEFAULT)
    assert named == {"id": ("left", 0), "ts": ("left", 1), "ts_right": ("right", 0), "x": ("right", 2)}


CLASHES = {
    "no suffixes": (["ts"], ["ts"], ("", ""), 'left "ts" and right "ts" would both be "ts"'),
    "equal suffixes": (["ts"], ["ts"], ("_a", "_a"), 'left "ts" and right "ts" would both be "ts_a"'),
    "a suffix that is taken": (
        ["ts", "ts_right"],
        ["ts"],
        DEFAULT,
        'left "ts_right" and right "ts" would both be "ts_right"',
    ),
    "a suffix that is taken on its own side": (
        ["ts"],
        ["ts_right", "ts"],
        DEFAULT,
        'right "ts_right" and right "ts" would both be "ts_right"',
    ),
}


@pytest.mark.parametrize("case", CLASHES)
def test_suffixes_that_leave_two_columns_alike_are_refused(case: str) -> None:
    left, right, suffixes, says = CLASHES[case]
    with pytest.raises(SpecError) as caught:
        result_columns(left, right, [], suffixes)
    given = f'("{suffixes[0]}", "{suffixes[1]}")'
    assert caught.value.message == f"`suffixes` must tell columns apart; got {given}: {says}."
    assert caught.value.hint == 'write others, such as ("_l", "_r"), or rename one of the columns'


NAMED = result_columns(["id", "ts"], ["id", "ts"], [("id", "id")], DEFAULT)


def test_columns_are_kept_in_the_order_of_the_call() -> None:
    assert list(kept_columns(["ts_right", "id"], NAMED)) == ["ts_right", "id"]
    assert kept_columns(None, NAMED) == NAMED


def test_an_unknown_result_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(ColumnError) as caught:
        kept_columns(["id", "ts_left"], NAMED)
    assert str(caught.value) == (
        '`columns` must name columns of the result; got "ts_left", and it has "id", "ts" and "ts_right".\n\n'
        'Hint: write "ts_right"'
    )


def test_a_column_is_found_by_its_name() -> None:
    assert place("on", "left", "ts", ["id", "ts"]) == 1


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["user_id", "ts"], 'got "user", and it has "user_id" and "ts".\n\nHint: write "user_id"'),
        (["USER"], 'got "user", and it has "USER".\n\nHint: write "USER"'),
        (["a"], 'got "user", and it has "a".\n\nHint: write one of the names it has, in their own case'),
        ([], 'got "user", and it has no columns.\n\nHint: write one of the names it has, in their own case'),
    ],
)
def test_an_unknown_column_is_refused_with_those_there_are_and_the_nearest(
    names: list[str], says: str
) -> None:
    with pytest.raises(ColumnError) as caught:
        place("on", "right", "user", names)
    assert str(caught.value) == f"`on` must name a column of the right input; {says}"


def test_an_input_with_a_name_twice_is_refused() -> None:
    with pytest.raises(InputError, match='the left input must have each column once; got "x" more than once'):
        check_names("left", ["x", "y", "x"], "drop")


def test_the_columns_of_late_rows_are_reserved_only_where_late_rows_are_routed() -> None:
    check_names("left", ["_weft_source"], "drop")
    with pytest.raises(InputError, match='must not have "_weft_source" where late="route"'):
        check_names("left", ["_weft_source"], "route")

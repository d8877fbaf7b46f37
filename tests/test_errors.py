"""What the exceptions are to a caller, and how messages show values and names."""

from __future__ import annotations

import pickle

import pytest

from weft import errors
from weft.errors import (
    ColumnError,
    FinishedError,
    InputError,
    LateRowError,
    NotYetError,
    SpecError,
    StateError,
    WeftError,
    listed,
    nearest,
    refusal,
    shown,
)

TREE = {
    SpecError: (WeftError, ValueError),
    NotYetError: (SpecError, NotImplementedError),
    InputError: (WeftError, ValueError),
    ColumnError: (InputError, ValueError),
    LateRowError: (InputError, ValueError),
    FinishedError: (WeftError, RuntimeError),
    StateError: (WeftError, ValueError),
}


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_is_a_weft_error_and_the_builtin_one_expects(kind: type[WeftError]) -> None:
    assert issubclass(kind, TREE[kind])
    assert issubclass(kind, WeftError)


def test_the_tree_in_the_docstring_holds_every_error() -> None:
    assert errors.WeftError.__doc__ is not None
    assert all(kind.__name__ in errors.WeftError.__doc__ for kind in TREE)


def test_the_hint_stands_in_a_paragraph_of_its_own() -> None:
    assert str(SpecError("`a` must be b; got c.", "write d")) == "`a` must be b; got c.\n\nHint: write d"


def test_without_a_hint_the_message_is_all() -> None:
    assert str(StateError("the snapshot is cut short.")) == "the snapshot is cut short."


def test_a_late_row_says_which_and_by_how_much() -> None:
    error = LateRowError("late", side="left", source=1, key=("u",), time=3, lateness=2)
    assert (error.side, error.source, error.key, error.time, error.lateness) == ("left", 1, ("u",), 3, 2)


@pytest.mark.parametrize(
    "error",
    [
        SpecError("m", "h"),
        ColumnError("m"),
        LateRowError("m", "h", side="left", source=1, key=(), time=3, lateness=2),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes_whole(error: WeftError) -> None:
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error)
    assert (str(other), other.__dict__) == (str(error), error.__dict__)


def test_a_refusal_says_what_must_be_and_what_came() -> None:
    assert str(refusal(3, "`a`", "a name", "write a")) == "`a` must be a name; got 3.\n\nHint: write a"


class Frame:
    def __repr__(self) -> str:
        return "a\nb\nc"


SHOWN = {
    "ts": '"ts"',
    'a "b"\n': '"a "b"\\n"',
    "x" * 100: '"' + "x" * 77 + '..."',
    3: "3",
    10**5000: "a very long int",
    None: "None",
    ("a", 1): "('a', 1)",
    Frame(): "a Frame",
}


@pytest.mark.parametrize("value", SHOWN, ids=lambda value: type(value).__name__)
def test_a_value_is_shown_as_code_on_one_short_line(value: object) -> None:
    assert shown(value) == SHOWN[value]


def test_names_are_listed_as_in_a_sentence() -> None:
    assert listed(["a"]) == '"a"'
    assert listed(["a", "b"]) == '"a" or "b"'
    assert listed(["a", "b", "c"], "and", form=str) == "a, b and c"


def test_a_long_list_of_names_is_cut_and_says_how_much_is_left() -> None:
    names = [f"c{at}" for at in range(100)]
    assert listed(names[:30], form=str).endswith("c28 or c29")
    assert listed(names, form=str).endswith("c28 or 71 more")


@pytest.mark.parametrize(
    ("name", "near"), [("user", "user_id"), ("TS", "ts"), ("tsx", "ts"), ("banana", None)]
)
def test_the_nearest_name_is_close_in_letters_whatever_their_case(name: str, near: str | None) -> None:
    assert nearest(name, ["user_id", "ts"]) == near

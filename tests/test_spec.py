"""Every argument of a call is read into a `JoinSpec`, or refused with what came and what to write."""

from __future__ import annotations

import dataclasses
import inspect
import json
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from weft.errors import NotYetError, SpecError
from weft.spans import Span
from weft.spec import JoinSpec, in_one_process, join_spec
from weft.types import ALLOWED, WORKS_NOW

SECOND = 10**9
LEAST: dict[str, Any] = {"time": "ts", "lower": "0s", "upper": "30s"}


def spec(**changes: Any) -> JoinSpec:
    return join_spec(**{**LEAST, **changes})


def refused(**changes: Any) -> str:
    with pytest.raises(SpecError) as caught:
        spec(**changes)
    assert caught.value.hint
    return str(caught.value)


def test_a_call_with_the_least_arguments_has_the_documented_defaults() -> None:
    assert spec() == JoinSpec(
        on=(),
        left_time="ts",
        right_time="ts",
        lower=Span(0, "ns"),
        upper=Span(30 * SECOND, "ns"),
        closed="both",
        how="inner",
        pick="all",
        columns=None,
        suffixes=("", "_right"),
        lateness=None,
        late="drop",
        idle=(None, None),
        sources=(1, 1),
        pattern="auto",
        replicas=None,
        algorithm="auto",
        engine="auto",
    )


def test_a_spec_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec().how = "left"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("on", "pairs"),
    [
        (None, ()),
        ("a", (("a", "a"),)),
        (["a", "b"], (("a", "a"), ("b", "b"))),
        ([("l", "r"), "b"], (("l", "r"), ("b", "b"))),
        ([["l", "r"]], (("l", "r"),)),
        ((("l", "r"),), (("l", "r"),)),
        ([("l", "r"), ("l", "s")], (("l", "r"), ("l", "s"))),
    ],
)
def test_keys_are_pairs_of_names(on: object, pairs: object) -> None:
    assert spec(on=on).on == pairs


def test_each_side_knows_its_own_names() -> None:
    both = spec(on=[("l", "r"), "b"], time=None, left_time="a", right_time="z")
    assert (both.keys_of("left"), both.time_of("left")) == (("l", "b"), "a")
    assert (both.keys_of("right"), both.time_of("right")) == (("r", "b"), "z")


@pytest.mark.parametrize(
    ("lower", "upper", "spans"),
    [
        ("-1 min", timedelta(minutes=1), (-60 * SECOND, 60 * SECOND)),
        ("-3 days", "-2 days", (-3 * 86400 * SECOND, -2 * 86400 * SECOND)),
        ("1000 ms", "1s", (SECOND, SECOND)),
        (-5, 7, (-5, 7)),
        (-(2**63), 2**63 - 1, (-(2**63), 2**63 - 1)),
    ],
)
def test_bounds_are_exact_and_may_lie_anywhere(lower: object, upper: object, spans: tuple[int, int]) -> None:
    read = spec(lower=lower, upper=upper)
    assert (read.lower.value, read.upper.value) == spans


@pytest.mark.parametrize("closed", ["left", "right", "none"])
def test_an_interval_that_holds_nothing_is_allowed(closed: str) -> None:
    assert spec(lower="1s", upper="1s", closed=closed).closed == closed


@pytest.mark.parametrize(
    ("given", "lateness"),
    [("1s", (1, 1)), (("1s", "2s"), (1, 2)), (["0s", pd.Timedelta("3s")], (0, 3))],
)
def test_lateness_is_one_value_or_one_for_each_side(given: object, lateness: tuple[int, int]) -> None:
    assert spec(lateness=given).lateness == tuple(Span(seconds * SECOND, "ns") for seconds in lateness)


def test_idle_may_be_open_on_one_side_and_equal_to_the_lateness() -> None:
    assert spec(lateness=("9s", "1s"), idle=(None, "1s")).idle == (None, Span(SECOND, "ns"))


NAMES = sorted({(name, choice) for name in ALLOWED for choice in ALLOWED[name]})


@pytest.mark.parametrize(("name", "choice"), NAMES, ids=["=".join(pair) for pair in NAMES])
def test_every_name_of_the_interface_works_or_is_refused_as_not_there_yet(name: str, choice: str) -> None:
    if choice in WORKS_NOW[name]:
        assert getattr(spec(**{name: choice}), name) == choice
    else:
        with pytest.raises(NotYetError, match=f'`{name}="{choice}"` is not there yet'):
            spec(**{name: choice})


@pytest.mark.parametrize("name", ALLOWED)
@pytest.mark.parametrize("wrong", ["nonsense", "", None, True, 1.5, ["inner"], np.array([1, 2])], ids=repr)
def test_an_unknown_name_is_refused_with_all_that_are_allowed(name: str, wrong: object) -> None:
    message = refused(**{name: wrong})
    assert message.startswith(f"`{name}` must be ")
    assert all(f'"{choice}"' in message for choice in ALLOWED[name])


@pytest.mark.parametrize(
    ("argument", "value", "hint"),
    [
        ("where", "left.x < right.x", "leave it out and filter the result"),
        ("order_by", "x", "leave it out"),
        ("order_by", ["x", "y"], "leave it out"),
        ("pick", 3, 'write pick="all"'),
        ("how", "left", 'write how="inner"'),
        ("pattern", "hybrid", 'write pattern="auto"'),
        ("engine", "native", 'write engine="auto"'),
    ],
)
def test_what_is_not_there_yet_is_refused_by_name(argument: str, value: object, hint: str) -> None:
    with pytest.raises(NotYetError, match=f"^`{argument}=.*` is not there yet") as caught:
        spec(**{argument: value})
    assert caught.value.hint == hint


def test_one_process_has_one_replica() -> None:
    assert in_one_process(spec(replicas=1)).replicas == 1
    with pytest.raises(NotYetError, match="`replicas=2` is not there yet") as caught:
        in_one_process(spec(replicas=2))
    assert caught.value.hint == "write replicas=1, or give PySpark DataFrames"


EXACT = {
    "lower above upper": (
        {"lower": 3, "upper": -3},
        "`lower` must not exceed `upper`; got lower=3, upper=-3.\n\nHint: swap them: lower=-3, upper=3",
    ),
    "lower above upper in other units": (
        {"lower": "2s", "upper": "1000 ms"},
        '`lower` must not exceed `upper`; got lower="2s", upper="1000 ms".\n\n'
        'Hint: swap them: lower="1000 ms", upper="2s"',
    ),
    "an integer beside a duration": (
        {"lower": 0},
        '`lower` must be a duration, as `upper` is; got lower=0, upper="30s".\n\n'
        'Hint: write lower="0s"; integers are for integer time columns',
    ),
    "a duration beside an integer": (
        {"upper": 30},
        '`lower` must be an integer, as `upper` is; got lower="0s", upper=30.\n\n'
        'Hint: write upper="30s"; integers are for integer time columns',
    ),
    "an integer lateness beside durations": (
        {"lateness": 0},
        '`lateness` must be a duration, as `upper` is; got lateness=0, upper="30s".\n\n'
        'Hint: write lateness="0s"; integers are for integer time columns',
    ),
    "negative lateness": (
        {"lateness": ("1s", "-2 min")},
        '`lateness` of the right must be 0 or more; got "-2 min".\n\nHint: write lateness="2 min"',
    ),
    "idle below the lateness": (
        {"lateness": ("5s", "1s"), "idle": "2s"},
        "`idle` of the left must not be below its lateness; got 2 s, below 5 s.\n\n"
        'Hint: write idle="5 s" or more, or idle=None',
    ),
    "no time": (
        {"time": None, "on": "user_id"},
        "`time` must be given, or both `left_time` and `right_time`; got none of them.\n\n"
        'Hint: write time="ts", or left_time="ts" and right_time="seen_at"',
    ),
    "too many times": (
        {"left_time": "a"},
        '`time` must be given, or both `left_time` and `right_time`; got time="ts" and left_time="a".\n\n'
        'Hint: write time="ts", or left_time="ts" and right_time="seen_at"',
    ),
    "an unknown kind": (
        {"how": "outer"},
        '`how` must be "inner", "left", "right", "full", "semi" or "anti"; got "outer".\n\n'
        'Hint: write how="inner"',
    ),
    "a misspelt end": (
        {"closed": "rigth"},
        '`closed` must be "both", "left", "right" or "none"; got "rigth".\n\nHint: write closed="right"',
    ),
    "a tuple of names": (
        {"on": ("a", "b")},
        "`on` must be a list, as a tuple of names may mean two things; got ('a', 'b').\n\n"
        'Hint: write on=["a", "b"] for columns that both sides have, on=[("a", "b")] for one of each side',
    ),
    "columns as a text": (
        {"columns": "ts"},
        '`columns` must be a list of names; got "ts".\n\nHint: write columns=["ts"]',
    ),
    "one suffix": (
        {"suffixes": "_r"},
        '`suffixes` must be two texts, (left, right); got "_r".\n\nHint: write suffixes=("", "_right")',
    ),
    "no replica": (
        {"replicas": 0},
        "`replicas` must be a whole number of at least 1, or None; got 0.\n\n"
        "Hint: write replicas=1, or leave it out",
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_refusal_says_what_came_and_what_to_write(name: str) -> None:
    changes, message = EXACT[name]
    assert refused(**changes) == message


ALSO_REFUSED = [
    ("on", []),
    ("on", 42),
    ("on", {"a": "b"}),
    ("on", ["a", "a"]),
    ("on", [("a", "b"), ("a", "b")]),
    ("on", [("a", "b", "c")]),
    ("on", [("a",)]),
    ("on", [3]),
    ("on", [("a", 3)]),
    ("on", ("a",)),
    ("on", {"a"}),
    ("time", 3),
    ("time", ("a", "b")),
    ("left_time", 3),
    ("right_time", "b"),
    ("columns", []),
    ("columns", ["a", "a"]),
    ("columns", ["", ""]),
    ("columns", ["a", 3]),
    ("columns", {"a": 1}),
    ("columns", pd.Index(["a"])),
    ("suffixes", ("_l",)),
    ("suffixes", ("_l", "_r", "_x")),
    ("suffixes", (None, "_r")),
    ("lateness", ("1s", "2s", "3s")),
    ("lateness", ()),
    ("lateness", (None, "1s")),
    ("lateness", "-1 ns"),
    ("lateness", "soon"),
    ("lateness", 2),
    ("idle", "-1s"),
    ("idle", ("1s",)),
    ("idle", ("1s", 3)),
    ("sources", (0, 1)),
    ("sources", (True, 1)),
    ("sources", 2),
    ("sources", (1, 1.0)),
    ("sources", (1, 1, 1)),
    ("replicas", True),
    ("replicas", -1),
    ("replicas", 1.0),
    ("replicas", "two"),
    ("pick", 0),
    ("pick", -1),
    ("where", 3),
    ("order_by", 3),
    ("lower", None),
    ("upper", float("nan")),
]


@pytest.mark.parametrize(
    ("argument", "value"), ALSO_REFUSED, ids=[f"{name}={value}" for name, value in ALSO_REFUSED]
)
def test_a_wrong_argument_is_refused_by_its_name(argument: str, value: object) -> None:
    message = refused(**{argument: value})
    assert f"`{argument}`" in message.splitlines()[0]


def test_integers_go_with_integers_in_every_span() -> None:
    read = spec(lower=-5, upper=5, lateness=(1, 2), idle=3)
    assert read.lateness == (Span(1, "ticks"), Span(2, "ticks"))
    assert read.idle == (Span(3, "ticks"), Span(3, "ticks"))


SAME = [
    {"upper": "30000 ms"},
    {"upper": timedelta(seconds=30)},
    {"late": "fail"},
    {"lateness": "1s"},
    {"idle": "1s"},
    {"time": None, "left_time": "ts", "right_time": "ts"},
    {"pattern": "key"},
]
OTHER = [
    {"upper": "31s"},
    {"lower": 0, "upper": 30 * SECOND},
    {"closed": "left"},
    {"on": "key"},
    {"columns": ["ts"]},
    {"suffixes": ("_l", "_r")},
    {"sources": (2, 1)},
    {"time": "at"},
]


@pytest.mark.parametrize("changes", SAME, ids=str)
def test_the_identity_is_the_same_where_the_meaning_is(changes: dict[str, Any]) -> None:
    assert spec(**changes).identity() == spec().identity()


@pytest.mark.parametrize("changes", OTHER, ids=str)
def test_the_identity_differs_where_the_meaning_does(changes: dict[str, Any]) -> None:
    assert spec(**changes).identity() != spec().identity()


def test_the_identity_is_plain_json() -> None:
    identity = spec(on=[("l", "r")], columns=["l"], lower=-(2**63), upper=2**63 - 1).identity()
    assert json.loads(json.dumps(identity)) == identity


def test_every_argument_is_named_as_a_field_of_the_spec() -> None:
    arguments = set(inspect.signature(join_spec).parameters)
    fields = {field.name for field in dataclasses.fields(JoinSpec)}
    assert arguments - fields == {"time"}
    assert fields <= arguments

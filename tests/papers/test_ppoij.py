"""PPOIJ, section 4: three examples of what goes wrong when replicas see two rows in unlike orders.

One process sees one order. What the examples ask of the results still holds for every order and every cut:
the pair comes (4.2), comes once (4.1), whatever other key or row arrives between the two (4.3).
"""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

import weft
from tests.support.drawing import drawn, pairs
from tests.support.feeds import Push
from tests.support.rows import pairs_of
from tests.support.stage import push_all
from tests.support.watermark import Side

A_AND_B = drawn("""
    side  | id | key | ts
    left  | a1 | k   | 5
    right | b1 | k   | 7
""")

# t1 of key k0 and t3 of key k1 on the base stream, t2 of key k1 on the probe stream.
THREE = drawn("""
    side  | id | key | ts
    left  | t1 | k0  | 1
    left  | t3 | k1  | 3
    right | t2 | k1  | 2
""")


def stream() -> weft.stream.IntervalJoin:
    """Return the join of the examples."""
    return weft.stream.IntervalJoin(on="key", time="ts", lower=-5, upper=5, lateness=10)


@pytest.mark.parametrize("order", [("left", "right"), ("right", "left")])
def test_example_4_1_a_pair_is_not_emitted_twice_in_either_order(order: tuple[Side, Side]) -> None:
    op = stream()
    tables: dict[Side, pa.Table] = {"left": A_AND_B.left.table(), "right": A_AND_B.right.table()}
    results = [pairs_of(op.push(side, tables[side])) for side in order]
    assert results == [pairs(""), pairs("a1 b1")]
    # Later rows and the end bring no second copy.
    assert op.push("left", tables["left"].slice(0, 0)).num_rows == 0
    assert op.finish().num_rows == 0
    assert op.metrics.pairs_out == 1


@pytest.mark.parametrize("order", [("left", "right"), ("right", "left")])
def test_example_4_2_a_pair_is_not_missed_in_either_order(order: tuple[Side, Side]) -> None:
    op = stream()
    tables: dict[Side, pa.Table] = {"left": A_AND_B.left.table(), "right": A_AND_B.right.table()}
    assert sum((pairs_of(op.push(side, tables[side])) for side in order), pairs("")) == pairs("a1 b1")


def test_examples_4_1_and_4_2_both_rows_in_one_push_are_one_pair() -> None:
    op = stream()
    assert push_all(op, A_AND_B) == [pairs("a1 b1")]
    assert op.finish().num_rows == 0


ROWS = (Push((0,), None), Push((1,), None), Push(None, (0,)))


@pytest.mark.parametrize(
    "order", [*permutations(ROWS)], ids=lambda order: " ".join(_name(push) for push in order)
)
def test_example_4_3_rows_of_a_key_pair_in_any_interleaving_with_another_key(order: tuple[Push, ...]) -> None:
    op = stream()
    results = [
        pairs_of(
            op.push("right", THREE.right.table(push.right))
            if push.left is None
            else op.push("left", THREE.left.table(push.left))
        )
        for push in order
    ]
    assert sum(results, pairs("")) == pairs("t3 t2")


def _name(push: Push) -> str:
    return "t2" if push.left is None else ("t1", "t3")[push.left[0]]

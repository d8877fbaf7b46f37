"""Scale-OIJ, Figure 3: an interval join over (-2 s, 0) beside a sliding window join of 3 s and slide 2 s."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from tests.support.drawing import drawn, pairs
from tests.support.runtimes import Runtime, joined

# The figure's times are not printed; these give its pairs in both of its joins (s base, r probe).
FIGURE_3 = drawn(
    """
    side  | id | key | ts
    right | r1 | k   | 0
    left  | s1 | k   | 1
    right | r2 | k   | 2
    right | r3 | k   | 3
    right | r4 | k   | 4
    left  | s2 | k   | 5
    right | r5 | k   | 7
    left  | s3 | k   | 8
    """,
    {"ts": pa.timestamp("s")},
)
SECOND = 10**9


def test_figure_3a_the_interval_join_pairs_each_base_row_with_the_two_seconds_before_it(
    runtime: Runtime,
) -> None:
    expected = pairs("s1 r1, s2 r3, s2 r4, s3 r5")
    assert joined(runtime, FIGURE_3.case(-2 * SECOND, 0)) == expected


def test_figure_3a_aggregates_per_base_row(runtime: Runtime) -> None:
    result = runtime.join(FIGURE_3.case(-2 * SECOND, 0), Random(0))
    gathered: dict[str, list[str]] = {}
    for base, probe in zip(result["id"].to_pylist(), result["id_right"].to_pylist(), strict=True):
        gathered.setdefault(base, []).append(probe)
    assert {base: sorted(probes) for base, probes in gathered.items()} == {
        "s1": ["r1"],
        "s2": ["r3", "r4"],
        "s3": ["r5"],
    }


def test_figure_3b_a_row_of_the_same_window_but_beyond_the_interval_is_no_pair(runtime: Runtime) -> None:
    # s2 and r2 share a sliding window of three seconds, but lie three seconds apart.
    got = joined(runtime, FIGURE_3.case(-2 * SECOND, 0))
    assert ("s2", "r2") not in got
    assert ("s2", "r2") in joined(runtime, FIGURE_3.case(-3 * SECOND, 0))


def test_definition_2_is_closed_at_both_ends(runtime: Runtime) -> None:
    told = drawn("""
        side  | id | key | ts
        left  | s  | 1   | 10
        right | r1 | 1   | 8
        right | r2 | 1   | 7
        right | r3 | 1   | 10
        right | r4 | 1   | 11
    """)
    assert joined(runtime, told.case(-2, 0)) == pairs("s r1, s r3")

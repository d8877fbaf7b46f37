"""What the join workloads share: a case made from a stream's shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.data import DELAY, scaled, sides, with_text
from bench.joins import JoinCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.data import Stream
    from bench.model import Setting


def case_of(stream: Stream, lower: int, upper: int, push: int = 65_536) -> Callable[[Setting], JoinCase]:
    """Return a maker of the case: this stream on both sides, seven int64 columns out."""

    def make(setting: Setting) -> JoinCase:
        left, right = sides(scaled(stream, setting.rows), setting.seed)
        return JoinCase(left, right, lower, upper, DELAY, push)

    return make


def text_case_of(stream: Stream, lower: int, upper: int, push: int = 65_536) -> Callable[[Setting], JoinCase]:
    """Return a maker of the same case with string keys and, on each side, a string and a nullable column."""
    plain = case_of(stream, lower, upper, push)

    def make(setting: Setting) -> JoinCase:
        case = plain(setting)
        left = with_text(case.left, setting.seed + 1, "b")
        right = with_text(case.right, setting.seed + 2, "d")
        return JoinCase(left, right, lower, upper, DELAY, push)

    return make

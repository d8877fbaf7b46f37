"""weft over whole tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import weft

if TYPE_CHECKING:
    from bench.joins import JoinCase, Keep, Run


def open_case(case: JoinCase) -> Run:
    """Nothing to load: the tables are what the call takes."""

    def run(keep: Keep) -> object:
        result = weft.interval_join(
            case.left, case.right, on="key", time="ts", lower=f"{case.lower} us", upper=f"{case.upper} us"
        )
        keep(result)
        return result

    return run

"""Exactly once: a query that is killed, whole or a worker of it, gives each pair once when it is back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.plans import Whom, draw
from tests.crash.trial import play

MINUTES = 60  # seconds


@pytest.mark.timeout(15 * MINUTES)
@pytest.mark.parametrize(("whom", "seed"), [("all", 27), ("all", 28), ("worker", 20), ("worker", 31)])
def test_each_pair_is_written_once_whoever_dies(whom: Whom, seed: int, tmp_path: Path) -> None:
    told = play(draw(seed, whom, batches=5, deaths=1 if whom == "all" else 2), tmp_path)
    print(told)
    assert told.deaths
    assert not told.wrong, told


@pytest.mark.soak
@pytest.mark.timeout(30 * MINUTES)
@pytest.mark.parametrize("number", range(50))
def test_each_pair_is_written_once_trial_after_trial(number: int, seed: int, tmp_path: Path) -> None:
    told = play(draw(seed + number), tmp_path)
    print(f"{told}\nrepeat with: python -m tests.crash.trial {seed + number}")
    assert not told.wrong, told

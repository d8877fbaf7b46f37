"""How much the property tests try, and on which runtimes a claim is tested.

WEFT_SOAK=1           the Hypothesis profile `soak`; WEFT_SOAK=5000 tries so many examples a property
WEFT_SOAK_SECONDS=60  how long each of the tests marked `soak` goes on
WEFT_SEED=123         the first seed of those (otherwise a new one; the header of every run prints it)
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.runtimes import RUNTIMES, Runtime, spread
from tests.support.spark import spark_session, stop_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOAK = os.environ.get("WEFT_SOAK", "")
SEED = int(os.environ.get("WEFT_SEED") or secrets.randbits(32))
MANY = int(SOAK) if SOAK.isdigit() and int(SOAK) > 1 else 2000

# Cases are drawn by a generator that asks for many small numbers: slow to Hypothesis, not to us.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=SLOW,
)
settings.register_profile(
    "soak", max_examples=MANY, deadline=None, print_blob=True, suppress_health_check=SLOW
)
settings.load_profile("soak" if SOAK else "default")


def pytest_report_header() -> str:
    """Print what a failure has to be repeated with, and what is left out."""
    some = [f"{one.most} parameter sets of a claim on a {one.name}" for one in RUNTIMES if one.most]
    left_out = "" if SOAK else f"; at most {', '.join(some)}"
    return f"weft: WEFT_SEED={SEED}, Hypothesis profile {'soak' if SOAK else 'default'}{left_out}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out parameter sets of claims where each takes a second; with WEFT_SOAK all of them run."""
    claims: dict[tuple[Path, str, int], list[pytest.Item]] = {}
    for item in items:
        chosen = item.callspec.params.get("runtime") if hasattr(item, "callspec") else None
        if isinstance(item, pytest.Function) and chosen is not None and chosen.most and not SOAK:
            claims.setdefault((item.path, item.originalname, chosen.most), []).append(item)
    left_out: set[pytest.Item] = set()
    for (_, _, most), sets in claims.items():
        left_out |= set(sets) - set(spread(sets, most))
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", params=RUNTIMES, ids=lambda runtime: runtime.name)
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Run a claim on every runtime."""
    chosen: Runtime = request.param
    return chosen


@pytest.fixture(scope="session")
def seed() -> int:
    """Return the first seed of this run."""
    return SEED


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """Return the one Spark session of this run."""
    return spark_session()


def pytest_sessionfinish() -> None:
    """Stop Spark, if a test has started it."""
    stop_spark()

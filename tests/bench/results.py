"""Result entries for tests, as the runner writes them."""

from __future__ import annotations

from bench.store import Entry, Judged, Measured, spread

MACHINE = {"cpu": "Test CPU", "cores": 2, "memory_gib": 16.0, "system": "Linux 6", "pinned": True}


def contender(values: list[float], over: list[float] | None = None) -> Measured:
    """Return a contender with these rows/s; `over` are weft's."""
    ratios = [one / other for one, other in zip(over or [], values, strict=False)]
    return {
        "figures": {"rows/s": spread(values)},
        "ratios": {"rows/s": spread(ratios)} if ratios else {},
        "memory_mib": 123.4,
    }


def judged(ratio: list[float], at_least: float | None = 2.0, goal: float | None = 4.0) -> Judged:
    """Return the ratio to the fastest peer beside what it should be."""
    return {
        "figure": "rows/s",
        "unit": "rows/s",
        "better": "higher",
        "at_least": at_least,
        "goal": goal,
        "over": ["polars-bucket", "duckdb-bucket"],
        "value": spread(ratio),
    }


def entry(name: str = "W1") -> Entry:
    """Return a workload with two peers: weft is 3 times as fast as the faster one."""
    weft, polars, duckdb = [30e6, 33e6, 27e6], [10e6, 11e6, 9e6], [5e6, 5.5e6, 0.9e6]
    return {
        "workload": name,
        "summary": "whole tables",
        "date": "2026-11-19T12:00:00+00:00",
        "commit": "0123456789ab",
        "seed": 7,
        "rows": 2_000_000,
        "pairs": 4_994_717,
        "checksum": "00ff",
        "repetitions": 3,
        "machine": MACHINE,  # type: ignore[typeddict-item]
        "versions": {"python": "3.12.1", "numba": "0.68.1", "polars": "2.1.0"},
        "contenders": {
            "weft": contender(weft),
            "polars-bucket": contender(polars, weft),
            "duckdb-bucket": contender(duckdb, weft),
        },
        "judged": [judged([3.0, 3.0, 3.0])],
        "missing": {},
    }


def latency(name: str = "batch-sizes") -> Entry:
    """Return a workload without peers: one size of the curve."""
    figures = {
        "1 row a push": spread([123_456.0]),
        "1 row, p50": spread([7.25]),
        "1 row, p99": spread([61.0]),
    }
    return entry(name) | {  # type: ignore[return-value]
        "summary": "one push",
        "pairs": None,
        "contenders": {"weft-stream": {"figures": figures, "ratios": {}, "memory_mib": 99.0}},
        "judged": [
            own("1 row a push", "rows/s", "higher", (None, None), figures),
            own("1 row, p50", "us", "lower", (60.0, 10.0), figures),
            own("1 row, p99", "us", "lower", (500.0, 50.0), figures),
        ],
    }


def own(name: str, unit: str, better: str, bounds: tuple[float | None, float | None], figures: dict) -> dict:  # type: ignore[type-arg]
    """Return a figure that is judged by itself."""
    return {
        "figure": name,
        "unit": unit,
        "better": better,
        "at_least": bounds[0],
        "goal": bounds[1],
        "over": [],
        "value": figures[name],
    }

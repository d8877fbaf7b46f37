"""What is refused before a job runs: libraries missing or too old, an older server, another state store."""

from __future__ import annotations

import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft.errors import InputError
from weft.spark import demands

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
NEEDS = {need.name: need for need in demands.NEEDS}


def fake_session(version: str = "4.3.0", provider: str = demands.ROCKSDB) -> Any:
    return SimpleNamespace(version=version, conf=SimpleNamespace(get={demands.PROVIDER: provider}.get))


def have(monkeypatch: pytest.MonkeyPatch, **versions: str | None) -> None:
    """Be on a machine with these versions of what is needed, and recent ones of the rest."""
    monkeypatch.setattr(demands, "installed", lambda need: versions.get(need.name, "99.0"))


def test_this_machine_has_what_is_needed() -> None:
    demands.check_versions()


@pytest.mark.parametrize("name", NEEDS)
def test_a_library_that_is_missing_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    have(monkeypatch, **{name: None})
    with pytest.raises(InputError, match=f"needs {name} .* is not installed") as caught:
        demands.check_versions()
    assert caught.value.hint == "pip install 'weft[spark]'"


@pytest.mark.parametrize(
    ("name", "version"),
    [("pyspark", "4.2.9"), ("pyspark", "3.5.6"), ("protobuf", "6.33.0"), ("pandas", "2.2.1")],
)
def test_an_older_library_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, version: str) -> None:
    have(monkeypatch, **{name: version})
    with pytest.raises(InputError, match=f"needs {name} {NEEDS[name].at_least} or newer .*; it is {version}"):
        demands.check_versions()


@pytest.mark.parametrize("version", ["4.3.0", "4.3", "4.3.0.dev1", "4.3.1rc2", "4.10.0", "5.0.0-SNAPSHOT"])
def test_a_newer_version_will_do(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    have(monkeypatch, pyspark=version)
    demands.check_versions(fake_session(version))


def test_a_session_on_an_older_spark_is_refused() -> None:
    with pytest.raises(InputError, match=r"the session runs on Spark 3\.5\.6") as caught:
        demands.check_versions(fake_session("3.5.6"))
    assert "SPARK_HOME" in caught.value.hint


def test_the_bounds_are_those_of_the_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    bounds = [entry.split(",")[0] for entry in project["optional-dependencies"]["spark"]]
    assert sorted(bounds) == sorted(f"{need.name}>={need.at_least}" for need in demands.NEEDS)


def test_a_library_without_metadata_says_its_version_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "unpacked_spark.py").write_text("__version__ = '4.3.7'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert demands.installed(demands.Need("unpacked-spark", "unpacked_spark", "4.3", "")) == "4.3.7"
    monkeypatch.delitem(sys.modules, "unpacked_spark", raising=False)
    assert demands.installed(demands.Need("unheard-of", "unheard_of", "1", "")) is None


def test_the_module_that_is_loaded_counts_not_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(__version__="3.0.0"))
    assert demands.installed(NEEDS["pyspark"]) == "3.0.0"


@pytest.mark.parametrize(
    "provider", [demands.ROCKSDB, "com.databricks.sql.streaming.state.RocksDBStateStoreProvider"]
)
def test_a_session_that_keeps_state_in_rocksdb_is_taken(provider: str) -> None:
    demands.check_store(fake_session(provider=provider))


@pytest.mark.parametrize("provider", [HDFS, "com.rocksdb.RocksDB.Other"])
def test_another_store_is_refused_with_the_line_to_write(provider: str) -> None:
    with pytest.raises(InputError) as caught:
        demands.check_store(fake_session(provider=provider))
    assert caught.value.message == (
        "`spark.sql.streaming.stateStore.providerClass` must be RocksDB's, which streams need; "
        f'got "{provider}".'
    )
    written: dict[str, str] = {}
    exec(caught.value.hint, {"spark": SimpleNamespace(conf=SimpleNamespace(set=written.__setitem__))})
    assert written == {demands.PROVIDER: demands.ROCKSDB}


def test_the_checks_cost_little() -> None:
    demands.check_versions()
    start = time.perf_counter()
    for _ in range(10):
        demands.check_versions(fake_session())
        demands.check_store(fake_session())
    assert (time.perf_counter() - start) / 10 < 0.05

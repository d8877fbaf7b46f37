"""What `weft doctor` says of Spark: Java, versions, the workers' interpreter, RocksDB; nothing without it."""

from __future__ import annotations

import sys
import zipfile
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from weft.cli import spark_checks
from weft.cli.checks import Finding
from weft.errors import InputError
from weft.spark.java import Java

if TYPE_CHECKING:
    from pathlib import Path

THIS = "{}.{}".format(*sys.version_info)


def program(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str) -> Path:
    program(home / "bin" / "java", f'echo "    java.version = {version}" >&2')
    return home


def have(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    monkeypatch.setattr("weft.spark.demands.installed", lambda need: version)


def test_without_pyspark_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_checks, "is_here", lambda: False)
    found = {name: check() for name, check in spark_checks.CHECKS.items()}
    assert found.pop("Spark") == Finding("ok", "not installed (pip install 'weft[spark]')")
    assert set(found.values()) == {Finding("ok", "not needed without Spark")}


@pytest.mark.parametrize("check", ["Spark", "protobuf", "pandas on Spark"])
@pytest.mark.parametrize(("version", "said"), [("1.0", "it is 1.0"), (None, "it is not installed")])
def test_a_library_that_is_missing_or_too_old_is_wrong(
    monkeypatch: pytest.MonkeyPatch, check: str, version: str | None, said: str
) -> None:
    have(monkeypatch, version)
    finding = spark_checks.CHECKS[check]()
    assert (finding.verdict, finding.advice) == ("wrong", "pip install 'weft[spark]'")
    assert said in finding.found


def test_a_protobuf_that_pyspark_cannot_use_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_checks, "in_fresh_process", lambda _: (False, "VersionError: gencode", 0.1))
    assert spark_checks.protobuf().verdict == "wrong"
    assert "VersionError: gencode" in spark_checks.protobuf().found


@pytest.mark.parametrize(
    ("version", "found"),
    [("2.3.1", "2.3.1"), ("3.1.1", "3.1.1; PySpark warns of pandas 3, weft is tested with it")],
)
def test_of_pandas_3_it_says_what_pyspark_says(
    monkeypatch: pytest.MonkeyPatch, version: str, found: str
) -> None:
    have(monkeypatch, version)
    assert spark_checks.pandas() == Finding("ok", found)


def test_the_java_is_named_with_its_version_and_how_it_was_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = fake_java(tmp_path / "jdk", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert spark_checks.java() == Finding("ok", f"21.0.8 (JAVA_HOME): {home}")


def test_without_a_java_the_ways_to_get_one_are_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Java:
        raise InputError("none is here.", "install one")

    monkeypatch.setattr(spark_checks, "find_java", none)
    assert spark_checks.java() == Finding("wrong", "none is here.", "install one")


def test_a_java_that_does_not_start_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spark_checks, "find_java", lambda: Java(tmp_path, "17", "PATH"))
    assert spark_checks.java().verdict == "wrong"


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "(11.0.2)"), (None, "(none that runs)")])
def test_a_java_home_that_spark_cannot_use_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None, said: str
) -> None:
    home = fake_java(tmp_path / "jdk", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", version) if version else tmp_path))
    monkeypatch.setattr(spark_checks, "find_java", lambda: Java(home, "17.0.15", "PATH"))
    finding = spark_checks.java()
    assert (finding.verdict, finding.advice) == ("warn", f"export JAVA_HOME={home}")
    assert said in finding.found


def test_no_interpreter_named_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    finding = spark_checks.workers()
    assert finding.verdict == "ok"
    assert finding.found.startswith("not set: weft.spark.session takes this interpreter")


def test_this_interpreter_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert spark_checks.workers() == Finding("ok", f"{sys.executable} (Python {THIS})")


@pytest.mark.parametrize(
    ("prints", "said"),
    [
        ("3 9 True", f"is Python 3.9, this is {THIS}"),
        (f"{THIS.replace('.', ' ')} False", "does not have weft"),
        ("what", "does not run"),
        ("", "does not run"),
    ],
)
def test_another_interpreter_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prints: str, said: str
) -> None:
    named = program(tmp_path / "python", f"echo {prints}")
    monkeypatch.setenv("PYSPARK_PYTHON", str(named))
    finding = spark_checks.workers()
    assert finding.verdict == "wrong"
    assert said in finding.found
    assert f"export PYSPARK_PYTHON={sys.executable}" in finding.advice


@pytest.mark.parametrize("named", ["no-such-python", "/no/such/python"])
def test_an_interpreter_that_is_not_there_is_wrong(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", named)
    assert spark_checks.workers().found == f"{named} does not run"


def test_rocksdb_of_this_machine_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    finding = spark_checks.rocksdb()
    assert finding.verdict == "ok"
    assert finding.found.endswith("loads")


@pytest.fixture
def spark_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Have a Spark whose jars a test puts there."""
    (tmp_path / "jars").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(spark_checks, "native_library", lambda: "native.so")
    return tmp_path


def jar(spark_home: Path, **files: str) -> None:
    with zipfile.ZipFile(spark_home / "jars" / "rocksdbjni-1.jar", "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)


def test_a_spark_without_rocksdb_is_wrong(spark_home: Path) -> None:
    assert spark_checks.rocksdb() == Finding(
        "wrong", "no rocksdbjni is among Spark's jars", "pip install --force-reinstall pyspark"
    )


def test_a_jar_without_this_machines_library_is_wrong(spark_home: Path) -> None:
    jar(spark_home, other_so="")
    assert spark_checks.rocksdb().verdict == "wrong"
    assert "native.so" in spark_checks.rocksdb().found


def test_a_damaged_jar_is_wrong(spark_home: Path) -> None:
    (spark_home / "jars" / "rocksdbjni-1.jar").write_text("no jar")
    assert spark_checks.rocksdb().advice == "pip install --force-reinstall pyspark"


def test_a_library_that_does_not_load_is_wrong(spark_home: Path) -> None:
    jar(spark_home, native_so="no library")
    finding = spark_checks.rocksdb()
    assert finding.verdict == "wrong"
    assert "does not load" in finding.found
    assert "ROCKSDB_SHAREDLIB_DIR" in finding.advice


def test_a_machine_that_is_not_known_is_a_warning(monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> None:
    jar(spark_home)
    monkeypatch.setattr(spark_checks, "native_library", lambda: None)
    assert spark_checks.rocksdb().verdict == "warn"


@pytest.mark.parametrize(
    ("system", "machine", "libc", "name"),
    [
        ("Linux", "x86_64", "glibc", "librocksdbjni-linux64.so"),
        ("Linux", "x86_64", "", "librocksdbjni-linux64-musl.so"),
        ("Linux", "aarch64", "", "librocksdbjni-linux-aarch64-musl.so"),
        ("Darwin", "arm64", "", "librocksdbjni-osx-arm64.jnilib"),
        ("Plan9", "x86_64", "", None),
    ],
)
def test_the_library_is_that_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, libc: str, name: str | None
) -> None:
    fake = SimpleNamespace(
        system=lambda: system, machine=lambda: machine, libc_ver=lambda: (libc, ""), platform=None
    )
    monkeypatch.setattr(spark_checks, "platform", fake)
    assert spark_checks.native_library() == name

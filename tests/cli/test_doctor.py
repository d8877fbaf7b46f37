"""`weft doctor`: what it says of each thing, and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from weft.cli import checks
from weft.cli.app import app
from weft.cli.checks import Finding

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WIDE = {"COLUMNS": "200"}


def doctor(monkeypatch: pytest.MonkeyPatch, *found: Callable[[], Finding]) -> tuple[int, str]:
    monkeypatch.setattr(
        "weft.cli.doctor.CHECKS", {f"thing {number}": one for number, one in enumerate(found)}
    )
    result = CliRunner().invoke(app, ["doctor"], env=WIDE)
    return result.exit_code, result.output


def test_a_warning_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = doctor(
        monkeypatch, lambda: Finding("ok", "fine"), lambda: Finding("warn", "low", "add [some]")
    )
    assert code == 0
    assert "add [some]" in text
    assert "0 wrong, 1 warnings, 1 ok" in text


def test_what_is_wrong_ends_with_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = doctor(monkeypatch, lambda: Finding("wrong", "missing", "pip install it"))
    assert code == 1
    assert "pip install it" in text


def test_a_check_that_fails_is_wrong_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Finding:
        raise OSError("no such thing")

    code, text = doctor(monkeypatch, broken)
    assert code == 1
    assert "OSError: no such thing" in text


def test_this_machine_is_well() -> None:
    result = CliRunner().invoke(app, ["doctor"], env=WIDE)
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in checks.CHECKS)


@pytest.mark.parametrize(
    ("version", "bounds", "kept"),
    [
        ("2.0.0", ">=2.0", True),
        ("2.0", ">=2.0.0", True),
        ("1.26.4", ">=2.0", False),
        ("3.0.0rc1", ">=2.2.2,<3", False),
        ("2.10", ">=2.9", True),
        ("0.68.1", "", True),
    ],
)
def test_versions_are_compared_number_by_number(version: str, bounds: str, kept: bool) -> None:
    assert checks.within(version, bounds) is kept


def test_bounds_are_those_of_the_package() -> None:
    assert checks.bounds_of("numba").startswith(">=")
    assert checks.bounds_of("polars").startswith(">=")
    assert checks.bounds_of("unheard-of") == ""


def test_a_library_outside_its_bounds_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "bounds_of", lambda _: ">=99")
    assert checks.library("numpy", needed=True).verdict == "wrong"
    assert checks.library("numpy", needed=True).advice == "pip install 'numpy>=99'"


def test_only_a_needed_library_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "installed", lambda _: None)
    assert checks.library("polars", needed=False).verdict == "ok"
    assert checks.library("numba", needed=True).verdict == "wrong"


def test_a_numba_that_does_not_load_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "in_fresh_process", lambda _: (False, "undefined symbol", 0.1))
    assert checks.numba() == Finding(
        "wrong", "undefined symbol", "pip install --force-reinstall numba llvmlite"
    )
    assert checks.kernel().verdict == "wrong"
    assert checks.kernel_cache().verdict == "wrong"


def test_a_process_that_dies_is_told_by_its_code() -> None:
    well, said, _ = checks.in_fresh_process("import os; os._exit(3)")
    assert (well, said) == (False, "ended with code 3")


def test_kernels_that_run_as_python_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert checks.kernel().advice == "unset NUMBA_DISABLE_JIT"


def test_no_folder_for_kernels_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "in_fresh_process", lambda _: (True, "none", 0.1))
    assert checks.kernel_cache().verdict == "warn"


def test_the_cache_folder_is_named_with_what_it_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checks, "in_fresh_process", lambda _: (True, str(tmp_path), 0.1))
    assert checks.kernel_cache().found == f"{tmp_path}: empty, the first join fills it"
    (tmp_path / "a.1.nbc").touch()
    assert checks.kernel_cache().found == f"{tmp_path}: 1 kernels"


def test_little_memory_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LITTLE_MEMORY", 1 << 60)
    assert checks.memory().verdict == "warn"

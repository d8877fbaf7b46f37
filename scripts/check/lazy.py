"""Light imports: these modules may not load a heavy library, nor anything of weft that does.

`import weft` has to stay under 0.1 s; numpy alone takes longer than that on some machines.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.check.files import PACKAGE

HEAVY = {"duckdb", "llvmlite", "numba", "numpy", "pandas", "polars", "pyarrow", "pyspark"}
HEAVY |= {"matplotlib", "psutil", "rich", "typer"}
LIGHT = ("__init__", "errors", "types", "spec", "spark", "cli")
LOADED = "import sys, importlib; importlib.import_module(sys.argv[1]); print(*sys.modules)"


def loaded(root: Path, module: str) -> set[str]:
    """The top modules a fresh interpreter holds after importing this one."""
    command = [sys.executable, "-c", LOADED, module]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    return set(done.stdout.split()) if done.returncode == 0 else {done.stderr.strip().rpartition("\n")[2]}


def violations(root: Path) -> Iterator[str]:
    """Every light module that loads something heavy, or cannot be imported at all."""
    for name in LIGHT:
        package = root / PACKAGE
        if not (package / f"{name}.py").exists() and not (package / name).is_dir():
            continue
        module = "weft" if name == "__init__" else f"weft.{name}"
        names = loaded(root, module)
        if module not in names:
            yield f"import {module} fails: {names.pop()}"
        elif heavy := sorted(names & HEAVY):
            yield f"import {module} loads {', '.join(heavy)}; import it inside the function that needs it"


if __name__ == "__main__":
    sys.exit("\n".join(violations(Path.cwd())) or 0)

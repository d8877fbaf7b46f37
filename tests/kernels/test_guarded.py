"""No kernel reads behind the memory of what was pushed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_no_byte_behind_a_pushed_buffer_is_read() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.kernels.guarded"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = {tuple(line.split()[2:]) for line in done.stdout.splitlines()}
    assert len(done.stdout.splitlines()) == 10
    assert len(told) == 1, told

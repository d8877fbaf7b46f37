"""What `weft doctor` looks at of Spark: Java, the libraries PySpark needs, its interpreter, its state store.

Where PySpark is not installed nothing of this is needed, and nothing is wrong.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from weft.cli.checks import PATIENCE, Check, Finding, in_fresh_process, numbers
from weft.errors import InputError
from weft.spark import demands
from weft.spark.java import asked, find_java, looked_at

NEEDS = {need.name: need for need in demands.NEEDS}
INSTALL = "pip install 'weft[spark]'"
REINSTALL = "pip install --force-reinstall pyspark"
# Its name in the jar of RocksDB; on Linux without glibc with -musl behind it.
NATIVE = {
    ("Linux", "x86_64"): "librocksdbjni-linux64.so",
    ("Linux", "aarch64"): "librocksdbjni-linux-aarch64.so",
    ("Darwin", "arm64"): "librocksdbjni-osx-arm64.jnilib",
    ("Darwin", "x86_64"): "librocksdbjni-osx-x86_64.jnilib",
}
INTERPRETER = """
import sys
from importlib.util import find_spec
print(*sys.version_info[:2], bool(find_spec("weft")))
"""


def is_here() -> bool:
    """Return whether PySpark is there at all."""
    return find_spec("pyspark") is not None


def if_spark_is_here(check: Check) -> Finding:
    """Look only where there is a PySpark to look at."""
    return check() if is_here() else Finding("ok", "not needed without Spark")


def spark() -> Finding:
    """PySpark is new enough, if it is there."""
    return library("pyspark") if is_here() else Finding("ok", f"not installed ({INSTALL})")


def library(name: str) -> Finding:
    """A library that weft on Spark needs is there and new enough."""
    need = NEEDS[name]
    version = demands.installed(need)
    if version is None or demands.older(version, need.at_least):
        refused = demands.lacking(need, version)
        return Finding("wrong", refused.message, refused.hint)
    return Finding("ok", version)


def java() -> Finding:
    """There is a Java that Spark can use, it starts, and JAVA_HOME leads to no other."""
    try:
        found = find_java()
    except InputError as error:
        return Finding("wrong", error.message, error.hint)
    said = asked(found.home / "bin" / "java").get("java.version")
    if said is None:
        return Finding("wrong", f"{found.version} ({found.way}) does not start: {found.home}", "reinstall it")
    here = f"{said} ({found.way}): {found.home}"
    named = os.environ.get("JAVA_HOME")
    if named and found.way != "JAVA_HOME":
        other = looked_at("JAVA_HOME", Path(named)).version or "none that runs"
        why = f"JAVA_HOME leads to another ({other}), which only weft.spark.session passes over"
        return Finding("warn", f"{here}; {why}", f"export JAVA_HOME={found.home}")
    return Finding("ok", here)


def protobuf() -> Finding:
    """Protobuf is new enough, and PySpark's own messages load with it."""
    listed = library("protobuf")
    if listed.verdict != "ok":
        return listed
    well, said, _ = in_fresh_process("import pyspark.sql.streaming.proto.StateMessage_pb2; print('well')")
    if not well:
        return Finding("wrong", f"{listed.found}, but PySpark cannot use it: {said}", INSTALL)
    return listed


def pandas() -> Finding:
    """Pandas is there; of pandas 3 PySpark warns."""
    listed = library("pandas")
    if listed.verdict == "ok" and numbers(listed.found)[0] >= 3:  # noqa: PLR2004 (what PySpark warns of)
        return Finding("ok", f"{listed.found}; PySpark warns of pandas 3, weft is tested with it")
    return listed


def workers() -> Finding:
    """The interpreter of Spark's workers is like this one and has weft."""
    named = os.environ.get("PYSPARK_PYTHON")
    this = "{}.{}".format(*sys.version_info)
    use = f"unset PYSPARK_PYTHON, or: export PYSPARK_PYTHON={sys.executable}"
    if not named:
        version, has_weft = interpreter("python3")
        what = f"{version}, {'with' if has_weft else 'without'} weft" if version else "not there"
        found = f"not set: weft.spark.session takes this interpreter, sessions of your own python3 ({what})"
        return Finding("ok", found)
    version, has_weft = interpreter(named)
    if version is None:
        return Finding("wrong", f"{named} does not run", use)
    if version != this:
        return Finding("wrong", f"{named} is Python {version}, this is {this}; both must be the same", use)
    if not has_weft:
        return Finding("wrong", f"{named} does not have weft", use)
    return Finding("ok", f"{named} (Python {version})")


def interpreter(program: str) -> tuple[str | None, bool]:
    """Return the version of an interpreter, if it runs, and whether weft can be imported there."""
    try:
        done = subprocess.run(
            [shutil.which(program) or program, "-c", INTERPRETER],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        major, minor, has_weft = done.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None, False
    return f"{major}.{minor}", has_weft == "True"


def rocksdb() -> Finding:
    """The state store is among Spark's jars, and its library loads."""
    spec = find_spec("pyspark")
    package = Path((spec and spec.origin) or "").parent
    jars = sorted((Path(os.environ.get("SPARK_HOME") or package) / "jars").glob("rocksdbjni-*.jar"))
    if not jars:
        return Finding("wrong", "no rocksdbjni is among Spark's jars", REINSTALL)
    name = native_library()
    if name is None:
        return Finding("warn", f"{jars[0].name}; not tried on {platform.system()} {platform.machine()}")
    try:
        well, said = loads(jars[0], name)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return Finding("wrong", f"{jars[0].name}: {error}", REINSTALL)
    if not well:
        advice = "set ROCKSDB_SHAREDLIB_DIR to a folder whose programs may be run"
        return Finding("wrong", f"{jars[0].name} does not load: {said}", advice)
    return Finding("ok", f"{jars[0].name}, loads")


def native_library() -> str | None:
    """Return the file in RocksDB's jar that is for this machine."""
    name = NATIVE.get((platform.system(), platform.machine()))
    if name and platform.system() == "Linux" and platform.libc_ver()[0] != "glibc":
        return name.replace(".so", "-musl.so")
    return name


def loads(jar: Path, name: str) -> tuple[bool, str]:
    """Load RocksDB as the JVM does, from a file of its own: whether it went well, and what was said."""
    # Java's folder for temporary files on Linux, whatever TMPDIR says.
    java_tmp = "/tmp" if platform.system() == "Linux" else None
    folder = os.environ.get("ROCKSDB_SHAREDLIB_DIR") or java_tmp
    with TemporaryDirectory(dir=folder) as own, zipfile.ZipFile(jar) as archive:
        path = archive.extract(name, own)
        well, said, _ = in_fresh_process(f"import ctypes; ctypes.CDLL({path!r}); print('well')")
    return well, said


CHECKS: dict[str, Check] = {
    "Spark": spark,
    "Java": partial(if_spark_is_here, java),
    "protobuf": partial(if_spark_is_here, protobuf),
    "pandas on Spark": partial(if_spark_is_here, pandas),
    "PYSPARK_PYTHON": partial(if_spark_is_here, workers),
    "RocksDB": partial(if_spark_is_here, rocksdb),
}

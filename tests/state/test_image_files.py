"""Where anything of an image is not as it was written, or not this user's own, there is no image."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.state.shards import empty, files, filled, interner_of, loaded, met, missing, nonce, saved
from weft.state.images import Images
from weft.state.mapped import ALIGNED, HEAD, DamagedError, read, write

Folder = tuple[Path, str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Return a folder and the nonce of its image, which has files of every kind."""
    monkeypatch.setattr("weft.state.images.TAIL", 3)
    name = saved(Images(tmp_path), filled(3000, 9000, 40)[0])
    assert [len(files(tmp_path, kind)) for kind in ("", ".run", ".keys")] == [1, 2, 1]
    return tmp_path, name


def copies(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Return every file and what is in it; it is put back afterwards."""
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        yield path, data
        path.write_bytes(data)


def test_every_file_is_needed(folder: Folder) -> None:
    for path, _ in copies(folder[0]):
        path.unlink()
        assert missing(*folder), path
    assert not missing(*folder)


def test_a_flipped_byte_in_a_header_is_seen(folder: Folder) -> None:
    for path, data in copies(folder[0]):
        length = HEAD.size + HEAD.unpack(data[: HEAD.size])[-1]
        with path.open("r+b", buffering=0) as file:
            for at in range(length):
                os.pwrite(file.fileno(), bytes([data[at] ^ (1 << at % 8)]), at)
                with pytest.raises(DamagedError):
                    read(path)
                if at in (0, HEAD.size, length - 1):
                    assert missing(*folder), (path, at)
                os.pwrite(file.fileno(), data[at : at + 1], at)
    assert not missing(*folder)


def test_a_file_cut_short_or_too_long_is_seen(folder: Folder) -> None:
    for path, data in copies(folder[0]):
        for size in (0, 1, HEAD.size - 1, HEAD.size, HEAD.size + 5, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:size])
            assert missing(*folder), (path, size)
        path.write_bytes(data + b"\0")
        assert missing(*folder), path
        path.write_bytes(b"\0" * len(data))
        assert missing(*folder), path
    assert not missing(*folder)


def test_a_folder_or_a_link_in_the_place_of_a_file_is_no_image(folder: Folder) -> None:
    for path, data in copies(folder[0]):
        path.unlink()
        path.mkdir()
        assert missing(*folder), path
        path.rmdir()
        aside = folder[0] / "aside"
        aside.write_bytes(data)
        path.symlink_to(aside)
        assert missing(*folder), path
        path.unlink()
        aside.unlink()
    assert not missing(*folder)


def test_a_format_of_another_version_is_no_image(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.state.mapped.FORMAT", 2)
    assert missing(*folder)


def test_an_image_of_another_kind_of_keys_is_none(folder: Folder) -> None:
    assert Images(folder[0]).load(folder[1], empty(), words=False) is None


def test_a_load_that_fails_is_followed_by_one_that_does_not(folder: Folder) -> None:
    images = Images(folder[0])
    assert images.load(nonce(), empty(), words=True) is None
    interner, windows = loaded(images, folder[1])
    assert interner.size == 5
    assert len(windows["left"]) == 12_040


@pytest.mark.parametrize(
    "name", ["", "..", "../" + "0" * 29, "a/" + "0" * 30, "A" * 32, "0" * 33, "0" * 31 + "\n"]
)
def test_only_a_nonce_names_an_image(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        Images(tmp_path).save(name, interner_of(1), empty())
    assert missing(tmp_path, name)
    assert not [*tmp_path.iterdir()]


def test_nobody_else_may_read_what_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = tmp_path / "above" / "shard"
        saved(Images(folder), filled(3000)[0])
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_folder_that_is_open_to_others_is_not_believed_until_it_is_closed(folder: Folder) -> None:
    for mode in (0o777, 0o770, 0o701):
        folder[0].chmod(mode)
        assert missing(*folder)
        name = saved(Images(folder[0]), filled(5)[0])
        assert stat.S_IMODE(folder[0].stat().st_mode) == 0o700
        assert not missing(folder[0], name)


def test_a_folder_of_another_user_is_left_alone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    there = {*folder[0].iterdir()}
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert missing(*folder)
    assert not Images(folder[0]).save(nonce(), interner_of(1), empty())
    assert {*folder[0].iterdir()} == there


def test_a_file_of_another_user_is_not_believed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.state.images.private", lambda *_, **__: None)
    assert not missing(*folder)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert missing(*folder)


def test_a_folder_in_the_place_of_the_folder_may_be_no_link(folder: Folder, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder[0], target_is_directory=True)
    assert missing(link, folder[1])
    assert not Images(link).save(nonce(), interner_of(1), empty())


def test_arrays_come_back_as_they_were_written(tmp_path: Path) -> None:
    arrays = [np.arange(count, dtype=kind) for count in (0, 1, 7, 64, 100_000) for kind in ("u1", "i4", "u8")]
    write(tmp_path / "x", {"more": [1, "two"]}, arrays)
    header, again = read(tmp_path / "x")
    assert header["more"] == [1, "two"]
    for one, other in zip(arrays, again, strict=True):
        assert np.array_equal(one, other.view(one.dtype))
        assert other.ctypes.data % ALIGNED == 0


def test_no_file_is_written_over(tmp_path: Path) -> None:
    write(tmp_path / "x", {}, [np.arange(3)])
    with pytest.raises(FileExistsError):
        write(tmp_path / "x", {}, [np.arange(4)])
    assert read(tmp_path / "x")[1][0].view(np.int64).tolist() == [0, 1, 2]


def test_a_file_that_can_not_be_written_whole_is_none(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write(tmp_path / "x", {}, [np.zeros(10_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [*tmp_path.iterdir()]


def test_what_can_not_be_mapped_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x", {}, [np.arange(3)])
    monkeypatch.setattr("weft.state.mapped.PRIVATE", (0, 0))  # neither shared nor private
    with pytest.raises(OSError, match="mmap"):
        read(tmp_path / "x")


def test_an_image_of_nothing_is_one(tmp_path: Path) -> None:
    interner, windows = loaded(tmp_path, saved(Images(tmp_path), empty(), interner_of(0)))
    assert interner.size == 0
    met(windows["left"], [])

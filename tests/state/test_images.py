"""An image gives any process the state that was saved, or nothing; it is small in time and in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.state.shards import (
    KEYS,
    SMAPS,
    add,
    arrays_of,
    checksum,
    empty,
    files,
    filled,
    interner_of,
    loaded,
    met,
    missing,
    nonce,
    plain_windows,
    saved,
)
from weft.columns import SPARE
from weft.indexes.run import ALL
from weft.kernels.probe import sweep
from weft.state.images import DEBRIS, Images
from weft.state.mapped import write

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("counts", [(), (7,), (3000, 7), (2048, 2048, 9000, 2100), (8000, 300)])
def test_an_image_is_the_windows_that_were_saved(tmp_path: Path, counts: Sequence[int]) -> None:
    windows, rows = filled(*counts)
    held = {side: (window.nbytes, window.parts) for side, window in windows.items()}
    interner, again = loaded(tmp_path, saved(Images(tmp_path), windows))
    assert interner.keys().values.tolist() == [0, 10, 20, 30, 40]
    for one in (windows, again):
        met(one["left"], rows)
        assert {side: (window.nbytes, window.parts) for side, window in one.items()} == held


def test_both_go_on_from_an_image_alike(tmp_path: Path) -> None:
    windows, rows = filled(3000, 5000, 100)
    _, again = loaded(tmp_path, saved(Images(tmp_path), windows))
    for one in (windows["left"], again["left"]):
        mine = rows.copy()
        for count in (1, 2047, 2048, 6000, 30, 2048, 2048):
            add(one, mine, count)
            met(one, mine)


def test_a_run_that_is_not_in_order_yet_is_kept_as_it_is(tmp_path: Path) -> None:
    windows, rows = filled()
    window = windows["left"]
    add(window, rows, 2100)
    window.insert(filled(2100)[0]["left"].contents()[0], KEYS, ALL)
    assert [run.order is None for run in window.runs] == [True, False]
    _, again = loaded(tmp_path, saved(Images(tmp_path), windows))
    assert [run.order is None for run in again["left"].runs] == [True, False]
    again["left"].settle(again["left"].purged(KEYS, ALL))
    assert all(run.order is None for run in again["left"].runs)
    met(again["right"], filled(10)[1])


def test_long_offsets_stay_long(tmp_path: Path) -> None:
    windows, rows = filled(3000)
    windows["left"].runs = [
        replace(run, offsets=run.offsets.astype(np.int64)) for run in windows["left"].runs
    ]
    _, again = loaded(tmp_path, saved(Images(tmp_path), windows))
    assert again["left"].runs[0].offsets.dtype == np.int64
    met(again["left"], rows)


def test_a_lead_that_is_a_payload_column_too_is_written_once(tmp_path: Path) -> None:
    interner, windows = plain_windows(100_000)
    (run,) = windows["left"].runs
    assert run.columns[1].values.base is run.lead.base  # type: ignore[union-attr]
    bytes_held = run.nbytes
    _, again = loaded(tmp_path, saved(Images(tmp_path), windows, interner))
    for one in (windows, again):
        (run,) = one["left"].runs
        assert run.nbytes == bytes_held
        assert run.columns[1].values.base is run.lead.base  # type: ignore[union-attr]
        assert run.columns[2].values.base is not run.lead.base  # type: ignore[union-attr]
    (file,) = files(tmp_path, ".run")
    assert (tmp_path / file).stat().st_size < 1.01 * bytes_held + 4096


def test_every_array_is_aligned_and_has_room_to_read_and_to_write(tmp_path: Path) -> None:
    windows, rows = filled(2048, 5000)
    name = saved(Images(tmp_path), windows)
    _, again = loaded(tmp_path, name)
    before = {file: (tmp_path / file).read_bytes() for file in files(tmp_path, ".run")}
    for run in (run for one in (windows, again) for run in one["left"].runs):
        for array in arrays_of(run):
            assert array.ctypes.data % 64 == 0
            assert array.flags.writeable
            assert array.flags.c_contiguous
            assert array.base.nbytes - array.nbytes == SPARE
            array.base.view(np.uint8)[-SPARE:] = 255  # all of it can be read, and be written to
    met(again["left"], rows)
    assert before == {file: (tmp_path / file).read_bytes() for file in before}


def test_what_one_process_writes_to_is_its_own(tmp_path: Path) -> None:
    windows, rows = filled(4000)
    name = saved(Images(tmp_path), windows)
    _, spoilt = loaded(tmp_path, name)
    for array in arrays_of(spoilt["left"].runs[0]):
        array[:] = 0
    for one in (windows, loaded(tmp_path, name)[1]):
        met(one["left"], rows)


def test_kernels_are_not_compiled_again_for_mapped_arrays(tmp_path: Path) -> None:
    windows, rows = filled(3000)
    met(windows["left"], rows)
    known = len(sweep.signatures)  # type: ignore[attr-defined]
    _, again = loaded(tmp_path, saved(Images(tmp_path), windows))
    met(again["left"], rows)
    assert len(sweep.signatures) == known  # type: ignore[attr-defined]


def test_a_run_is_written_once(tmp_path: Path) -> None:
    images = Images(tmp_path)
    windows, rows = filled(4000, 9000)
    saved(images, windows)
    first = files(tmp_path, ".run")
    add(windows["left"], rows, 100)
    saved(images, windows)
    assert files(tmp_path, ".run") == first
    add(windows["left"], rows, 3000)
    saved(images, windows)
    second = files(tmp_path, ".run")
    assert first < second
    assert len(second) == len(first) + 1
    assert len(second) == len(windows["left"].runs)


def test_a_process_maps_a_run_once(tmp_path: Path) -> None:
    one, other = Images(tmp_path), Images(tmp_path)
    windows, rows = filled(4000, 9000)
    _, theirs = loaded(other, saved(one, windows))
    add(windows["left"], rows, 3000)
    _, again = loaded(other, saved(one, windows))
    known = {id(run) for run in theirs["left"].runs}
    assert sorted(id(run) in known for run in again["left"].runs) == [False, True, True]
    _, back = loaded(one, saved(other, again))
    assert [*map(id, back["left"].runs)] == [*map(id, windows["left"].runs)]
    assert len(files(tmp_path, ".run")) == 3


def test_two_images_are_kept_and_what_they_name(tmp_path: Path) -> None:
    images = Images(tmp_path)
    names = [saved(images, filled(count)[0]) for count in (2100, 2200, 2300)]
    assert missing(tmp_path, names[0])
    assert files(tmp_path) == {*names[1:]}
    assert len(files(tmp_path, ".run")) == 2
    for name, count in zip(names[1:], (2200, 2300), strict=True):
        met(loaded(tmp_path, name)[1]["left"], filled(count)[1])


def test_a_failed_attempt_goes_back_one(tmp_path: Path) -> None:
    one, other = Images(tmp_path), Images(tmp_path)
    windows, rows = filled(3000)
    first = saved(one, windows)
    add(windows["left"], [], 2500)
    failed = saved(one, windows)
    for images in (other, one, other):  # each goes back to the first, and leaves another second
        _, again = loaded(images, first)
        mine = rows.copy()
        add(again["left"], mine, 2600)
        second = saved(images, again)
        assert missing(tmp_path, failed)
        assert files(tmp_path) == {first, second}
        met(loaded(tmp_path, second)[1]["left"], mine)
        failed = second


def test_unlinked_files_stay_where_they_are_mapped(tmp_path: Path) -> None:
    images = Images(tmp_path)
    windows, rows = filled(4000, 5000, 100)
    _, again = loaded(tmp_path, saved(images, windows))
    for path in tmp_path.iterdir():
        path.unlink()
    for one in (windows, again):
        met(one["left"], rows)
    name = saved(images, windows)  # it notices, and writes all of it again
    met(loaded(tmp_path, name)[1]["left"], rows)


def test_no_file_stays_open(tmp_path: Path) -> None:
    windows, _ = filled(3000, 9000)
    name = saved(Images(tmp_path), windows)
    before = len([*Path("/proc/self/fd").iterdir()])
    kept = [loaded(tmp_path, name) for _ in range(5)]
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert kept


def test_what_a_crash_has_left_goes_at_some_point(tmp_path: Path) -> None:
    images = Images(tmp_path)
    windows, _ = filled(3000)
    saved(images, windows)
    for name in (f"{nonce()}.new", f"{nonce()}.run", f"{nonce()}.keys"):
        for path, age in ((tmp_path / name, 2 * DEBRIS), (tmp_path / f"f{name[1:]}", 1)):
            path.write_bytes(b"half")
            os.utime(path, (time.time() - age,) * 2)
    saved(images, windows)
    left = {path.name for path in tmp_path.iterdir() if path.read_bytes() == b"half"}
    assert len(left) == 3
    assert all(name.startswith("f") for name in left)


def test_where_the_disk_refuses_there_is_no_image_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, after = Images(tmp_path), 0
    windows, rows = filled(3000)
    saved(images, windows)
    there = {*tmp_path.iterdir()}
    add(windows["left"], rows, 9000)
    add(windows["left"], rows, 2100)
    written = []

    def refuse(path: Path, *laid: Any) -> None:
        written.append(path)
        if len(written) > after:
            raise OSError(28, "No space left on device")
        write(path, *laid)

    monkeypatch.setattr("weft.state.images.write", refuse)
    for after in range(3):
        written.clear()
        assert not images.save(nonce(), interner_of(KEYS), windows)
        assert len(written) == after + 1
        assert {*tmp_path.iterdir()} == there
        met(windows["left"], rows)
    monkeypatch.undo()
    met(loaded(tmp_path, saved(images, windows))[1]["left"], rows)


def test_processes_at_once_do_each_other_no_harm(tmp_path: Path) -> None:
    known: dict[str, int] = {}
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            images, random = Images(tmp_path), np.random.default_rng(seed)
            for _ in range(20):
                windows, _ = filled(*random.integers(1, 3000, 2))
                name, interner = nonce(), interner_of(KEYS)
                known[name] = len(windows["left"])
                assert images.save(name, interner, windows)
                for each in [*known][-3:]:
                    again = empty()
                    if images.load(each, again, words=True) is not None:
                        assert len(again["left"]) == known[each]
                        again["left"].check()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    images = Images(tmp_path)
    for _ in range(2):
        saved(images, filled(10)[0])
    assert len(files(tmp_path)) == 2


def test_whoever_has_saved_keeps_no_copy_of_its_own(tmp_path: Path) -> None:
    interner, windows = plain_windows(300_000)
    arrays = [array for run in windows["left"].runs for array in arrays_of(run)]
    copies = [weakref.ref(array if array.base is None else array.base) for array in arrays]
    del arrays
    saved(Images(tmp_path), windows, interner)
    assert all(copy() is None for copy in copies)


LOADER = """
import sys
from pathlib import Path
from tests.state.shards import checksum, loaded, own_bytes
for _ in range(2):  # the first time it takes what it runs with: compiled kernels, Arrow
    before = own_bytes()
    interner, windows = loaded(Path(sys.argv[1]), sys.argv[2])
    total = checksum(windows)
print(total, interner.size, len(windows["left"]), own_bytes() - before)
"""


@pytest.mark.skipif(not SMAPS.exists(), reason="nobody tells which memory is a process's own")
def test_another_process_reads_the_same_pages(tmp_path: Path) -> None:
    interner, windows = plain_windows(1_000_000)
    total, held = checksum(windows), windows["left"].nbytes
    name = saved(Images(tmp_path), windows, interner)
    assert checksum(windows) == total
    command = [sys.executable, "-c", LOADER, str(tmp_path), name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    *told, grown = map(int, done.stdout.split())
    assert told == [total, interner.size, 1_000_000]
    assert grown < 0.1 * held

"""A manifest says what a shard knows, comes back as it was, and is refused where a byte of it is another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from tests.kernels.memory import tries
from weft.progress.watermark import Input, Progress, start
from weft.runtimes.replica import COUNTED
from weft.state.container import MAGIC, pack
from weft.state.log import Chunk
from weft.state.manifest import Manifest, first_manifest, read_manifest, write_manifest
from weft.types import SIDES

WIDE = st.integers(-(10**40), 10**40)  # a watermark is as exact as Python's integers
INT64 = st.integers(-(2**63), 2**63 - 1)
INPUTS = st.lists(st.builds(Input, st.none() | WIDE, st.none() | WIDE, st.booleans()), min_size=1, max_size=4)
CHUNKS = st.builds(
    Chunk,
    st.integers(0, 2**40),
    st.sampled_from(SIDES),
    st.integers(1, 2**40),
    st.integers(1, 2**40),
    INT64,
    INT64,
    INT64,
    st.text("0123456789abcdef", min_size=16, max_size=16),
)
MANIFESTS = st.builds(
    Manifest,
    st.text("0123456789abcdef", min_size=32, max_size=32),
    st.builds(lambda left, right: {"left": tuple(left), "right": tuple(right)}, INPUTS, INPUTS),
    st.none() | WIDE,
    st.dictionaries(st.sampled_from(COUNTED), st.integers(0, 2**70)),
    st.lists(CHUNKS, max_size=5).map(tuple),
    st.integers(0, 2**40),
)


@given(MANIFESTS)
@tries(60)
def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    data = write_manifest(manifest)
    assert read_manifest(data) == manifest
    assert write_manifest(read_manifest(data)) == data


def test_the_first_manifest_has_seen_nothing_of_any_input() -> None:
    manifest = first_manifest((2, 3))
    assert manifest.inputs == {"left": (Input(),) * 2, "right": (Input(),) * 3}
    assert manifest.inputs == start({}, (2, 3)).inputs
    assert (manifest.nonce, manifest.watermark, manifest.chunks, manifest.begun) == ("", None, (), 0)
    assert read_manifest(write_manifest(manifest)) == manifest


def test_progress_goes_on_from_a_manifest() -> None:
    from weft.progress.watermark import Allowed

    allowed = {side: Allowed(5) for side in SIDES}
    progress = start(allowed, (1, 2)).observed({("left", 0): 100, ("right", 0): 90, ("right", 1): 80})
    manifest = Manifest("0" * 32, progress.inputs, progress.watermark)
    again = read_manifest(write_manifest(manifest))
    assert Progress(allowed, again.inputs, again.watermark).resumed() == progress
    assert again.watermark == 75


def whole() -> bytes:
    chunks = (Chunk(0, "left", 1, 2, 3, 4, 5, "00"), Chunk(1, "right", 1, 2, 3, 4, 5, "ff"))
    return write_manifest(
        Manifest("ab" * 16, first_manifest((1, 1)).inputs, 7, dict.fromkeys(COUNTED, 0), chunks, 2)
    )


def test_a_flipped_bit_is_noticed_wherever_it_is() -> None:
    data = whole()
    for place in range(len(data)):
        for bit in (0, 3, 7):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(weft.StateError):
                read_manifest(bytes(damaged))


def test_a_manifest_cut_short_or_too_long_is_noticed() -> None:
    data = whole()
    for wrong in (*(data[:size] for size in range(len(data))), data + b"\0"):
        with pytest.raises(weft.StateError):
            read_manifest(wrong)


def test_another_version_is_refused_with_what_to_do() -> None:
    later = MAGIC + (2).to_bytes(4, "big") + whole()[8:]
    with pytest.raises(weft.StateError, match="is of format 2; this version of weft reads format 1"):
        read_manifest(later)


OTHER = pack({"number": 5, "side": "left"}, [b"a chunk"])


@pytest.mark.parametrize("wrong", [None, "", 5, b"", b"PAR1", b"weft", OTHER], ids=repr)
def test_what_is_no_manifest_is_refused(wrong: Any) -> None:
    with pytest.raises(weft.StateError):
        read_manifest(wrong)


def test_a_manifest_of_a_hundred_chunks_is_small() -> None:
    chunks = tuple(Chunk(at, "left", 10**6, 10**8, 2**62, 2**62, 2**62, "0" * 16) for at in range(100))
    manifest = Manifest(
        "ab" * 16, first_manifest((2, 2)).inputs, 2**62, dict.fromkeys(COUNTED, 10**12), chunks
    )
    assert len(write_manifest(manifest)) < 14_000

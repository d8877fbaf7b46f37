"""What a shard knows of itself besides its rows: written with every commit, small."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from weft.errors import StateError
from weft.progress.watermark import Input, Inputs, start
from weft.state.container import pack, unpack
from weft.state.log import DAMAGED, Chunk, as_json
from weft.types import SIDES, Side

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Manifest:
    """One commit of a shard.

    nonce      drawn anew for every commit: whoever holds the rows of this very commit knows it by this
    inputs     how far each physical input has come, and the watermark that follows
    counts     rows, pairs and late rows since the beginning
    chunks     the chunks that hold the rows; `begun` is the number of the next
    """

    nonce: str
    inputs: Inputs
    watermark: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    begun: int = 0


def first_manifest(sources: tuple[int, int]) -> Manifest:
    """Return the manifest of a shard that has seen nothing."""
    return Manifest("", start({}, sources).inputs)


def write_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as bytes."""
    header = {
        "nonce": manifest.nonce,
        "inputs": {side: [asdict(each) for each in manifest.inputs[side]] for side in SIDES},
        "watermark": manifest.watermark,
        "counts": dict(manifest.counts),
        "chunks": [as_json(chunk) for chunk in manifest.chunks],
        "begun": manifest.begun,
    }
    return pack(header, [])


def read_manifest(data: bytes) -> Manifest:
    """Return the manifest that bytes are, or refuse them."""
    header: dict[str, Any] = unpack(data, "manifest", DAMAGED)[0]
    if "nonce" not in header:
        message = "this is no manifest of a shard."
        raise StateError(message, DAMAGED)
    inputs: dict[Side, tuple[Input, ...]] = {
        side: tuple(Input(**each) for each in header["inputs"][side]) for side in SIDES
    }
    chunks = tuple(Chunk(*each) for each in header["chunks"])
    return Manifest(header["nonce"], inputs, header["watermark"], header["counts"], chunks, header["begun"])

"""State as one run of bytes: magic, version, checksum, a JSON header, then blobs. No pickles.

 0   8   b"weft" and the format's version, four bytes, big endian
 8  32   BLAKE2b of all that follows
40   8   length of the header
48       the header, which holds the lengths of the blobs, then the blobs
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from weft.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
MAGIC = b"weft"
DIGEST = 32
OLDER = "it was cut short or changed on the way; take an older one"
START = len(MAGIC) + 4 + DIGEST


def pack(header: dict[str, Any], blobs: Sequence[bytes]) -> bytes:
    """Return a header and blobs as bytes."""
    text = json.dumps(header | {"blobs": [len(blob) for blob in blobs]}, sort_keys=True).encode()
    body = b"".join([len(text).to_bytes(8, "big"), text, *blobs])
    return MAGIC + FORMAT.to_bytes(4, "big") + _digest(body) + body


def unpack(data: object, what: str = "snapshot", hint: str = OLDER) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the blobs, or refuse what is not whole, of another version, or none of ours."""
    if not isinstance(data, bytes | bytearray | memoryview):
        message = f"a {what} must be bytes; got {type(data).__name__}."
        raise StateError(message, "write op.restore(other.snapshot())")
    data = bytes(data)
    if data[:4] != MAGIC:
        message = f"this is no {what} of weft: it begins with {data[:4]!r}."
        raise StateError(message, "give what snapshot() returned" if hint == OLDER else hint)
    version = int.from_bytes(data[4:8], "big")
    if version != FORMAT:
        message = f"the {what} is of format {version}; this version of weft reads format {FORMAT}."
        raise StateError(message, "go on with the version of weft that wrote it, or begin anew")
    body = data[START:]
    if len(data) < START or _digest(body) != data[8:START]:
        wrong = "do not have the checksum that they were written with"
        message = f"the {what} is damaged: its {len(data)} bytes {wrong}."
        raise StateError(message, hint)
    return _parts(body)


def checksum(data: bytes) -> str:
    """Return the first of a container's checksum, as it stands in it."""
    return data[8:16].hex()


def _parts(body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    end = 8 + int.from_bytes(body[:8], "big")
    header: dict[str, Any] = json.loads(body[8:end])
    blobs = []
    for size in header["blobs"]:
        blobs.append(body[end : end + size])
        end += size
    return header, blobs


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=DIGEST).digest()

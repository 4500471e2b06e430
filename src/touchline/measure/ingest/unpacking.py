"""Packed bodies, unpacked no further than is allowed."""

from __future__ import annotations

import zlib

from touchline.kernel.errors import InvalidInput, LimitExceeded

MAGIC = b"\x1f\x8b"
_GZIP = zlib.MAX_WBITS | 16
MOST_MEMBERS = 1000  # each may be empty, and would cost time for nothing


def unpacked(body: bytes, most_bytes: int) -> bytes:
    """All members of a gzip file, one behind the other."""
    pieces: list[bytes] = []
    total = 0
    for _ in range(MOST_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        try:
            piece = member.decompress(body, most_bytes - total + 1)
        except zlib.error as error:
            raise InvalidInput("the body is not what its encoding says", why=str(error)) from error
        pieces.append(piece)
        total += len(piece)
        if total > most_bytes:
            raise LimitExceeded("the body is too large", why=f"at most {most_bytes} bytes are unpacked")
        if not member.eof:
            raise InvalidInput("the body ends too early", why="its last part is missing")
        body = member.unused_data.lstrip(b"\0")
        if not body:
            return b"".join(pieces)
    raise LimitExceeded("the body has too many parts", why=f"at most {MOST_MEMBERS} are unpacked")

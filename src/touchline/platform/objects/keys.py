"""The names of objects. Every way into the store checks them: no path from a stranger.

Invariant: an `ObjectKey` means the same object to every store, proxy and file system it passes.
"""

from __future__ import annotations

import re
from typing import NewType

from touchline.kernel.errors import InvalidInput

ObjectKey = NewType("ObjectKey", str)

LONGEST_KEY_BYTES = 1024  # S3's limit
LONGEST_SEGMENT_BYTES = 255  # a file system's, because nodes keep copies under the same names
# What nearly all keys look like, known in one look: of such letters none is refused, and each is one byte.
_PLAIN_SEGMENT = rf"[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{LONGEST_SEGMENT_BYTES - 1}}}"
_PLAIN = re.compile(f"{_PLAIN_SEGMENT}(?:/{_PLAIN_SEGMENT})*")


def object_key(text: str) -> ObjectKey:
    """Segments between single slashes, each of them harmless."""
    if len(text) <= LONGEST_KEY_BYTES and _PLAIN.fullmatch(text):
        return ObjectKey(text)
    for segment in text.split("/"):
        _check_segment(segment)
    if len(text.encode()) > LONGEST_KEY_BYTES:
        raise _refused(f"it is longer than {LONGEST_KEY_BYTES} bytes")
    return ObjectKey(text)


def join_key(*segments: str) -> ObjectKey:
    """A key of segments that came from elsewhere: none of them can add a level."""
    if any("/" in segment for segment in segments):
        raise _refused("a segment has a slash in it")
    return object_key("/".join(segments))


def _check_segment(segment: str) -> None:
    if not segment:
        raise _refused("it has an empty segment, or a slash at an end")
    if segment.startswith("."):
        raise _refused("a segment starts with a dot")  # `..`, and names that stores and nodes keep for themselves
    if not segment.isprintable() or "\\" in segment:
        raise _refused("it has a backslash or a character that does not print")
    if len(segment.encode()) > LONGEST_SEGMENT_BYTES:
        raise _refused(f"a segment is longer than {LONGEST_SEGMENT_BYTES} bytes")


def _refused(why: str) -> InvalidInput:
    return InvalidInput("not a valid object key", field="key", why=why)

"""What the child that reads a live stream says to its parent: a header in JSON and bytes, each with its length.

Invariant: the parent believes nothing but the form: lengths have limits, and numbers are numbers.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

HEAD = struct.Struct(">BII")  # which message, the length of its header, the length of what follows
LONGEST_HEADER = 4096
LARGEST = 2**53
_NAME = re.compile(r"[A-Za-z0-9.,]{0,80}", re.ASCII)
MOST_BYTES = 48 * 1024**2  # of one message: a part is sent long before it is that large


@dataclass(frozen=True, slots=True)
class InitMessage:
    """The header that the parts after it need, until the next one."""

    number: int
    width: int
    height: int
    codecs: str


@dataclass(frozen=True, slots=True)
class PartMessage:
    """`moof` and `mdat` of at most half a second; the last one of a segment says so. Times are of the media, from the
    last discontinuity on."""

    start_us: int
    duration_us: int
    frames: int
    begins_segment: bool
    ends_segment: bool
    independent: bool  # it begins with a keyframe
    discontinuity: bool  # what came before it is not continuous with it
    keyframe_gap_us: int  # between the last two
    dropped_frames: int  # since the stream began


@dataclass(frozen=True, slots=True)
class PosterMessage:
    """A JPEG of a recent picture."""

    width: int
    height: int


Message: TypeAlias = InitMessage | PartMessage | PosterMessage
KINDS: tuple[type[Message], ...] = (InitMessage, PartMessage, PosterMessage)


def encode_message(message: Message, content: bytes) -> bytes:
    header = json.dumps(asdict(message), separators=(",", ":")).encode()
    return HEAD.pack(KINDS.index(type(message)), len(header), len(content)) + header + content


def decode_head(head: bytes) -> tuple[type[Message], int, int]:
    """ValueError: no child of ours says that."""
    numbers: tuple[int, int, int] = HEAD.unpack(head)
    number, header_length, content_length = numbers
    if number >= len(KINDS) or header_length > LONGEST_HEADER or content_length > MOST_BYTES:
        raise ValueError("a message that is too long, or of no known kind")
    return KINDS[number], header_length, content_length


def decode_message(kind: type[Message], header: bytes) -> Message:
    """ValueError: its form is not that of the message."""
    fields: dict[str, Any] = dict(json.loads(header))
    wanted = {name: str(each) for name, each in kind.__annotations__.items()}
    if fields.keys() != wanted.keys() or any(type(fields[name]).__name__ != wanted[name] for name in wanted):
        raise ValueError("other fields")
    if not all(_is_sane(value) for value in fields.values()):
        raise ValueError("a number or a name that is out of range")
    return kind(**fields)


def _is_sane(value: int | str) -> bool:
    """Names go into playlists."""
    return bool(_NAME.fullmatch(value)) if isinstance(value, str) else 0 <= value < LARGEST

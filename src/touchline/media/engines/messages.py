"""Messages between the engine process and its parent: two lengths, a JSON document, and bytes that go with it.

Invariant: bounded: nobody reserves memory because a number says so.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any

LENGTHS = struct.Struct(">IQ")
MOST_DOCUMENT_BYTES = 4 * 1024**2


class BrokenMessage(Exception):
    """What came was no message, or too long."""


@dataclass(frozen=True, slots=True)
class Message:
    document: dict[str, Any]
    payload: bytes = field(default=b"", repr=False)


def head_of(message: Message) -> bytes:
    """What goes before the payload."""
    document = json.dumps(message.document, separators=(",", ":")).encode()
    return LENGTHS.pack(len(document), len(message.payload)) + document


def lengths_in(head: bytes, most_payload_bytes: int) -> tuple[int, int]:
    """Of the document and of the payload."""
    document, payload = LENGTHS.unpack(head)
    if document > MOST_DOCUMENT_BYTES or payload > most_payload_bytes:
        raise BrokenMessage(f"a message of {document} and {payload} bytes")
    return document, payload


def document_in(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BrokenMessage("no JSON") from error
    if not isinstance(document, dict):
        raise BrokenMessage("no object")
    return document  # pyright: ignore[reportUnknownVariableType]

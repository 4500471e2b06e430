"""One text for one content: what an event without an id is known by, and what decides between two of one id.

Invariant: the order of keys, spaces, and the marks that a replay leaves behind do not matter; everything else does.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from json import JSONEncoder
from typing import Any, cast

from .values import text

REPLAY_MARK = "__replay"

_encode = JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical(value: object) -> str:
    """Sorted keys, no spaces, ASCII; keys that start with `__replay` are left out at every level."""
    encoded = _encode(value)
    return _encode(_unmarked(value)) if REPLAY_MARK in encoded else encoded


def uid_of(record: Mapping[str, Any]) -> str:
    """What a record is known by: its id, else its content."""
    return text(record.get("id")) or digest(canonical(record))


def digest(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: _unmarked(member) for key, member in members.items() if not key.startswith(REPLAY_MARK)}
    if isinstance(value, list):
        return [_unmarked(member) for member in cast("list[Any]", value)]
    return value

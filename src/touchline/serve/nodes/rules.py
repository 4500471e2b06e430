"""What a node may say about itself. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from touchline.kernel.errors import InvalidInput

from .model import Registration, Storage

LONGEST_TEXT = 255
_NODE_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def checked(registration: Registration) -> Registration:
    if not _NODE_ID.fullmatch(registration.node_id):
        why = "it has 1 to 63 of a-z, 0-9 and -, and no - at an end"
        raise InvalidInput("not a node's id", field="node_id", why=why)
    if not _is_web_address(registration.base_url):
        raise InvalidInput("not a node's address", field="base_url", why="it starts with http:// or https://")
    if len(registration.version) > LONGEST_TEXT or not registration.version.isprintable():
        raise InvalidInput("not a version", field="version", why=f"it has at most {LONGEST_TEXT} characters")
    return registration


def checked_storage(storage: Storage) -> Storage:
    if storage.budget_bytes < 0 or storage.used_bytes < 0:
        raise InvalidInput("not a report of storage", field="storage", why="bytes are counted from nothing up")
    return storage


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    harmless = len(text) <= LONGEST_TEXT and text.isprintable()
    return harmless and parts.scheme in ("http", "https") and bool(parts.hostname)

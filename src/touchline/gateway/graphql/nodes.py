"""Global ids: one kind of id for everything that `node(id)` can find.

Invariant: an id says its kind and its key and nothing else; one that we did not make is an id of nothing.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

import strawberry

LONGEST_ID = 200


@strawberry.interface
class Node:
    id: strawberry.ID


def global_id(kind: str, key: str) -> strawberry.ID:
    return strawberry.ID(urlsafe_b64encode(f"{kind}:{key}".encode()).decode().rstrip("="))


def parse_global_id(text: str) -> tuple[str, str] | None:
    if len(text) > LONGEST_ID:
        return None
    try:
        kind, separator, key = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(":")
    except ValueError:
        return None
    return (kind, key) if separator else None

"""What a stream may be called, and the key that lets an encoder publish it. Pure.

Invariant: a key has 256 random bits, so that its plain SHA-256 is all that is stored.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from touchline.contracts.events.streams import StreamCreated, StreamUpdated
from touchline.contracts.registry import NewStream, Stream, StreamChange
from touchline.kernel import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded
from touchline.serve.registry.rules import MOST_HASHES, valid_description, valid_key, valid_title
from touchline.serve.settings import ServeSettings

KEY_PREFIX = "tlk_"  # what it is, to people and to secret scanners
_KEY = re.compile(rf"{KEY_PREFIX}[A-Za-z0-9_-]{{43}}", re.ASCII)


def new_key() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str) -> bytes | None:
    """None for what cannot be a key."""
    return hashlib.sha256(key.encode()).digest() if _KEY.fullmatch(key) else None


def checked(new: NewStream) -> NewStream:
    """In the form in which it is stored."""
    return replace(
        new,
        idempotency_key=valid_key(new.idempotency_key),
        title=valid_title(new.title),
        description=valid_description(new.description),
    )


def checked_change(change: StreamChange) -> StreamChange:
    return replace(
        change,
        title=None if change.title is None else valid_title(change.title),
        description=None if change.description is None else valid_description(change.description),
    )


def stream_request(new: NewStream) -> Mapping[str, Any]:
    """What the same idempotency key has to be sent with again."""
    return {"title": new.title, "description": new.description, "record": new.record}


def require_room(streams: int, settings: ServeSettings) -> None:
    if streams >= settings.most_streams:
        why = f"{streams} of {settings.most_streams} are there"
        raise QuotaExceeded("too many streams", why=why, hint="Delete one that is no longer needed.")


def living(stream: Stream | None) -> Stream:
    """Of one that was asked for under an idempotency key."""
    if stream is None:
        raise Conflict("the stream was deleted", hint="Use a new key to create another one.")
    return stream


def unknown(stream_id: UUID) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such stream", why=f"{stream_id} does not exist")


def existing(stream: Stream | None, stream_id: UUID) -> Stream:
    if stream is None:
        raise unknown(stream_id)
    return stream


def refused_key() -> Forbidden:
    """One that never was, an old one, and one of a stream that was suspended or deleted: the same answer."""
    return Forbidden("this stream key is not accepted", hint="Copy the key again, or rotate it to get a new one.")


def valid_ids(ids: Sequence[UUID]) -> list[UUID]:
    if len(ids) > MOST_HASHES:
        raise InvalidInput("too many streams", field="stream_ids", why=f"at most {MOST_HASHES} in a call")
    return list(dict.fromkeys(ids))


def created(stream: Stream) -> StreamCreated:
    return StreamCreated(
        stream_id=stream.id,
        playback_id=stream.playback_id,
        internal_name=stream.internal_name,
        title=stream.title,
        description=stream.description,
        record=stream.record,
    )


def updated(stream: Stream) -> StreamUpdated:
    return StreamUpdated(
        stream_id=stream.id,
        title=stream.title,
        description=stream.description,
        record=stream.record,
        suspended=stream.suspended_at is not None,
    )

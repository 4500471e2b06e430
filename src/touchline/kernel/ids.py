"""Identifiers: how each is made and what shape it has.

Invariant: an artifact's hash is the hex of a random UUID; the same value with dashes is its video id.
Rows elsewhere have UUIDv7 ids, which sort by the time they were made.
"""

from __future__ import annotations

import re
import secrets
import string
from datetime import datetime
from typing import NewType
from uuid import UUID, uuid4

from .errors import InvalidInput
from .values import epoch_ms

ArtifactHash = NewType("ArtifactHash", str)
PlaybackId = NewType("PlaybackId", str)
InternalName = NewType("InternalName", str)

_ALPHABET = string.ascii_lowercase + string.digits
_HASH = re.compile(r"[0-9a-f]{32}")
_PLAYBACK_ID = re.compile(r"[a-z0-9]{16}")
_INTERNAL_NAME = re.compile(r"[a-z0-9]{32}")
_RANDOM_BITS = 74


def uuid7(now: datetime) -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, then random."""
    random = secrets.randbits(_RANDOM_BITS)
    value = (epoch_ms(now) & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (random >> 62) << 64
    value |= 0b10 << 62 | random & 0x3FFF_FFFF_FFFF_FFFF
    return UUID(int=value)


def new_artifact_hash() -> ArtifactHash:
    return ArtifactHash(uuid4().hex)


def new_playback_id() -> PlaybackId:
    return PlaybackId(_random_name(16))


def new_internal_name() -> InternalName:
    return InternalName(_random_name(32))


def parse_artifact_hash(text: str) -> ArtifactHash:
    return ArtifactHash(_matched(_HASH, text, "artifact hash", "32 hexadecimal digits (0-9, a-f)"))


def parse_playback_id(text: str) -> PlaybackId:
    """Playback ids are read aloud and typed: case does not matter."""
    return PlaybackId(_matched(_PLAYBACK_ID, text.lower(), "playback id", "16 characters of a-z and 0-9"))


def parse_internal_name(text: str) -> InternalName:
    """With or without the routing prefix."""
    return InternalName(
        _matched(_INTERNAL_NAME, text.removeprefix("vod+"), "internal name", "32 characters of a-z and 0-9")
    )


def video_id(artifact_hash: ArtifactHash) -> UUID:
    return UUID(hex=artifact_hash)


def artifact_hash(video_id: UUID) -> ArtifactHash:
    return ArtifactHash(video_id.hex)


def _random_name(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _matched(shape: re.Pattern[str], text: str, name: str, description: str) -> str:
    if not shape.fullmatch(text):
        raise InvalidInput(f"not a valid {name}", field=name.replace(" ", "_"), why=f"use {description}")
    return text

"""Tokens: the right to see one artifact until a time, as a segment of a media address.

Invariant: hash, tenant, playback id, share link and expiry are all signed, and one grant has one spelling; a token
that was changed, spelled otherwise, or has expired is refused with the same error. Every gateway and every node that
shares the cluster secret reads them.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from struct import Struct
from uuid import UUID

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from touchline.kernel import ArtifactHash, Forbidden, PlaybackId, TenantId

VERSION = 1
_BODY = Struct(">BI16s16s16s")  # version, end in seconds, tenant, playback id, share link or zeros
NO_SHARE_LINK = UUID(int=0)
_SIGNATURE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Grant:
    tenant_id: TenantId
    playback_id: PlaybackId
    artifact_hash: ArtifactHash
    expires_at: datetime
    share_link_id: UUID | None = None  # it was given for a share link, and ends with that


class MediaTokens:
    def __init__(self, cluster_secret: str) -> None:
        self._key = _derived(cluster_secret, b"touchline media links")

    def sign(self, grant: Grant) -> str:
        end = int(grant.expires_at.timestamp())
        link = grant.share_link_id or NO_SHARE_LINK
        body = _BODY.pack(VERSION, end, grant.tenant_id.bytes, grant.playback_id.encode("ascii"), link.bytes)
        return _base64(body + self._signature(body, grant.artifact_hash))

    def read(self, token: str, artifact_hash: str, now: datetime) -> Grant:
        body, signature = _split(token)
        if not hmac.compare_digest(signature, self._signature(body, artifact_hash)):
            raise refused()
        version, end, tenant, playback, link = _BODY.unpack(body)
        expires_at = datetime.fromtimestamp(end, UTC)
        if version != VERSION or expires_at <= now:
            raise refused()
        playback_id = PlaybackId(playback.decode("ascii"))
        link_id = None if link == NO_SHARE_LINK.bytes else UUID(bytes=link)
        return Grant(TenantId(UUID(bytes=tenant)), playback_id, ArtifactHash(artifact_hash), expires_at, link_id)

    def _signature(self, body: bytes, artifact_hash: str) -> bytes:
        return hmac.digest(self._key, body + artifact_hash.encode("utf-8", "replace"), "sha256")


class InventoryTokens:
    """The right to ask a node what lies in its folder, until a time; given by whoever has the cluster secret."""

    def __init__(self, cluster_secret: str) -> None:
        self._key = _derived(cluster_secret, b"touchline node inventories")

    def sign(self, node_id: str, until: datetime) -> str:
        end = int(until.timestamp())
        return f"{end}.{self._signature(node_id, end)}"

    def check(self, token: str, node_id: str, now: datetime) -> None:
        end, _, signature = token.partition(".")
        if not (end.isascii() and end.isdecimal() and len(end) < 12 and signature.isascii()):
            raise refused()
        is_ours = hmac.compare_digest(signature, self._signature(node_id, int(end)))
        if not is_ours or int(end) <= now.timestamp():
            raise refused()

    def _signature(self, node_id: str, end: int) -> str:
        return hmac.digest(self._key, f"{end} {node_id}".encode(), "sha256").hex()


def _derived(cluster_secret: str, use: bytes) -> bytes:
    return HKDF(hashes.SHA256(), length=32, salt=None, info=use).derive(cluster_secret.encode())


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


_LENGTH = len(_base64(bytes(_BODY.size + _SIGNATURE_BYTES)))


def _split(token: str) -> tuple[bytes, bytes]:
    """Decoders forgive strange letters, loose bits and what follows the end: only our own spelling counts."""
    if len(token) != _LENGTH or not token.isascii():
        raise refused()
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError as error:
        raise refused() from error
    if _base64(raw) != token:
        raise refused()
    return raw[: _BODY.size], raw[_BODY.size :]


def refused() -> Forbidden:
    """For whatever reason: which one is not for whoever holds the token."""
    hint = "Ask for a new address: the `playback` query gives one."
    return Forbidden("the media address is not valid", why="it has expired, or was modified", hint=hint)

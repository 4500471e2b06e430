"""Signed addresses of an artifact's playlist, poster and sampled pictures, and of a clip's file.

Invariant: hash, tenant, playback id and expiry are all signed, and one grant has one spelling; a token that was
changed, spelled otherwise, or has expired is refused with the same error.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from struct import Struct
from uuid import UUID

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from touchline.kernel import Clock, TenantId
from touchline.kernel.errors import Forbidden
from touchline.kernel.ids import ArtifactHash, PlaybackId
from touchline.process.videos.queries import FrameName

from .rules import CLIP, MANIFEST, POSTER, frame_name

# --- Tokens: the right to see one artifact until a time, as a segment of the address.

VERSION = 1
_BODY = Struct(">BI16s16s")  # version, end in seconds, tenant, playback id
_SIGNATURE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Grant:
    tenant_id: TenantId
    playback_id: PlaybackId
    artifact_hash: ArtifactHash
    expires_at: datetime


class MediaTokens:
    def __init__(self, cluster_secret: str) -> None:
        derive = HKDF(hashes.SHA256(), length=32, salt=None, info=b"touchline media links")
        self._key = derive.derive(cluster_secret.encode())

    def sign(self, grant: Grant) -> str:
        end = int(grant.expires_at.timestamp())
        body = _BODY.pack(VERSION, end, grant.tenant_id.bytes, grant.playback_id.encode("ascii"))
        return _base64(body + self._signature(body, grant.artifact_hash))

    def read(self, token: str, artifact_hash: str, now: datetime) -> Grant:
        body, signature = _split(token)
        if not hmac.compare_digest(signature, self._signature(body, artifact_hash)):
            raise _refused()
        version, end, tenant, playback = _BODY.unpack(body)
        expires_at = datetime.fromtimestamp(end, UTC)
        if version != VERSION or expires_at <= now:
            raise _refused()
        playback_id = PlaybackId(playback.decode("ascii"))
        return Grant(TenantId(UUID(bytes=tenant)), playback_id, ArtifactHash(artifact_hash), expires_at)

    def _signature(self, body: bytes, artifact_hash: str) -> bytes:
        return hmac.digest(self._key, body + artifact_hash.encode("utf-8", "replace"), "sha256")


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


_LENGTH = len(_base64(bytes(_BODY.size + _SIGNATURE_BYTES)))


def _split(token: str) -> tuple[bytes, bytes]:
    """Decoders forgive strange letters, loose bits and what follows the end: only our own spelling counts."""
    if len(token) != _LENGTH or not token.isascii():
        raise _refused()
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError as error:
        raise _refused() from error
    if _base64(raw) != token:
        raise _refused()
    return raw[: _BODY.size], raw[_BODY.size :]


def _refused() -> Forbidden:
    hint = "Ask for a new address: the `playback` query gives one."
    return Forbidden("the media address is not valid", why="it has expired, or was changed", hint=hint)


# --- Links.

# An address stays the same for a while, so that a page that loads its list again does not load its pictures again.
SAME_FOR = 1 / 6
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Link:
    url: str = field(repr=False)
    expires_at: datetime


class MediaLinks:
    def __init__(self, tokens: MediaTokens, lifetime: timedelta, clock: Clock) -> None:
        self._tokens = tokens
        self._lifetime = lifetime
        self._clock = clock

    def manifest(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash) -> Link:
        return self._link(tenant_id, playback_id, artifact_hash, MANIFEST)

    def poster(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash) -> Link:
        return self._link(tenant_id, playback_id, artifact_hash, POSTER)

    def frame(
        self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash, frame: FrameName
    ) -> Link:
        return self._link(tenant_id, playback_id, artifact_hash, frame_name(frame))

    def clip(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash) -> Link:
        """The file of a clip, to be taken away."""
        return self._link(tenant_id, playback_id, artifact_hash, CLIP)

    def _link(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash, name: str) -> Link:
        """Without a host: the page may be open under any of the gateway's names."""
        expires_at = expiry(self._clock.now(), self._lifetime)
        token = self._tokens.sign(Grant(tenant_id, playback_id, artifact_hash, expires_at))
        return Link(f"/media/{token}/{artifact_hash}/{name}", expires_at)


def expiry(now: datetime, lifetime: timedelta) -> datetime:
    """The lifetime at least, rounded up to a whole step."""
    step = timedelta(seconds=int(lifetime.total_seconds() * SAME_FOR))
    return EPOCH + -(-(now + lifetime - EPOCH) // step) * step

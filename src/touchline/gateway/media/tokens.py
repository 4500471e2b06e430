"""The right to see one artifact for a while, as a segment of the address. Pure but for the key.

Invariant: hash, tenant, playback id and end are all under the signature, and one grant has one spelling; what was
changed, spelled otherwise, or is over is refused in the same words.
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

from touchline.kernel import TenantId
from touchline.kernel.errors import Forbidden
from touchline.kernel.ids import ArtifactHash, PlaybackId

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
        return _spelled(body + self._signature(body, grant.artifact_hash))

    def read(self, token: str, artifact_hash: str, now: datetime) -> Grant:
        body, signature = _halves(token)
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


def _spelled(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


_LENGTH = len(_spelled(bytes(_BODY.size + _SIGNATURE_BYTES)))


def _halves(token: str) -> tuple[bytes, bytes]:
    """Decoders forgive strange letters, loose bits and what follows the end: only our own spelling counts."""
    if len(token) != _LENGTH or not token.isascii():
        raise _refused()
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError as error:
        raise _refused() from error
    if _spelled(raw) != token:
        raise _refused()
    return raw[: _BODY.size], raw[_BODY.size :]


def _refused() -> Forbidden:
    hint = "Ask for a new address: the `playback` query gives one."
    return Forbidden("the media address is not valid", why="it has expired, or was changed", hint=hint)

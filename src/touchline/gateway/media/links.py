"""Signed addresses of an artifact's playlist, poster and sampled pictures, and of a clip's file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from touchline.contracts.playback import SharedArtifact
from touchline.kernel import ArtifactHash, Clock, PlaybackId, TenantId
from touchline.process.videos.queries import FrameName
from touchline.serve.playback.files import CLIP, MANIFEST, POSTER
from touchline.serve.playback.tokens import Grant, MediaTokens

from .rules import frame_name

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

    def shared(self, shared: SharedArtifact, name: str) -> Link:
        """For whoever plays by a share link, and no longer than that is valid."""
        until = min(expiry(self._clock.now(), self._lifetime), shared.expires_at)
        grant = Grant(shared.tenant_id, shared.playback_id, shared.artifact_hash, until, shared.link_id)
        return self.signed(grant, name)

    def _link(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash, name: str) -> Link:
        expires_at = expiry(self._clock.now(), self._lifetime)
        return self.signed(Grant(tenant_id, playback_id, artifact_hash, expires_at), name)

    def signed(self, grant: Grant, name: str) -> Link:
        """Without a host: the page may be open under any of the gateway's names."""
        return Link(f"/media/{self._tokens.sign(grant)}/{grant.artifact_hash}/{name}", grant.expires_at)


def expiry(now: datetime, lifetime: timedelta) -> datetime:
    """The lifetime at least, rounded up to a whole step."""
    step = timedelta(seconds=int(lifetime.total_seconds() * SAME_FOR))
    return EPOCH + -(-(now + lifetime - EPOCH) // step) * step

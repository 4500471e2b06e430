"""Signed media addresses: what a name under an artifact stands for, who may still play it, and where it is.

Which object a name under an artifact stands for, and what it is. Pure.

Invariant: no name leaves the artifact's own prefix.

Signed addresses of an artifact's playlist, poster and sampled pictures, and of a clip's file.

Who may still play what was signed: nobody of a suspended tenant, nobody by a share link that has ended.

Invariant: what a signed address allows ends a few seconds after the suspension or the revocation, in every gateway,
also for an answer that is under way; the event log is not needed for it. While whoever knows is away, what was known
last holds for as long as resolved places are remembered.

Viewer endpoints of artifacts: resolved by the artifact service and cached for a short time.

Invariant: a cached endpoint is used without asking only while the event log is followed without a gap, and no event
about its artifact came since. An event by which the artifact cannot be played any more removes it, also while a request
for it is still under way; after any other, as its copies come and go, it is used while the service cannot be asked.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from touchline.contracts.artifacts import ArtifactClient, ViewerEndpoint, ViewerNode
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactRenamed
from touchline.contracts.events.streams import StreamDeleted, StreamEnded, StreamLive, StreamResumed, StreamUpdated
from touchline.contracts.playback import PlaybackClient, SharedArtifact
from touchline.gateway.settings import MediaLinkSettings
from touchline.kernel import ArtifactHash, Clock, NotFound, PlaybackId, TenantId, TouchlineError, Unavailable, video_id
from touchline.media.model import POSTER_WIDTHS, smaller_poster
from touchline.platform.events.log import EventSource
from touchline.platform.retry import retry_forever
from touchline.process.sampling.rules import PICTURE_TYPE, frame_key
from touchline.process.videos.queries import FrameName
from touchline.serve.artifacts.rules import PLAYABLE
from touchline.serve.dvr.rules import RECORDED_FILE, file_key
from touchline.serve.playback import files
from touchline.serve.playback.suspension import LONGEST_TRUST, TRUST_FOR, FindSuspended, SuspendedTenants
from touchline.serve.playback.tokens import Grant, MediaTokens, refused

_FRAME = re.compile(r"frames/(0|[1-9][0-9]{0,8})/((?:0|[1-9][0-9]{0,14})\.jpg)", re.ASCII)


@dataclass(frozen=True, slots=True)
class File:
    key: str
    content_type: str
    cache_control: str
    download_name: str = ""  # it is taken away, not shown


def frame_name(frame: FrameName) -> str:
    return f"frames/{frame.attempt}/{frame.timestamp_ms}.jpg"


def frame_of(name: str, artifact_hash: ArtifactHash) -> File | None:
    """A sampled picture of this artifact; None for the name of anything else."""
    match = _FRAME.fullmatch(name)
    key = match and frame_key(video_id(artifact_hash), int(match[1]), match[2])
    return File(key, PICTURE_TYPE, files.IMMUTABLE_CACHE) if key else None


def recorded_file(name: str, artifact_hash: ArtifactHash) -> File | None:
    """A segment or header of this recording, also for players that began before it was processed; None for the name of
    anything else."""
    content_type = files.content_type_of(name)
    if content_type is None or not RECORDED_FILE.fullmatch(name):
        return None
    return File(file_key(artifact_hash, name), content_type, files.IMMUTABLE_CACHE)


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the named parts of an artifact lie; everything else is in the folder of its manifest."""

    manifest: str
    poster: str
    clip: str = ""


def file_of(name: str, keys: Keys, title: str = "") -> File:
    content_type = files.content_type_of(name)
    if content_type is None:
        raise files.no_such_file()
    return File(
        _key(name, keys),
        content_type,
        files.cache_control_of(name),
        f"{title or 'clip'}.mp4" if name == files.CLIP else "",
    )


def narrower(poster: File, width: int) -> File | None:
    """The poster at least so wide, of those that are made; None where only the poster itself is."""
    made = next((each for each in POSTER_WIDTHS if each >= width), None)
    return replace(poster, key=smaller_poster(poster.key, made)) if made else None


def _key(name: str, keys: Keys) -> str:
    named = {files.MANIFEST: keys.manifest, files.POSTER: keys.poster, files.CLIP: keys.clip}
    key = named.get(name, f"{keys.manifest.rpartition('/')[0]}/{name}")
    if not key:
        raise files.no_such_file()
    return key


def file_is_gone() -> NotFound:
    hint = "Ask an administrator to check which files are missing with `touchline scan` and `touchline doctor`."
    return NotFound("the file of this video is missing", why="the object store no longer has it", hint=hint)


def file_is_unreadable() -> Unavailable:
    hint = "Try again. If it keeps failing, ask an administrator to check the object store with `touchline doctor`."
    return Unavailable(
        "the file of this video cannot be read", why="the object store lists the file, but cannot read it", hint=hint
    )


# --- Where a viewer plays.


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    node_id: str | None  # None: the gateway itself
    base_url: str
    url: str


def endpoint_addresses(nodes: Sequence[ViewerNode], gateway_url: str, path: str) -> list[EndpointAddress]:
    """The nodes that have a copy, the best one first, and the gateway behind them: it streams from wherever the bytes
    are. All send the same signed path."""
    places = [(node.node_id, node.base_url.rstrip("/")) for node in nodes]
    return [EndpointAddress(node_id, base, f"{base}{path}") for node_id, base in (*places, (None, gateway_url))]


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
        return self._link(tenant_id, playback_id, artifact_hash, files.MANIFEST)

    def poster(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash) -> Link:
        return self._link(tenant_id, playback_id, artifact_hash, files.POSTER)

    def frame(
        self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash, frame: FrameName
    ) -> Link:
        return self._link(tenant_id, playback_id, artifact_hash, frame_name(frame))

    def clip(self, tenant_id: TenantId, playback_id: PlaybackId, artifact_hash: ArtifactHash) -> Link:
        """The file of a clip, to be taken away."""
        return self._link(tenant_id, playback_id, artifact_hash, files.CLIP)

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


MOST_LINKS = 10_000


class PlaybackAccess:
    def __init__(self, find_suspended: FindSuspended, playback: PlaybackClient, clock: Clock) -> None:
        self._suspended = SuspendedTenants(find_suspended, clock)
        self._links = ShareLinkStates(playback, clock)

    async def is_allowed(self, tenant_id: TenantId, share_link_id: UUID | None = None) -> bool:
        if await self._suspended.contains(tenant_id):
            return False
        return share_link_id is None or await self._links.is_valid(tenant_id, share_link_id)

    async def require(self, grant: Grant) -> None:
        """What is not allowed any more is refused as a token that was changed."""
        if not await self.is_allowed(grant.tenant_id, grant.share_link_id):
            raise refused()


class ShareLinkStates:
    """Of the links by which something was played lately."""

    def __init__(self, playback: PlaybackClient, clock: Clock) -> None:
        self._playback = playback
        self._clock = clock
        self._known: OrderedDict[UUID, tuple[bool, datetime]] = OrderedDict()

    async def is_valid(self, tenant_id: TenantId, link_id: UUID) -> bool:
        now = self._clock.now()
        valid, read_at = self._known.get(link_id, (False, None))
        if read_at is not None and now - read_at <= TRUST_FOR:
            return valid
        try:
            valid = await self._playback.share_link_is_valid(tenant_id, link_id)
        except Unavailable:
            if read_at is None or now - read_at > LONGEST_TRUST:
                raise
            return valid
        self._known[link_id] = (valid, now)
        self._known.move_to_end(link_id)
        if len(self._known) > MOST_LINKS:
            self._known.popitem(last=False)
        return valid


@dataclass(frozen=True, slots=True)
class _Remembered:
    endpoint: ViewerEndpoint
    since: datetime
    is_outdated: bool = False


class EndpointCache:
    def __init__(self, artifacts: ArtifactClient, settings: MediaLinkSettings, clock: Clock) -> None:
        self._artifacts = artifacts
        self._settings = settings
        self._clock = clock
        self._places: OrderedDict[PlaybackId, _Remembered] = OrderedDict()
        self._playback_ids: dict[str, PlaybackId] = {}
        self._forgotten = 0  # how often something was forgotten or outdated
        self._followed_at: datetime | None = None

    def remembered(
        self, playback_id: PlaybackId, tenant_id: TenantId, *, trusted: bool = True
    ) -> ViewerEndpoint | None:
        """What is known without asking, of this tenant only. Untrusted: it may have changed meanwhile."""
        found = self._recall_current(playback_id) if trusted else self._recall(playback_id)
        return found if found is not None and found.tenant_id == tenant_id else None

    async def find(self, playback_id: PlaybackId, *, fresh: bool = False) -> ViewerEndpoint:
        """NotFound and Conflict as the service says; Unavailable says nothing about the artifact. `fresh`: the service
        is asked, since nodes come and go without an event about the artifact."""
        if not fresh and (current := self._recall_current(playback_id)):
            return current
        forgotten = self._forgotten
        try:
            endpoint = await self._artifacts.resolve_viewer_endpoint(playback_id)
        except Unavailable:
            if remembered := self._recall(playback_id):
                return remembered
            raise
        except TouchlineError:
            if remembered := self._recall(playback_id):
                self.forget(remembered.artifact_hash)
            raise
        if forgotten == self._forgotten:
            self._remember(endpoint)
        return endpoint

    def forget(self, artifact_hash: str) -> None:
        self._forgotten += 1
        if playback_id := self._playback_ids.pop(artifact_hash, None):
            self._places.pop(playback_id, None)

    def outdate(self, artifact_hash: str) -> None:
        """It can still be played, but something about it is different."""
        self._forgotten += 1
        if playback_id := self._playback_ids.get(artifact_hash):
            self._places[playback_id] = replace(self._places[playback_id], is_outdated=True)

    def forget_all(self) -> None:
        self._forgotten += 1
        self._places.clear()
        self._playback_ids.clear()

    def followed(self) -> None:
        """Everything that was committed up to now has been seen."""
        self._followed_at = self._clock.now()

    def _is_trusted(self) -> bool:
        followed_at = self._followed_at
        return followed_at is not None and self._clock.now() - followed_at <= self._settings.trust_for

    def _recall_current(self, playback_id: PlaybackId) -> ViewerEndpoint | None:
        remembered = self._places.get(playback_id)
        is_current = remembered is not None and not remembered.is_outdated and self._is_trusted()
        return self._recall(playback_id) if is_current else None

    def _recall(self, playback_id: PlaybackId) -> ViewerEndpoint | None:
        remembered = self._places.get(playback_id)
        if remembered is None:
            return None
        if self._clock.now() - remembered.since > self._settings.remember_for:
            self.forget(remembered.endpoint.artifact_hash)
            return None
        self._places.move_to_end(playback_id)
        return remembered.endpoint

    def _remember(self, endpoint: ViewerEndpoint) -> None:
        self._places[endpoint.playback_id] = _Remembered(endpoint, self._clock.now())
        self._playback_ids[endpoint.artifact_hash] = endpoint.playback_id
        while len(self._places) > self._settings.remember:
            _, oldest = self._places.popitem(last=False)
            del self._playback_ids[oldest.endpoint.artifact_hash]


# --- Invalidation: follows the event log, so that what was deleted stops playing and a new title shows at once.

ARTIFACT_TYPES = frozenset({ArtifactLifecycle.event_type, ArtifactRegistered.event_type, ArtifactRenamed.event_type})
STREAM_TYPES = frozenset(
    {each.event_type for each in (StreamUpdated, StreamDeleted, StreamLive, StreamResumed, StreamEnded)}
)  # another node may have it now
TYPES = ARTIFACT_TYPES | STREAM_TYPES
BATCH = 500
RETRY_AFTER = timedelta(milliseconds=200)
logger = logging.getLogger(__name__)


class EndpointCacheFollower:
    def __init__(self, source: EventSource, places: EndpointCache, poll_interval: timedelta) -> None:
        self._source = source
        self._places = places
        self._poll_interval = poll_interval
        self._position: int | None = None

    async def run(self) -> None:
        """Until cancelled. While the log is away nothing is trusted."""
        await retry_forever(self._turn, RETRY_AFTER, logger)

    async def _turn(self) -> None:
        if self._position is None:
            self._position = await self._source.head()
            self._places.forget_all()  # what was remembered before that may have been deleted before that
        while (reached := await self._step(self._position)) > self._position:
            self._position = reached
        self._places.followed()
        await self._source.wait(self._position, self._poll_interval)

    async def _step(self, position: int) -> int:
        batch = await self._source.read(position, BATCH, TYPES)
        for event in batch.events:
            self._heed(event.type, event.data)
        return batch.reached

    def _heed(self, event_type: str, data: Mapping[str, Any]) -> None:
        if event_type in STREAM_TYPES:
            self._places.forget(UUID(data["stream_id"]).hex)
        elif event_type == ArtifactLifecycle.event_type and data["status"] not in PLAYABLE:
            self._places.forget(data["artifact_hash"])
        else:
            self._places.outdate(data["artifact_hash"])

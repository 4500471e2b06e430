"""What may become a clip, and what is told about it; which part of its source, `ranges` says. Pure.

Invariant: whose the video is comes before everything else, so that the range of a stranger's tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.videos import ClipRequested
from touchline.contracts.registry import Clip, ClipMode, NewClip, Span
from touchline.kernel import (
    ArtifactHash,
    Conflict,
    Defect,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    format_bytes,
    format_duration,
    video_id,
)
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.serve.artifacts.rules import ENDED_RECORDING, Artifact
from touchline.serve.clips.ranges import LATEST_MS, MILLISECOND, Timeline, common, requested_range, shown_time
from touchline.serve.registry.rules import (
    LONGEST_TITLE,
    MORE_STORAGE,
    Usage,
    in_milliseconds,
    valid_description,
    valid_title,
)
from touchline.serve.settings import ServeSettings


@dataclass(frozen=True, slots=True)
class CheckedClip:
    """A request in the form in which it is stored."""

    source_hash: ArtifactHash  # the artifact, or the stream
    stream_id: UUID | None
    mode: ClipMode
    requested: Span
    padding_ms: int
    shown: Span
    title: str
    description: str
    requested_params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """A clip with what only the registry knows."""

    clip: Clip
    placed: bool  # its artifact exists
    failed: bool  # and will not, unless someone asks again
    retention: timedelta  # as it was resolved


@dataclass(frozen=True, slots=True)
class MadeClip:
    """What lies in the object store now."""

    size_bytes: int
    shown: Span


CONTENT_TYPE = "video/mp4"
LONGEST_PARAMETERS = 16_000
LONGEST_TIME_S = LATEST_MS // 1000


def milliseconds(seconds: float, field: str) -> int:
    """As the number reads, half a millisecond up: what a float holds behind its last printed digit does not count."""
    if not abs(seconds) <= LONGEST_TIME_S:
        raise InvalidInput(
            "not a valid time", field=field, why=f"it must be a number of seconds up to {LONGEST_TIME_S}"
        )
    return int((Decimal(repr(float(seconds))) * 1000).to_integral_value(ROUND_HALF_UP))


@dataclass(frozen=True, slots=True)
class PlayableSource:
    """What can be cut today: a file of which the length is known."""

    original_key: str
    duration_ms: int


def playable(source: Artifact | None, source_hash: ArtifactHash) -> PlayableSource:
    if source is None or source.status is ArtifactStatus.DELETED:
        raise NotFound("no such video", why=f"{source_hash} does not exist")
    if source.status is not ArtifactStatus.READY or source.duration_ms is None:
        why = f"it is {source.status}; its length is known when it is playable"
        raise InvalidInput("this video cannot be clipped", field="source_hash", why=why, hint="Try again in a moment.")
    return PlayableSource(source.original_key, source.duration_ms)


def cuttable(source: Artifact | None, source_hash: ArtifactHash) -> str:
    """The key of a source that is finished."""
    if source is not None and source.status in ENDED_RECORDING:
        return source.original_key
    return playable(source, source_hash).original_key


def require_source(request: NewClip) -> None:
    """An artifact or a stream, and one of the two."""
    if (request.source_hash is None) == (request.stream_id is None):
        why = "a clip needs one of `source_hash` and `stream_id`, and the request has " + (
            "neither" if request.source_hash is None else "both"
        )
        raise InvalidInput("the source of the clip is not clear", field="source_hash", why=why)


def named_source(request: NewClip) -> ArtifactHash:
    if request.source_hash is None:
        raise Defect("a clip without a source", why=str(request.stream_id))
    return request.source_hash


def living(record: Record | None) -> Record:
    """Of one that is asked for again."""
    if record is None:
        raise Conflict("the clip was deleted", hint="Use a new key to make it again.")
    return record


def clip_request(new: NewClip) -> Mapping[str, Any]:
    """What the same idempotency key has to be sent with again, as it was sent."""
    return {
        "source_hash": new.source_hash,
        "stream_id": None if new.stream_id is None else str(new.stream_id),
        "mode": new.mode.value,
        "start_ms": new.start_ms,
        "end_ms": new.end_ms,
        "duration_ms": new.duration_ms,
        "padding_ms": new.padding_ms,
        "title": " ".join(new.title.split()),
        "description": new.description.strip(),
        "retention_ms": in_milliseconds(new.retention),
    }


def checked(
    request: NewClip, source_hash: ArtifactHash, timeline: Timeline, source_title: str, settings: ServeSettings
) -> CheckedClip:
    requested = requested_range(request, timeline, settings.longest_clip)
    padding_ms = settings.clip_padding // MILLISECOND if request.padding_ms is None else request.padding_ms
    padding_ms = _valid_padding(padding_ms, settings.longest_clip)
    return CheckedClip(
        source_hash=source_hash,
        stream_id=request.stream_id,
        mode=request.mode,
        requested=requested,
        padding_ms=padding_ms,
        shown=padded(requested, padding_ms, timeline),
        title=valid_title(request.title or _title_of(source_title, requested, timeline)),
        description=valid_description(request.description),
        requested_params=checked_parameters(request.requested_params),
    )


def padded(requested: Span, padding_ms: int, timeline: Timeline) -> Span:
    """What the clip will show: with its padding, as far as the source goes."""
    first, last = timeline.begins_ms or 0, timeline.ends_ms or LATEST_MS
    return common(Span(requested.start_ms - padding_ms, requested.end_ms + padding_ms), Span(first, last))


def require_room(usage: Usage, settings: ServeSettings) -> None:
    if usage.open_clips >= settings.concurrent_clips:
        why = f"{usage.open_clips} of {settings.concurrent_clips} are in progress"
        raise QuotaExceeded("too many clips at once", why=why, hint="Wait until some of them are done, then try again.")
    if usage.stored_bytes >= settings.stored_quota:
        why = f"{format_bytes(usage.stored_bytes)} of {format_bytes(settings.stored_quota)} are used"
        raise QuotaExceeded("the storage quota is too small for another clip", why=why, hint=MORE_STORAGE)


def checked_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    try:
        return valid_parameters(json.dumps(dict(parameters)))
    except TypeError as error:
        why = "they are not valid JSON"
        raise InvalidInput("not valid request parameters", field="requested_params", why=why) from error


def valid_parameters(text: str) -> dict[str, object]:
    try:
        document = json.loads(text) if text and len(text) <= LONGEST_PARAMETERS else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        why = f"use a JSON object of at most {LONGEST_PARAMETERS} characters"
        raise InvalidInput("not valid request parameters", field="requested_params", why=why)
    return document  # pyright: ignore[reportUnknownVariableType]


def clip_key(source_hash: ArtifactHash, artifact_hash: ArtifactHash) -> ObjectKey:
    return join_key("videos", "clips", str(video_id(source_hash)), f"{video_id(artifact_hash)}.mp4")


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such clip", why=f"{artifact_hash} does not exist")


def requested(clip: Clip, original_key: str, media: Span | None = None) -> ClipRequested:
    """`media`: the range in the time of the file, where that is not the time of the source."""
    media = media or Span(clip.start_ms, clip.end_ms)
    return ClipRequested(
        artifact_hash=clip.artifact_hash,
        source_hash=clip.source_hash,
        original_key=original_key,
        start_ms=media.start_ms,
        end_ms=media.end_ms,
        padding_ms=clip.padding_ms,
    )


def _valid_padding(padding_ms: int, longest: timedelta) -> int:
    if padding_ms < 0:
        raise InvalidInput("this padding cannot be used", field="padding_ms", why="it must not be negative")
    if padding_ms > longest // MILLISECOND:
        raise InvalidInput(
            "the padding is too long", field="padding_ms", why=f"the limit is {format_duration(longest)}"
        )
    return padding_ms


def _title_of(source_title: str, requested: Span, timeline: Timeline) -> str:
    """Named after its source and its times. The last half minute of a stream that is younger begins with the stream."""
    start_ms = max(requested.start_ms, timeline.begins_ms or 0)
    times = f"{shown_time(start_ms, timeline)}-{shown_time(requested.end_ms, timeline)}"
    return f"{source_title[: LONGEST_TITLE - len(times) - 1]} {times}"

"""Which part of a video may become a clip, and what is told about it. Pure.

Invariant: whose the video is comes before everything else, so that the range of a stranger's tells nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactRegistered, ArtifactType
from touchline.contracts.events.videos import ClipRequested
from touchline.contracts.registry import Clip, NewClip, Span
from touchline.kernel.errors import InvalidInput, NotFound, QuotaExceeded
from touchline.kernel.ids import ArtifactHash, video_id
from touchline.kernel.values import format_bytes, format_duration
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.registry.rules import MORE_STORAGE, Usage
from touchline.serve.settings import ServeSettings
from touchline.serve.uploads.rules import is_plain


@dataclass(frozen=True, slots=True)
class Entry:
    """What the registry adds to a request that it takes in."""

    id: UUID
    shown: Span
    now: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class MadeClip:
    """What lies in the object store now."""

    size_bytes: int
    shown: Span


CONTENT_TYPE = "video/mp4"
LONGEST_TITLE = 255
LONGEST_DESCRIPTION = 2000
LONGEST_PARAMETERS = 16_000
BEYOND_MS = 1000  # sound may outlast the pictures a little: an end so far behind them is their end
LONGEST_TIME_S = 10**9
MILLISECOND = timedelta(milliseconds=1)


def milliseconds(seconds: float, field: str) -> int:
    """As the number reads, half a millisecond up: what a float holds behind its last printed digit does not count."""
    if not abs(seconds) <= LONGEST_TIME_S:
        raise InvalidInput("not a time", field=field, why=f"it is a number of seconds up to {LONGEST_TIME_S}")
    return int((Decimal(repr(float(seconds))) * 1000).to_integral_value(ROUND_HALF_UP))


def playable(source: Artifact | None, source_hash: ArtifactHash) -> tuple[Artifact, int]:
    """The source with its duration."""
    if source is None or source.status is ArtifactStatus.DELETED:
        raise NotFound("no such video", why=f"{source_hash} is not known here")
    if source.status is not ArtifactStatus.READY or source.duration_ms is None:
        why = f"it is {source.status}, and how long it is becomes known when it can be played"
        raise InvalidInput("this video cannot be clipped", field="source_hash", why=why, hint="Try again a bit later.")
    return source, source.duration_ms


def checked(request: NewClip, duration_ms: int, source_title: str, settings: ServeSettings) -> NewClip:
    """In the form in which it is stored."""
    span = valid_span(Span(request.start_ms, request.end_ms), duration_ms, settings.longest_clip)
    padding_ms = settings.clip_padding // MILLISECOND if request.padding_ms is None else request.padding_ms
    return replace(
        request,
        start_ms=span.start_ms,
        end_ms=span.end_ms,
        padding_ms=_valid_padding(padding_ms, settings.longest_clip),
        title=_valid_title(request.title, source_title, span),
        description=_valid_description(request.description),
    )


def valid_span(wanted: Span, duration_ms: int, longest: timedelta) -> Span:
    if wanted.start_ms < 0:
        raise InvalidInput("a clip cannot begin there", field="start_ms", why="the video begins at 0")
    if wanted.end_ms <= wanted.start_ms:
        raise InvalidInput("a clip cannot end there", field="end_ms", why="the end must lie after the start")
    if wanted.start_ms >= duration_ms:
        raise InvalidInput("a clip cannot begin there", field="start_ms", why=_lasts(duration_ms))
    if wanted.end_ms > duration_ms + BEYOND_MS:
        raise InvalidInput("a clip cannot end there", field="end_ms", why=_lasts(duration_ms))
    span = Span(wanted.start_ms, min(wanted.end_ms, duration_ms))
    if span.end_ms - span.start_ms > longest // MILLISECOND:
        raise InvalidInput("the clip is too long", field="end_ms", why=f"a clip may last {format_duration(longest)}")
    return span


def shown(clip: NewClip, duration_ms: int) -> Span:
    """What the clip will show: with its padding, as far as the video goes."""
    padding_ms = clip.padding_ms or 0
    return Span(max(0, clip.start_ms - padding_ms), min(duration_ms, clip.end_ms + padding_ms))


def require_room(usage: Usage, settings: ServeSettings) -> None:
    if usage.open_clips >= settings.concurrent_clips:
        why = f"{usage.open_clips} of {settings.concurrent_clips} are under way"
        raise QuotaExceeded("too many clips at once", why=why, hint="Wait until some are made, then try again.")
    if usage.stored_bytes >= settings.stored_quota:
        why = f"{format_bytes(usage.stored_bytes)} of {format_bytes(settings.stored_quota)} are used"
        raise QuotaExceeded("there is not enough storage for a clip", why=why, hint=MORE_STORAGE)


def valid_parameters(text: str) -> dict[str, object]:
    try:
        document = json.loads(text) if text and len(text) <= LONGEST_PARAMETERS else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        why = f"a JSON object of at most {LONGEST_PARAMETERS} characters"
        raise InvalidInput("not the parameters of a request", field="requested_params", why=why)
    return document  # pyright: ignore[reportUnknownVariableType]


def clip_key(source_hash: ArtifactHash, artifact_hash: ArtifactHash) -> ObjectKey:
    return join_key("videos", "clips", str(video_id(source_hash)), f"{video_id(artifact_hash)}.mp4")


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such clip", why=f"{artifact_hash} is not known here")


def registered(clip: Clip) -> ArtifactRegistered:
    return ArtifactRegistered(
        artifact_hash=clip.artifact_hash,
        artifact_type=ArtifactType.CLIP,
        playback_id=clip.playback_id,
        internal_name=clip.internal_name,
        user_id=clip.user_id,
        title=clip.title,
    )


def requested(clip: Clip, source: Artifact) -> ClipRequested:
    return ClipRequested(
        artifact_hash=clip.artifact_hash,
        source_hash=clip.source_hash,
        original_key=source.original_key,
        start_ms=clip.start_ms,
        end_ms=clip.end_ms,
        padding_ms=clip.padding_ms,
    )


def _valid_padding(padding_ms: int, longest: timedelta) -> int:
    if padding_ms < 0:
        raise InvalidInput("this padding cannot be used", field="padding_ms", why="it is negative")
    if padding_ms > longest // MILLISECOND:
        raise InvalidInput("the padding is too long", field="padding_ms", why=f"it may last {format_duration(longest)}")
    return padding_ms


def _valid_title(title: str, source_title: str, span: Span) -> str:
    times = f"{_clock(span.start_ms)}-{_clock(span.end_ms)}"
    text = " ".join(title.split()) or f"{source_title[: LONGEST_TITLE - len(times) - 1]} {times}"
    if len(text) > LONGEST_TITLE or not is_plain(text):
        why = f"it has at most {LONGEST_TITLE} characters, all of them printable"
        raise InvalidInput("this title cannot be used", field="title", why=why)
    return text


def _valid_description(description: str) -> str:
    text = description.strip()
    if len(text) > LONGEST_DESCRIPTION or not all(is_plain(line) for line in text.split("\n")):
        why = f"it has at most {LONGEST_DESCRIPTION} characters, all of them printable"
        raise InvalidInput("this description cannot be used", field="description", why=why)
    return text


def _lasts(duration_ms: int) -> str:
    return f"the video ends at {_clock(duration_ms)}"


def _clock(time_ms: int) -> str:
    seconds, rest = divmod(time_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    front = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{front}:{seconds:02}" + (f".{rest:03}" if rest else "")

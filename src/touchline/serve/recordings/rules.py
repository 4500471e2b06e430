"""What may be recorded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from touchline.contracts.registry import NewRecording, Recording, Stream
from touchline.kernel import ArtifactHash, Conflict, NotFound, video_id
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.serve.registry.rules import LONGEST_TITLE, in_milliseconds, valid_description, valid_key, valid_title
from touchline.serve.retention.rules import valid_retention


@dataclass(frozen=True, slots=True)
class Record:
    """A recording with what only the registry knows."""

    recording: Recording
    placed: bool  # its artifact exists
    failed: bool  # and will not, unless someone asks again
    deleted: bool
    retention: timedelta  # as it was resolved


CONTENT_TYPE = "application/vnd.apple.mpegurl"
NOT_LIVE = "Publish to the stream first, then start the recording."


def checked(new: NewRecording, stream: Stream, now: datetime) -> NewRecording:
    """In the form in which it is stored. Without words it is named after its stream and the day."""
    when = f"{now:%Y-%m-%d %H:%M}"
    return replace(
        new,
        title=valid_title(new.title or f"{stream.title[: LONGEST_TITLE - len(when) - 1]} {when}"),
        description=valid_description(new.description),
        idempotency_key=valid_key(new.idempotency_key) if new.idempotency_key else "",
        retention=valid_retention(new.retention),
    )


def recording_request(new: NewRecording) -> Mapping[str, Any]:
    """What the same idempotency key has to be sent with again, as it was sent."""
    return {
        "stream_id": str(new.stream_id),
        "title": " ".join(new.title.split()),
        "description": new.description.strip(),
        "retention_ms": in_milliseconds(new.retention),
    }


def require_live(stream: Stream) -> None:
    if stream.suspended_at is not None:
        why = "the stream is suspended"
        raise Conflict("this stream cannot be recorded", why=why, hint="Resume the stream, then publish to it.")
    if stream.live_since is None:
        raise Conflict("this stream cannot be recorded now", why="it is not live", hint=NOT_LIVE)


def living(record: Record | None) -> Record:
    """Of one that is asked for again."""
    if record is None or record.deleted:
        raise Conflict("the recording was deleted", hint="Use a new key to start another one.")
    return record


def existing(record: Record | None, dvr_hash: ArtifactHash) -> Record:
    if record is None or record.deleted:
        raise unknown(dvr_hash)
    return record


def unknown(dvr_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such recording", why=f"{dvr_hash} does not exist")


def manifest_key(dvr_hash: ArtifactHash) -> ObjectKey:
    return join_key("videos", "dvr", str(video_id(dvr_hash)), "index.m3u8")

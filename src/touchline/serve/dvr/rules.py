"""What becomes of a recording: when it ends and as what, its keys and playlists, and which of its segments a range of
time needs. Pure.

Invariant: a recording ends when every node that recorded it has said so or was silent for too long, and nobody is to
come. What a node was killed in, or could not store, leaves a part of the recording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import Span
from touchline.kernel import ArtifactHash, InvalidInput, epoch_ms, video_id
from touchline.media.playlists import RecordedSegment, recording_playlist
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.serve.artifacts.rules import EndedRecording, Reason

MICROSECOND = timedelta(microseconds=1)
MOST_SEGMENTS = 500  # in one report
SHORT = 300  # segments: so many are listed one by one, then the playlist grows in steps
LARGEST_SEGMENT = 2**32
LONGEST_SEGMENT_US = 3600 * 1_000_000


class EndCode(StrEnum):
    """Why a node records no more."""

    STOPPED = "stopped"
    PUBLISHER_GONE = "publisher_gone"
    STORAGE_FULL = "storage_full"
    NODE_RESTARTED = "node_restarted"
    REFUSED = "refused"  # it never began


CLEAN = frozenset({EndCode.STOPPED, EndCode.PUBLISHER_GONE})
FINAL = CLEAN | {EndCode.STORAGE_FULL}  # nobody else is asked to go on
NO_MEDIA = Reason("no_media", "no media of the stream arrived while it was to be recorded")
NODE_LOST = Reason("node_lost", "the node that recorded it was lost; what it had stored is there")
RESTARTED = Reason("node_restarted", "the node was restarted while it recorded; a few seconds are missing")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One node that records, or did."""

    attempt: UUID
    node_id: str
    started_at: datetime
    reported_at: datetime
    ended_at: datetime | None
    end_code: EndCode | None
    end_message: str | None
    segments: int

    def is_active(self, now: datetime, silence: timedelta) -> bool:
        return self.ended_at is None and now - self.reported_at < silence

    @property
    def is_clean(self) -> bool:
        return self.end_code in CLEAN or (self.end_code is EndCode.REFUSED and not self.segments)


@dataclass(frozen=True, slots=True)
class Segment:
    """In the object store."""

    attempt: UUID
    sequence: int
    init: int
    starts_at: datetime
    duration_us: int
    size_bytes: int
    follows_break: bool

    @property
    def ends_at(self) -> datetime:
        return self.starts_at + self.duration_us * MICROSECOND


@dataclass(frozen=True, slots=True)
class LivePlace:
    """Where a stream is live, and since when."""

    since: datetime
    node_id: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A recording that has not ended, as it is on record."""

    status: ArtifactStatus
    created_at: datetime
    attempts: Sequence[Attempt]  # in their order
    live: LivePlace | None


class Verdict(StrEnum):
    GOES_ON = "goes on"
    ENDED = "ended"
    FAILED = "failed"  # and there is nothing of it


def decide(progress: Progress, now: datetime, silence: timedelta) -> Verdict:
    if any(attempt.is_active(now, silence) for attempt in progress.attempts):
        return Verdict.GOES_ON
    if not _is_over(progress, now, silence):
        return Verdict.GOES_ON
    return Verdict.ENDED if any(attempt.segments for attempt in progress.attempts) else Verdict.FAILED


def _is_over(progress: Progress, now: datetime, silence: timedelta) -> bool:
    last = progress.attempts[-1] if progress.attempts else None
    if progress.status is ArtifactStatus.STOPPING or (last and last.end_code in FINAL):
        return True
    sign = max([progress.created_at, *(attempt.reported_at for attempt in progress.attempts)])
    if progress.live is not None:
        sign = max(sign, progress.live.since)
    return now - sign >= silence


def wants_node(progress: Progress, now: datetime, silence: timedelta) -> LivePlace | None:
    """Where the stream is live and nobody records it: at the beginning, and when the publisher went to another node,
    or came back to one that was restarted."""
    if progress.live is None or progress.status is ArtifactStatus.STOPPING:
        return None
    here = [attempt for attempt in progress.attempts if attempt.node_id == progress.live.node_id]
    if any(attempt.is_active(now, silence) for attempt in here):
        return None
    if progress.attempts and progress.attempts[-1].end_code in FINAL:
        return None
    return progress.live


def records_from(created_at: datetime, is_automatic: bool, is_first: bool, live: LivePlace) -> datetime:
    """What is recorded by itself, or goes on elsewhere, has its stream from the beginning."""
    return live.since if is_automatic or not is_first else max(created_at, live.since)


def why_partial(attempts: Sequence[Attempt]) -> Reason | None:
    """None: nothing is missing."""
    for attempt in attempts:
        if attempt.is_clean:
            continue
        match attempt.end_code:
            case None:
                return NODE_LOST
            case EndCode.NODE_RESTARTED:
                return RESTARTED
            case _:
                return Reason(attempt.end_code, attempt.end_message or "")
    return None


def why_failed(attempts: Sequence[Attempt]) -> Reason:
    said = next((attempt for attempt in reversed(attempts) if attempt.end_code not in {None, *CLEAN}), None)
    return Reason(said.end_code, said.end_message or "") if said and said.end_code else NO_MEDIA


def ended_recording(segments: Sequence[Segment], attempts: Sequence[Attempt]) -> EndedRecording:
    reason = why_partial(attempts)
    return EndedRecording(
        ended_at=max(segment.ends_at for segment in segments),
        size_bytes=sum(segment.size_bytes for segment in segments),
        duration_ms=max(1, sum(segment.duration_us for segment in segments) // 1000),
        is_partial=reason is not None,
        started_at=segments[0].starts_at,
        reason=reason,
    )


# --- What lies where.


def growing_manifest_key(dvr_hash: ArtifactHash) -> ObjectKey:
    """Of a recording that goes on."""
    return file_key(dvr_hash, "growing.m3u8")


def file_key(dvr_hash: ArtifactHash, name: str) -> ObjectKey:
    """Of a file by its name in the playlist."""
    return join_key("videos", "dvr", str(video_id(dvr_hash)), *name.split("/"))


RECORDED_FILE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/(?:\d{8}\.m4s|init-\d{1,9}\.mp4)", re.ASCII)


def segment_name(attempt: UUID, sequence: int) -> str:
    return f"{attempt}/{sequence:08d}.m4s"


def init_name(attempt: UUID, init: int) -> str:
    return f"{attempt}/init-{init}.mp4"


def is_time_to_list(count: int, added: int) -> bool:
    """Whether a playlist of so many segments is written: a long one not for each of them."""
    step = count // SHORT + 1
    return count // step != (count - added) // step


def manifest(segments: Sequence[Segment], *, is_complete: bool) -> str:
    attempt: UUID | None = None
    listed: list[RecordedSegment] = []
    for segment in segments:
        follows_break = segment.follows_break or segment.attempt != attempt
        attempt = segment.attempt
        name, header = segment_name(attempt, segment.sequence), init_name(attempt, segment.init)
        listed.append(RecordedSegment(name, header, segment.duration_us, follows_break, segment.starts_at))
    return recording_playlist(listed, is_complete=is_complete)


# --- Reports.


def checked_segments(segments: Sequence[Segment], listed_through: int) -> Sequence[Segment]:
    """Those that are new. A report that leaves one out is refused."""
    if len(segments) > MOST_SEGMENTS:
        raise InvalidInput("the report is too long", field="segments", why=f"the limit is {MOST_SEGMENTS} segments")
    for segment in segments:
        is_possible = 0 < segment.size_bytes < LARGEST_SEGMENT and 0 < segment.duration_us < LONGEST_SEGMENT_US
        if not is_possible or segment.init < 1:
            raise InvalidInput("not a segment", field="segments", why=f"number {segment.sequence}")
    new = sorted((one for one in segments if one.sequence > listed_through), key=lambda one: one.sequence)
    if [one.sequence for one in new] != list(range(listed_through + 1, listed_through + 1 + len(new))):
        raise InvalidInput(
            "segments are missing from the report", field="segments", why=f"{listed_through + 1} is next"
        )
    return new


# --- Clips: wall clock and the time of the media, which has no gaps.


@dataclass(frozen=True, slots=True)
class Covered:
    """What a source has of a range of the wall clock."""

    shown: Span  # since 1970
    media: Span  # from its beginning
    covered_ms: int  # without gaps


def covered(segments: Sequence[Segment], wanted: Span) -> Covered | None:
    """None: nothing of it."""
    position_us, have_us = 0, 0
    shown: Span | None = None
    media: Span | None = None
    for segment in segments:
        begins_us = round(segment.starts_at.timestamp() * 1_000_000)
        start_us = max(wanted.start_ms * 1000, begins_us)
        end_us = min(wanted.end_ms * 1000, begins_us + segment.duration_us)
        if start_us < end_us:
            have_us += end_us - start_us
            part = Span((position_us + start_us - begins_us) // 1000, (position_us + end_us - begins_us) // 1000)
            shown = Span(shown.start_ms if shown else start_us // 1000, end_us // 1000)
            media = Span(media.start_ms if media else part.start_ms, part.end_ms)
        position_us += segment.duration_us
    if shown is None or media is None or media.end_ms <= media.start_ms:
        return None
    return Covered(shown, media, have_us // 1000)


def wall_clock(segments: Sequence[Segment], media: Span) -> Span:
    """Which time a part of the media shows."""
    return Span(_wall_of(segments, media.start_ms, first=True), _wall_of(segments, media.end_ms, first=False))


def _wall_of(segments: Sequence[Segment], media_ms: int, *, first: bool) -> int:
    """On the border of two segments: the beginning of the later one, or the end of the earlier one."""
    position_us, wanted_us, last = 0, media_ms * 1000, 0
    for segment in segments:
        inside_us, begins_ms = wanted_us - position_us, epoch_ms(segment.starts_at)
        is_here = inside_us < segment.duration_us if first else inside_us <= segment.duration_us
        if is_here:
            return begins_ms + max(0, inside_us) // 1000
        position_us += segment.duration_us
        last = begins_ms + segment.duration_us // 1000
    return last


def overlapping(segments: Sequence[Segment], wanted: Span) -> Sequence[Segment]:
    return [
        segment
        for segment in segments
        if epoch_ms(segment.ends_at) > wanted.start_ms and epoch_ms(segment.starts_at) < wanted.end_ms
    ]

"""Clips of streams: which source has the range, and what the node that cuts one says.

Invariant: what is listed of a recording is known exactly, what a node has in its window only by its time: whoever cuts
says what the clip shows. A command that has ended changes nothing any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import Clip, NewClip, Span, Stream
from touchline.kernel import ArtifactHash, InvalidInput, Unavailable, epoch_ms, uuid7
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import ENDED_RECORDING, Artifact, JobRun, Reason, Report, is_news
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.dvr.rules import Segment, covered, file_key, init_name, overlapping, segment_name, wall_clock
from touchline.serve.dvr.store import DvrStore
from touchline.serve.nodes.rules import Command, CommandKind, Result, is_usable
from touchline.serve.nodes.store import CommandStore, NodeStore
from touchline.serve.registry.store import RegistryStore
from touchline.serve.settings import ServeSettings
from touchline.serve.streams.store import StreamStore

from .ranges import common, recording_timeline, stream_timeline
from .rules import CheckedClip, MadeClip, checked
from .store import ClipStore

MOST_RECORDINGS = 20  # of a stream, that are considered for one clip
MOST_NODES = 1000
LONGEST_REASON = 1000


class SourceKind(IntEnum):
    """The earlier one where two have as much of the range."""

    WINDOW = 0
    GOING_ON = 1
    FINISHED = 2


@dataclass(frozen=True, slots=True)
class ClipSource:
    kind: SourceKind
    source_hash: ArtifactHash
    window: Span | None = None
    segments: Sequence[Segment] = ()

    def shown(self, wanted: Span) -> Span | None:
        """Which part of a range it has."""
        if self.window is None:
            found = covered(self.segments, wanted)
            return found and found.shown
        part = common(wanted, self.window)
        return part if part.start_ms < part.end_ms else None

    def covered_ms(self, wanted: Span) -> int:
        if self.window is None:
            found = covered(self.segments, wanted)
            return found.covered_ms if found else 0
        part = self.shown(wanted)
        return part.end_ms - part.start_ms if part else 0


def best_source(sources: Sequence[ClipSource], wanted: Span) -> ClipSource | None:
    """The one that has all of it, or most; None: nobody has anything."""
    best = min(sources, key=lambda source: (-source.covered_ms(wanted), source.kind), default=None)
    return best if best and best.covered_ms(wanted) else None


async def checked_stream_clip(
    transaction: Transaction, request: NewClip, stream: Stream, settings: ServeSettings, now: datetime
) -> CheckedClip:
    timeline = stream_timeline(stream.live_since, now)
    source_hash = stream.artifact_hash
    clip = checked(request, source_hash, timeline, stream.title, settings)
    sources = await _sources(transaction, stream, clip.requested, settings, now)
    return _fulfilled(clip, best_source(sources, clip.requested), "stream")


async def checked_recording_clip(
    transaction: Transaction, request: NewClip, recording: Artifact, settings: ServeSettings, now: datetime
) -> CheckedClip:
    timeline = recording_timeline(recording.started_at or recording.created_at, recording.ended_at, now)
    words = await RegistryStore(transaction).words(recording.artifact_hash)
    clip = checked(request, recording.artifact_hash, timeline, words.title if words else "", settings)
    source = best_source([await _recording(transaction, recording)], clip.requested)
    return _fulfilled(clip, source, "recording")


def _fulfilled(clip: CheckedClip, source: ClipSource | None, name: str) -> CheckedClip:
    padded = Span(max(0, clip.requested.start_ms - clip.padding_ms), clip.requested.end_ms + clip.padding_ms)
    shown = source.shown(padded) if source else None
    if source is None or shown is None:
        why = f"nothing of the {name} is kept of this range"
        raise InvalidInput("this range cannot be clipped", field="start_ms", why=why)
    return replace(clip, source_hash=source.source_hash, shown=shown)


async def _sources(
    transaction: Transaction, stream: Stream, wanted: Span, settings: ServeSettings, now: datetime
) -> list[ClipSource]:
    sources: list[ClipSource] = []
    if stream.live_since is not None:
        window = Span(epoch_ms(max(stream.live_since, now - settings.live_window)), epoch_ms(now))
        sources.append(ClipSource(SourceKind.WINDOW, stream.artifact_hash, window))
    begins, ends = _moment(wanted.start_ms), _moment(wanted.end_ms)
    for dvr_hash in await DvrStore(transaction).recordings_of(stream.id, begins, ends, MOST_RECORDINGS):
        artifact = await ArtifactStore(transaction).find(dvr_hash)
        if artifact is not None and artifact.status not in {ArtifactStatus.DELETED, ArtifactStatus.FAILED}:
            sources.append(await _recording(transaction, artifact))
    return sources


async def _recording(transaction: Transaction, artifact: Artifact) -> ClipSource:
    segments = await DvrStore(transaction).segments(artifact.artifact_hash)
    kind = SourceKind.FINISHED if artifact.status in ENDED_RECORDING else SourceKind.GOING_ON
    return ClipSource(kind, artifact.artifact_hash, segments=segments)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# --- Who cuts it.


async def media_range(transaction: Transaction, clip: Clip) -> Span:
    """Of a clip of a recording that has ended: in the time of its file."""
    segments = await DvrStore(transaction).segments(clip.source_hash)
    found = covered(segments, Span(clip.start_ms, clip.end_ms))
    if found is None:
        raise InvalidInput("this range cannot be clipped", field="start_ms", why="the recording has nothing of it")
    return found.media


async def ask_node(
    transaction: Transaction, clip: Clip, original_key: str, settings: ServeSettings, now: datetime
) -> None:
    """The node that has the stream, or, of a recording in the object store, another one."""
    stream = await StreamStore(transaction).find(clip.stream_id) if clip.stream_id else None
    is_window = stream is not None and clip.source_hash == stream.artifact_hash
    live = stream.live if stream else None
    node_id = await _node(transaction, live.node_id if live else None, must_be=is_window)
    segments = [] if is_window else await _stored(transaction, clip)
    payload = {
        "internal_name": stream.internal_name if stream else "",
        "start_ms": clip.start_ms,
        "end_ms": clip.end_ms,
        "padding_ms": clip.padding_ms,
        "original_key": original_key,
        "segments": segments,
    }
    deadline, kind = now + settings.live_clip_time, CommandKind.CLIP_PULL
    command = Command(uuid7(now), node_id, kind, transaction.tenant_id, clip.artifact_hash, payload, deadline)
    await CommandStore(transaction).add(command, now)


async def _node(transaction: Transaction, wanted: str | None, *, must_be: bool) -> str:
    nodes = [node for node in await NodeStore(transaction.connection).all(MOST_NODES) if is_usable(node)]
    found = next((node for node in nodes if node.node_id == wanted), None)
    if found is None and not must_be:
        found = min(nodes, key=lambda node: (node.load, node.node_id), default=None)
    if found is None:
        raise Unavailable("no node can cut this clip now", why="the node of the stream does not answer")
    return found.node_id


async def _stored(transaction: Transaction, clip: Clip) -> list[dict[str, Any]]:
    wanted = Span(clip.start_ms - clip.padding_ms, clip.end_ms + clip.padding_ms)
    all_of_it = await DvrStore(transaction).segments(clip.source_hash)
    attempt, listed = None, list[dict[str, Any]]()
    for segment in overlapping(all_of_it, wanted):
        listed.append(
            {
                "key": file_key(clip.source_hash, segment_name(segment.attempt, segment.sequence)),
                "init_key": file_key(clip.source_hash, init_name(segment.attempt, segment.init)),
                "starts_at_us": round(segment.starts_at.timestamp() * 1_000_000),
                "duration_us": segment.duration_us,
                "follows_break": segment.follows_break or segment.attempt != attempt,
            }
        )
        attempt = segment.attempt
    return listed


# --- What the node says.


async def live_clip_progressed(transaction: Transaction, command: Command, percent: int, now: datetime) -> None:
    artifact = await ArtifactStore(transaction).find_locked(command.artifact_hash)
    run = JobRun(command.id, 1)
    if artifact is not None and is_news(artifact, Report.PROGRESSED, run, percent):
        await transitions.progress(transaction, artifact, run, percent, now + artifact.retention)


async def end_live_clip(
    transaction: Transaction, artifact: Artifact, command: Command, result: Result, now: datetime
) -> None:
    run, until = JobRun(command.id, 1), now + artifact.retention
    if artifact.artifact_type is not ArtifactType.CLIP:
        return
    if result.code or result.cut is None:
        reason = Reason(result.code or "internal", (result.message or "the node sent no clip")[:LONGEST_REASON])
        if is_news(artifact, Report.FAILED, run):
            await transitions.fail(transaction, artifact.artifact_hash, reason, (artifact.status,), until, run)
    elif is_news(artifact, Report.CUT, run):
        made = MadeClip(result.object_bytes, Span(*result.cut))
        await transitions.store_clip(transaction, artifact, made, until)


async def shown_by(transaction: Transaction, clip_hash: ArtifactHash, cut: Span) -> Span:
    """What a job that cut a file says it shows, in the time of the clip's source: of a recording, the wall clock."""
    record = await ClipStore(transaction).find(clip_hash)
    if record is None:
        return cut
    segments = await DvrStore(transaction).segments(record.clip.source_hash)
    return wall_clock(segments, cut) if segments else cut

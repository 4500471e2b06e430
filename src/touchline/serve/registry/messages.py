"""The registry's records as messages, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import (
    ChangedArtifact,
    Clip,
    ClipFilter,
    ClipMode,
    ClipPage,
    Identity,
    LiveHealth,
    LiveSession,
    NewClip,
    NewRecording,
    NewUpload,
    Recording,
    RecordingPage,
    RowKey,
    RowWindow,
    Span,
    StartedRecording,
    Stream,
    StreamPage,
    StreamWithKey,
    TenantSettings,
    Upload,
    UploadPage,
)
from touchline.contracts.rpc.v1 import common_pb2, registry_pb2 as pb
from touchline.kernel import ArtifactHash, InternalName, InvalidInput, PlaybackId, TenantId, UserId
from touchline.serve.clips.rules import valid_parameters

MILLISECOND = timedelta(milliseconds=1)
LARGEST_INTEGER = 2**63 - 1


def to_time(moment: datetime) -> Timestamp:
    time = Timestamp()
    time.FromDatetime(moment)
    return time


def from_time(time: Timestamp) -> datetime:
    try:
        return time.ToDatetime(tzinfo=UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput("not a time", field="created_at") from error


def to_upload(upload: Upload) -> pb.Upload:
    return pb.Upload(
        id=str(upload.id),
        artifact_hash=upload.artifact_hash,
        playback_id=upload.playback_id,
        internal_name=upload.internal_name,
        user_id=str(upload.user_id),
        title=upload.title,
        file_name=upload.file_name,
        size_bytes=upload.size_bytes,
        created_at=to_time(upload.created_at),
        expires_at=to_time(upload.expires_at) if upload.expires_at else None,
        revision=upload.revision,
        description=upload.description,
        pinned=upload.pinned,
    )


def from_upload(message: pb.Upload) -> Upload:
    return Upload(
        id=UUID(message.id),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        user_id=UserId(UUID(message.user_id)),
        title=message.title,
        file_name=message.file_name,
        size_bytes=message.size_bytes,
        created_at=from_time(message.created_at),
        expires_at=from_time(message.expires_at) if message.HasField("expires_at") else None,
        revision=message.revision,
        description=message.description,
        pinned=message.pinned,
    )


def to_window(window: RowWindow) -> common_pb2.PageRequest:
    return common_pb2.PageRequest(
        size=window.size,
        after=_to_row_key(window.after),
        before=_to_row_key(window.before),
        from_the_end=window.from_the_end,
    )


def from_window(message: common_pb2.PageRequest) -> RowWindow:
    return RowWindow(
        size=message.size,
        after=_from_row_key(message.after) if message.HasField("after") else None,
        before=_from_row_key(message.before) if message.HasField("before") else None,
        from_the_end=message.from_the_end,
    )


def to_upload_page(page: UploadPage) -> pb.ListUploadsResponse:
    return pb.ListUploadsResponse(uploads=map(to_upload, page.uploads), page_info=_page_info(page))


def from_upload_page(message: pb.ListUploadsResponse) -> UploadPage:
    return UploadPage([from_upload(one) for one in message.uploads], *_borders(message.page_info))


def to_identity(identity: Identity) -> pb.ResolveArtifactResponse:
    return pb.ResolveArtifactResponse(
        artifact_hash=identity.artifact_hash,
        artifact_type=identity.artifact_type or "",
        tenant_id=str(identity.tenant_id),
        user_id=str(identity.user_id),
        internal_name=identity.internal_name,
        playback_id=identity.playback_id,
        stream_id=_text(identity.stream_id),
    )


def from_identity(message: pb.ResolveArtifactResponse) -> Identity:
    return Identity(
        stream_id=UUID(message.stream_id) if message.HasField("stream_id") else None,
        tenant_id=TenantId(UUID(message.tenant_id)),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        artifact_type=ArtifactType(message.artifact_type) if message.artifact_type else None,
        user_id=UserId(UUID(message.user_id)),
    )


def _to_row_key(key: RowKey | None) -> common_pb2.RowKey | None:
    return None if key is None else common_pb2.RowKey(created_at=to_time(key.created_at), id=key.artifact_hash)


def _from_row_key(message: common_pb2.RowKey) -> RowKey:
    return RowKey(from_time(message.created_at), message.id)


def to_clip_request(new: NewClip) -> pb.CreateClipRequest:
    return pb.CreateClipRequest(
        artifact_hash=new.source_hash,
        start_ms=new.start_ms,
        end_ms=new.end_ms,
        padding_ms=new.padding_ms,
        title=new.title,
        description=new.description,
        requested_params=json.dumps(new.requested_params),
        clip_mode=new.mode,
        duration_ms=new.duration_ms,
        stream_id=_text(new.stream_id),
        idempotency_key=new.idempotency_key,
        retention_ms=to_milliseconds(new.retention),
    )


def from_clip_request(message: pb.CreateClipRequest) -> NewClip:
    return NewClip(
        source_hash=ArtifactHash(message.artifact_hash) if message.HasField("artifact_hash") else None,
        start_ms=message.start_ms if message.HasField("start_ms") else None,
        end_ms=message.end_ms if message.HasField("end_ms") else None,
        padding_ms=message.padding_ms if message.HasField("padding_ms") else None,
        title=message.title,
        description=message.description,
        requested_params=valid_parameters(message.requested_params),
        mode=_clip_mode(message.clip_mode) if message.HasField("clip_mode") else ClipMode.ABSOLUTE,
        duration_ms=message.duration_ms if message.HasField("duration_ms") else None,
        stream_id=parse_stream_id(message.stream_id) if message.HasField("stream_id") else None,
        idempotency_key=message.idempotency_key,
        retention=from_milliseconds(message.retention_ms) if message.HasField("retention_ms") else None,
    )


def _clip_mode(text: str) -> ClipMode:
    try:
        return ClipMode(text)
    except ValueError as error:
        raise InvalidInput("not a mode of a clip", field="mode", why=f"it is one of {', '.join(ClipMode)}") from error


def to_clip(clip: Clip) -> pb.Clip:
    return pb.Clip(
        id=str(clip.id),
        artifact_hash=clip.artifact_hash,
        playback_id=clip.playback_id,
        internal_name=clip.internal_name,
        user_id=str(clip.user_id),
        source_hash=clip.source_hash,
        stream_id=_text(clip.stream_id),
        title=clip.title,
        description=clip.description,
        start_ms=clip.start_ms,
        end_ms=clip.end_ms,
        padding_ms=clip.padding_ms,
        shown_start_ms=clip.shown.start_ms,
        shown_end_ms=clip.shown.end_ms,
        created_at=to_time(clip.created_at),
        expires_at=to_time(clip.expires_at),
        revision=clip.revision,
        clip_mode=clip.mode,
        pinned=clip.pinned,
    )


def from_clip(message: pb.Clip) -> Clip:
    return Clip(
        id=UUID(message.id),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        user_id=UserId(UUID(message.user_id)),
        source_hash=ArtifactHash(message.source_hash),
        stream_id=UUID(message.stream_id) if message.HasField("stream_id") else None,
        title=message.title,
        description=message.description,
        start_ms=message.start_ms,
        end_ms=message.end_ms,
        padding_ms=message.padding_ms,
        shown=Span(message.shown_start_ms, message.shown_end_ms),
        created_at=from_time(message.created_at),
        expires_at=from_time(message.expires_at),
        revision=message.revision,
        mode=ClipMode(message.clip_mode),
        pinned=message.pinned,
    )


def from_clip_filter(message: pb.ListClipsRequest) -> ClipFilter:
    return ClipFilter(
        source_hash=ArtifactHash(message.artifact_hash) if message.HasField("artifact_hash") else None,
        stream_id=parse_stream_id(message.stream_id) if message.HasField("stream_id") else None,
    )


def to_clip_page(page: ClipPage) -> pb.ListClipsResponse:
    return pb.ListClipsResponse(clips=map(to_clip, page.clips), page_info=_page_info(page))


def from_clip_page(message: pb.ListClipsResponse) -> ClipPage:
    return ClipPage([from_clip(one) for one in message.clips], *_borders(message.page_info))


def to_upload_request(new: NewUpload) -> pb.CreateUploadRequest:
    return pb.CreateUploadRequest(
        idempotency_key=new.idempotency_key,
        file_name=new.file_name,
        title=new.title,
        content_type=new.content_type,
        size_bytes=new.size_bytes,
        description=new.description,
        retention_ms=to_milliseconds(new.retention),
    )


def from_upload_request(message: pb.CreateUploadRequest) -> NewUpload:
    return NewUpload(
        idempotency_key=message.idempotency_key,
        file_name=message.file_name,
        size_bytes=message.size_bytes,
        title=message.title,
        content_type=message.content_type,
        description=message.description,
        retention=from_milliseconds(message.retention_ms) if message.HasField("retention_ms") else None,
    )


def to_stream(stream: Stream) -> pb.Stream:
    return pb.Stream(
        id=str(stream.id),
        playback_id=stream.playback_id,
        internal_name=stream.internal_name,
        user_id=str(stream.user_id),
        title=stream.title,
        description=stream.description,
        record=stream.record,
        created_at=to_time(stream.created_at),
        key_rotated_at=to_time(stream.key_rotated_at),
        live_since=to_time(stream.live_since) if stream.live_since else None,
        suspended_at=to_time(stream.suspended_at) if stream.suspended_at else None,
        revision=stream.revision,
        live=to_session(stream.live) if stream.live else None,
        live_problem=stream.live_problem,
    )


def to_session(live: LiveSession) -> pb.LiveSession:
    return pb.LiveSession(
        session_id=str(live.session_id),
        node_id=live.node_id,
        since=to_time(live.since),
        playable_at=to_time(live.playable_at) if live.playable_at else None,
        broken_at=to_time(live.broken_at) if live.broken_at else None,
        health=common_pb2.StreamHealth(**asdict(live.health)) if live.health else None,
    )


def from_session(message: pb.LiveSession) -> LiveSession:
    return LiveSession(
        session_id=UUID(message.session_id),
        node_id=message.node_id,
        since=from_time(message.since),
        playable_at=from_time(message.playable_at) if message.HasField("playable_at") else None,
        broken_at=from_time(message.broken_at) if message.HasField("broken_at") else None,
        health=from_health(message.health) if message.HasField("health") else None,
    )


def from_health(message: common_pb2.StreamHealth) -> LiveHealth:
    return LiveHealth(
        bits_per_second=message.bits_per_second,
        frames_per_second=message.frames_per_second,
        dropped_frames=message.dropped_frames,
        keyframe_gap_ms=message.keyframe_gap_ms,
        behind_ms=message.behind_ms,
        width=message.width,
        height=message.height,
    )


def from_stream(message: pb.Stream) -> Stream:
    return Stream(
        id=UUID(message.id),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        user_id=UserId(UUID(message.user_id)),
        title=message.title,
        description=message.description,
        record=message.record,
        created_at=from_time(message.created_at),
        key_rotated_at=from_time(message.key_rotated_at),
        live_since=from_time(message.live_since) if message.HasField("live_since") else None,
        suspended_at=from_time(message.suspended_at) if message.HasField("suspended_at") else None,
        revision=message.revision,
        live=from_session(message.live) if message.HasField("live") else None,
        live_problem=message.live_problem,
    )


def to_stream_with_key(created: StreamWithKey) -> pb.StreamWithKey:
    return pb.StreamWithKey(stream=to_stream(created.stream), stream_key=created.key)


def from_stream_with_key(message: pb.StreamWithKey) -> StreamWithKey:
    key = message.stream_key if message.HasField("stream_key") else None
    return StreamWithKey(from_stream(message.stream), key)


def to_stream_page(page: StreamPage) -> pb.ListStreamsResponse:
    return pb.ListStreamsResponse(streams=map(to_stream, page.streams), page_info=_page_info(page))


def from_stream_page(message: pb.ListStreamsResponse) -> StreamPage:
    return StreamPage([from_stream(one) for one in message.streams], *_borders(message.page_info))


def to_recording(recording: Recording) -> pb.Recording:
    return pb.Recording(
        id=str(recording.id),
        dvr_hash=recording.artifact_hash,
        playback_id=recording.playback_id,
        internal_name=recording.internal_name,
        user_id=str(recording.user_id),
        stream_id=str(recording.stream_id),
        stream_name=recording.stream_name,
        title=recording.title,
        description=recording.description,
        created_at=to_time(recording.created_at),
        ended_at=to_time(recording.ended_at) if recording.ended_at else None,
        expires_at=to_time(recording.expires_at) if recording.expires_at else None,
        revision=recording.revision,
        pinned=recording.pinned,
    )


def from_recording(message: pb.Recording) -> Recording:
    return Recording(
        id=UUID(message.id),
        artifact_hash=ArtifactHash(message.dvr_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        user_id=UserId(UUID(message.user_id)),
        stream_id=UUID(message.stream_id),
        stream_name=InternalName(message.stream_name),
        title=message.title,
        description=message.description,
        created_at=from_time(message.created_at),
        ended_at=from_time(message.ended_at) if message.HasField("ended_at") else None,
        expires_at=from_time(message.expires_at) if message.HasField("expires_at") else None,
        revision=message.revision,
        pinned=message.pinned,
    )


def to_recording_request(new: NewRecording) -> pb.StartDVRRequest:
    return pb.StartDVRRequest(
        stream_id=str(new.stream_id),
        title=new.title,
        description=new.description,
        idempotency_key=new.idempotency_key,
        retention_ms=to_milliseconds(new.retention),
    )


def from_recording_request(message: pb.StartDVRRequest) -> NewRecording:
    return NewRecording(
        stream_id=parse_stream_id(message.stream_id),
        title=message.title,
        description=message.description,
        idempotency_key=message.idempotency_key,
        retention=from_milliseconds(message.retention_ms) if message.HasField("retention_ms") else None,
    )


def to_started_recording(started: StartedRecording) -> pb.StartedRecording:
    recording = to_recording(started.recording)
    return pb.StartedRecording(recording=recording, status=started.status, revision=started.revision)


def from_started_recording(message: pb.StartedRecording) -> StartedRecording:
    return StartedRecording(from_recording(message.recording), ArtifactStatus(message.status), message.revision)


def to_recording_page(page: RecordingPage) -> pb.ListDVRRequestsResponse:
    return pb.ListDVRRequestsResponse(recordings=map(to_recording, page.recordings), page_info=_page_info(page))


def from_recording_page(message: pb.ListDVRRequestsResponse) -> RecordingPage:
    return RecordingPage([from_recording(one) for one in message.recordings], *_borders(message.page_info))


def to_changed_artifact(changed: ChangedArtifact) -> pb.UpdateArtifactResponse:
    return pb.UpdateArtifactResponse(
        artifact_hash=changed.artifact_hash,
        artifact_type=changed.artifact_type,
        title=changed.title,
        description=changed.description,
        title_revision=changed.title_revision,
        pinned=changed.pinned,
        revision=changed.revision,
    )


def from_changed_artifact(message: pb.UpdateArtifactResponse) -> ChangedArtifact:
    return ChangedArtifact(
        artifact_hash=ArtifactHash(message.artifact_hash),
        artifact_type=ArtifactType(message.artifact_type),
        title=message.title,
        description=message.description,
        title_revision=message.title_revision,
        pinned=message.pinned,
        revision=message.revision,
    )


def to_tenant_settings(settings: TenantSettings) -> pb.TenantSettings:
    return pb.TenantSettings(retention_ms=to_milliseconds(settings.retention))


def from_tenant_settings(message: pb.TenantSettings) -> TenantSettings:
    return TenantSettings(from_milliseconds(message.retention_ms) if message.HasField("retention_ms") else None)


def to_milliseconds(duration: timedelta | None) -> int | None:
    """What does not fit is sent as the most that does: it is refused there for its length."""
    return None if duration is None else min(duration // MILLISECOND, LARGEST_INTEGER)


def from_milliseconds(value: int) -> timedelta:
    try:
        return timedelta(milliseconds=value)
    except OverflowError as error:
        raise InvalidInput("not a duration", field="retention_ms", why="it is far too long") from error


def parse_stream_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not the id of a stream", field="stream_id", why="it must be a UUID") from error


def _page_info(page: UploadPage | ClipPage | StreamPage | RecordingPage) -> common_pb2.PageInfo:
    return common_pb2.PageInfo(has_next=page.has_next, has_previous=page.has_previous, total_count=page.total_count)


def _borders(info: common_pb2.PageInfo) -> tuple[bool, bool, int]:
    return info.has_next, info.has_previous, info.total_count


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)

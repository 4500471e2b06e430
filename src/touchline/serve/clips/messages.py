"""Clips as they cross the border, both ways."""

from __future__ import annotations

import json
from uuid import UUID

from touchline.contracts.rpc.v1 import common_pb2
from touchline.contracts.rpc.v1 import registry_pb2 as pb
from touchline.kernel import UserId
from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import ArtifactHash, InternalName, PlaybackId, parse_artifact_hash
from touchline.serve.registry.messages import from_time, to_time

from .model import Clip, ClipFilter, ClipPage, NewClip, Span
from .rules import valid_parameters


def to_request(new: NewClip) -> pb.CreateClipRequest:
    return pb.CreateClipRequest(
        artifact_hash=new.source_hash,
        start_ms=new.start_ms,
        end_ms=new.end_ms,
        padding_ms=new.padding_ms,
        title=new.title,
        description=new.description,
        requested_params=json.dumps(new.requested_params),
    )


def from_request(message: pb.CreateClipRequest) -> NewClip:
    return NewClip(
        source_hash=parse_artifact_hash(message.artifact_hash),
        start_ms=message.start_ms,
        end_ms=message.end_ms,
        padding_ms=message.padding_ms if message.HasField("padding_ms") else None,
        title=message.title,
        description=message.description,
        requested_params=valid_parameters(message.requested_params),
    )


def to_clip(clip: Clip) -> pb.Clip:
    return pb.Clip(
        id=str(clip.id),
        artifact_hash=clip.artifact_hash,
        playback_id=clip.playback_id,
        internal_name=clip.internal_name,
        user_id=str(clip.user_id),
        source_hash=clip.source_hash,
        stream_id=str(clip.stream_id) if clip.stream_id else None,
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
    )


def from_filter(message: pb.ListClipsRequest) -> ClipFilter:
    return ClipFilter(
        source_hash=parse_artifact_hash(message.artifact_hash) if message.HasField("artifact_hash") else None,
        stream_id=_stream_id(message.stream_id) if message.HasField("stream_id") else None,
    )


def to_page(page: ClipPage) -> pb.ListClipsResponse:
    info = common_pb2.PageInfo(has_next=page.has_next, has_previous=page.has_previous, total_count=page.total_count)
    return pb.ListClipsResponse(clips=map(to_clip, page.clips), page_info=info)


def from_page(message: pb.ListClipsResponse) -> ClipPage:
    info = message.page_info
    return ClipPage([from_clip(one) for one in message.clips], info.has_next, info.has_previous, info.total_count)


def _stream_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not the id of a stream", field="stream_id", why="it is a UUID") from error

"""Records and windows as they cross the border, both ways."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.rpc.v1 import common_pb2, registry_pb2
from touchline.kernel import TenantId, UserId
from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import ArtifactHash, InternalName, PlaybackId

from .model import Identity, Page, RowKey, Upload, Window


def to_time(moment: datetime) -> Timestamp:
    time = Timestamp()
    time.FromDatetime(moment)
    return time


def from_time(time: Timestamp) -> datetime:
    try:
        return time.ToDatetime(tzinfo=UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput("not a time", field="created_at") from error


def to_upload(upload: Upload) -> registry_pb2.Upload:
    return registry_pb2.Upload(
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
    )


def from_upload(message: registry_pb2.Upload) -> Upload:
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
    )


def to_window(window: Window) -> common_pb2.PageRequest:
    return common_pb2.PageRequest(
        size=window.size,
        after=_to_row_key(window.after),
        before=_to_row_key(window.before),
        from_the_end=window.from_the_end,
    )


def from_window(message: common_pb2.PageRequest) -> Window:
    return Window(
        size=message.size,
        after=_from_row_key(message.after) if message.HasField("after") else None,
        before=_from_row_key(message.before) if message.HasField("before") else None,
        from_the_end=message.from_the_end,
    )


def to_page(page: Page) -> registry_pb2.ListUploadsResponse:
    info = common_pb2.PageInfo(has_next=page.has_next, has_previous=page.has_previous, total_count=page.total_count)
    return registry_pb2.ListUploadsResponse(uploads=map(to_upload, page.uploads), page_info=info)


def from_page(message: registry_pb2.ListUploadsResponse) -> Page:
    info = message.page_info
    return Page([from_upload(one) for one in message.uploads], info.has_next, info.has_previous, info.total_count)


def to_identity(identity: Identity) -> registry_pb2.ResolveArtifactResponse:
    return registry_pb2.ResolveArtifactResponse(
        artifact_hash=identity.artifact_hash,
        artifact_type=identity.artifact_type,
        tenant_id=str(identity.tenant_id),
        user_id=str(identity.user_id),
        internal_name=identity.internal_name,
        playback_id=identity.playback_id,
    )


def from_identity(message: registry_pb2.ResolveArtifactResponse) -> Identity:
    return Identity(
        tenant_id=TenantId(UUID(message.tenant_id)),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        artifact_type=ArtifactType(message.artifact_type),
        user_id=UserId(UUID(message.user_id)),
    )


def _to_row_key(key: RowKey | None) -> common_pb2.RowKey | None:
    return None if key is None else common_pb2.RowKey(created_at=to_time(key.created_at), id=key.artifact_hash)


def _from_row_key(message: common_pb2.RowKey) -> RowKey:
    return RowKey(from_time(message.created_at), message.id)

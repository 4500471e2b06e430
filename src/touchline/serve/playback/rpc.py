"""Share links between processes: calls as messages, on the server's side and on the client's.

Invariant: nothing is decided here. What a caller may do, and which input is valid, `PlaybackRole` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from touchline.contracts.playback import CreatedShareLink, PlaybackClient, SharedArtifact, ShareLink
from touchline.contracts.rpc.v1 import playback_pb2 as pb
from touchline.kernel import ArtifactHash, InvalidInput, PlaybackId, Principal, TenantId, UserId
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import RpcCall

SERVICE = pb.DESCRIPTOR.services_by_name["Playback"]


def to_link(link: ShareLink) -> pb.ShareLink:
    return pb.ShareLink(
        id=str(link.id),
        artifact_hash=link.artifact_hash,
        created_by=str(link.created_by),
        created_at=link.created_at,
        expires_at=link.expires_at,
        revoked_at=link.revoked_at,
        revision=link.revision,
    )


def from_link(message: pb.ShareLink) -> ShareLink:
    return ShareLink(
        id=UUID(message.id),
        artifact_hash=ArtifactHash(message.artifact_hash),
        created_by=UserId(UUID(message.created_by)),
        created_at=_time(message.created_at),
        expires_at=_time(message.expires_at),
        revoked_at=_time(message.revoked_at) if message.HasField("revoked_at") else None,
        revision=message.revision,
    )


def _time(message: Timestamp) -> datetime:
    try:
        return message.ToDatetime(tzinfo=UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput("not a time", field="expires_at") from error


def _id(text: str, field: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not an id", field=field, why="it must be a UUID") from error


class PlaybackServicer:
    def __init__(self, playback: PlaybackClient) -> None:
        self._playback = playback

    async def create_share_link(self, request: pb.CreateShareLinkRequest, call: RpcCall) -> pb.CreateShareLinkResponse:
        expires_at = _time(request.expires_at) if request.HasField("expires_at") else None
        created = await self._playback.create_share_link(call.principal, request.artifact_hash, expires_at)
        return pb.CreateShareLinkResponse(link=to_link(created.link), share_token=created.token)

    async def list_share_links(self, request: pb.ListShareLinksRequest, call: RpcCall) -> pb.ListShareLinksResponse:
        links = await self._playback.share_links(call.principal, request.artifact_hash)
        return pb.ListShareLinksResponse(links=map(to_link, links))

    async def revoke_share_link(self, request: pb.RevokeShareLinkRequest, call: RpcCall) -> pb.RevokeShareLinkResponse:
        link = await self._playback.revoke_share_link(call.principal, request.share_link_id)
        return pb.RevokeShareLinkResponse(link=to_link(link))

    async def open_share_link(self, request: pb.OpenShareLinkRequest, call: RpcCall) -> pb.OpenShareLinkResponse:
        shared = await self._playback.open_share_link(request.share_token)
        return pb.OpenShareLinkResponse(
            share_link_id=str(shared.link_id),
            tenant_id=str(shared.tenant_id),
            artifact_hash=shared.artifact_hash,
            playback_id=shared.playback_id,
            expires_at=shared.expires_at,
        )

    async def check_share_link(self, request: pb.CheckShareLinkRequest, call: RpcCall) -> pb.CheckShareLinkResponse:
        tenant_id = TenantId(_id(request.granted_tenant_id, "granted_tenant_id"))
        link_id = _id(request.share_link_id, "share_link_id")
        return pb.CheckShareLinkResponse(valid=await self._playback.share_link_is_valid(tenant_id, link_id))


class GrpcPlaybackClient:
    """`PlaybackClient` by calls to another process. Raises what the service raised."""

    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def create_share_link(
        self, caller: Principal, artifact_hash: str, expires_at: datetime | None = None
    ) -> CreatedShareLink:
        request = pb.CreateShareLinkRequest(artifact_hash=artifact_hash, expires_at=expires_at)
        answer = await self._stub.call("CreateShareLink", request, pb.CreateShareLinkResponse, caller)
        return CreatedShareLink(from_link(answer.link), answer.share_token)

    async def share_links(self, caller: Principal, artifact_hash: str) -> Sequence[ShareLink]:
        request = pb.ListShareLinksRequest(artifact_hash=artifact_hash)
        answer = await self._stub.call("ListShareLinks", request, pb.ListShareLinksResponse, caller)
        return [from_link(one) for one in answer.links]

    async def revoke_share_link(self, caller: Principal, link_id: str) -> ShareLink:
        request = pb.RevokeShareLinkRequest(share_link_id=link_id)
        answer = await self._stub.call("RevokeShareLink", request, pb.RevokeShareLinkResponse, caller)
        return from_link(answer.link)

    async def open_share_link(self, token: str) -> SharedArtifact:
        request = pb.OpenShareLinkRequest(share_token=token)
        answer = await self._stub.call("OpenShareLink", request, pb.OpenShareLinkResponse, None)
        return SharedArtifact(
            link_id=UUID(answer.share_link_id),
            tenant_id=TenantId(UUID(answer.tenant_id)),
            artifact_hash=ArtifactHash(answer.artifact_hash),
            playback_id=PlaybackId(answer.playback_id),
            expires_at=_time(answer.expires_at),
        )

    async def share_link_is_valid(self, tenant_id: TenantId, link_id: UUID) -> bool:
        request = pb.CheckShareLinkRequest(granted_tenant_id=str(tenant_id), share_link_id=str(link_id))
        return (await self._stub.call("CheckShareLink", request, pb.CheckShareLinkResponse, None)).valid

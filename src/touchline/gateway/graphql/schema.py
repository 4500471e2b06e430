"""The schema, put together from the planes' types; `web/schema.graphql` is what it must print."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache

import strawberry
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from touchline.kernel import InvalidInput, Scope, parse_artifact_hash

from .analytics import SessionQueries
from .audit import AuditQueries
from .clips import CLIP, Clip, ClipMutations, ClipQueries, ClipSubscriptions, find_clip
from .context import Info
from .jobs import JobMutations, JobQueries, JobSubscriptions
from .lifecycle import LifecycleQueries, LifecycleSubscriptions
from .limits import OperationLimits
from .pages import Node, parse_global_id
from .playback import PlaybackMutations, PlaybackQueries
from .process import ProcessQueries
from .recordings import DVR, DvrRecording, RecordingMutations, RecordingQueries, find_recording
from .results import TypedErrors, log_errors
from .search import SearchQueries
from .serve import (
    VOD,
    ArtifactMutations,
    ArtifactQueries,
    UndeleteMutations,
    Vod,
    VodMutations,
    VodQueries,
    VodSubscriptions,
    find_vod,
)
from .storage import StorageMutations, StorageQueries
from .stored import StoredQueries
from .streams import STREAM, Stream, StreamMutations, StreamQueries, find_stream, stream_uuid
from .watch import MatchSubscriptions, WatchQueries

# --- The caller.


@strawberry.type
class Me:
    user_id: strawberry.ID
    email: str
    name: str
    role: str
    tenant_id: strawberry.ID
    tenant_name: str


@strawberry.type
class AccessQueries:
    @strawberry.field
    async def me(self, info: Info) -> Me:
        user, tenant = await info.context.composition.auth.sessions.describe(info.context.principal)
        return Me(
            user_id=strawberry.ID(str(user.id)),
            email=user.email,
            name=user.name,
            role=user.role,
            tenant_id=strawberry.ID(str(tenant.id)),
            tenant_name=tenant.name,
        )


FIND: dict[str, Callable[[Info, str], Awaitable[Node | None]]] = {
    VOD: lambda info, key: find_vod(info, parse_artifact_hash(key)),
    CLIP: lambda info, key: find_clip(info, parse_artifact_hash(key)),
    DVR: lambda info, key: find_recording(info, parse_artifact_hash(key)),
    STREAM: lambda info, key: find_stream(info, stream_uuid(key)),
}


@strawberry.type
class Query(
    AccessQueries,
    VodQueries,
    ClipQueries,
    StreamQueries,
    RecordingQueries,
    ArtifactQueries,
    ProcessQueries,
    SearchQueries,
    JobQueries,
    WatchQueries,
    SessionQueries,
    LifecycleQueries,
    AuditQueries,
    StoredQueries,
    PlaybackQueries,
    StorageQueries,
):
    @strawberry.field
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:  # noqa: A002  its name in the schema
        info.context.principal.require(Scope.READ)
        parsed = parse_global_id(id)
        find = FIND.get(parsed[0]) if parsed else None
        if parsed is None or find is None:
            return None
        try:
            return await find(info, parsed[1])
        except InvalidInput:
            return None  # an id that we did not make


@strawberry.type
class Mutation(
    VodMutations,
    ClipMutations,
    StreamMutations,
    RecordingMutations,
    ArtifactMutations,
    UndeleteMutations,
    PlaybackMutations,
    JobMutations,
    StorageMutations,
):
    pass


@strawberry.type
class Subscription(VodSubscriptions, ClipSubscriptions, LifecycleSubscriptions, JobSubscriptions, MatchSubscriptions):
    pass


class Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        log_errors(errors)


@cache
def build_schema() -> Schema:
    """One for all: whom it answers, and within which limits, each request says."""
    return Schema(
        Query,
        Mutation,
        Subscription,
        types=[Vod, Clip, DvrRecording, Stream],
        extensions=[TypedErrors, OperationLimits],
        config=StrawberryConfig(disable_field_suggestions=False),
    )

"""The schema, put together from the planes' types; `web/schema.graphql` is what it must print."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache

import strawberry
from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from touchline.kernel import InvalidInput, Scope, parse_artifact_hash

from . import (
    analytics,
    audit,
    clips,
    context,
    jobs,
    lifecycle,
    limits,
    pages,
    playback,
    process,
    recordings,
    results,
    serve,
    storage,
    stored,
    streams,
    watch,
)

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
    async def me(self, info: context.Info) -> Me:
        user, tenant = await info.context.composition.auth.sessions.describe(info.context.principal)
        return Me(
            user_id=strawberry.ID(str(user.id)),
            email=user.email,
            name=user.name,
            role=user.role,
            tenant_id=strawberry.ID(str(tenant.id)),
            tenant_name=tenant.name,
        )


FIND: dict[str, Callable[[context.Info, str], Awaitable[pages.Node | None]]] = {
    serve.VOD: lambda info, key: serve.find_vod(info, parse_artifact_hash(key)),
    clips.CLIP: lambda info, key: clips.find_clip(info, parse_artifact_hash(key)),
    recordings.DVR: lambda info, key: recordings.find_recording(info, parse_artifact_hash(key)),
    streams.STREAM: lambda info, key: streams.find_stream(info, streams.stream_uuid(key)),
}


@strawberry.type
class Query(
    AccessQueries,
    serve.VodQueries,
    clips.ClipQueries,
    streams.StreamQueries,
    recordings.RecordingQueries,
    serve.ArtifactQueries,
    process.ProcessQueries,
    process.SearchQueries,
    jobs.JobQueries,
    watch.WatchQueries,
    analytics.SessionQueries,
    lifecycle.LifecycleQueries,
    audit.AuditQueries,
    stored.StoredQueries,
    playback.PlaybackQueries,
    storage.StorageQueries,
):
    @strawberry.field
    async def node(self, info: context.Info, id: strawberry.ID) -> pages.Node | None:  # noqa: A002  its name in the schema
        info.context.principal.require(Scope.READ)
        parsed = pages.parse_global_id(id)
        find = FIND.get(parsed[0]) if parsed else None
        if parsed is None or find is None:
            return None
        try:
            return await find(info, parsed[1])
        except InvalidInput:
            return None  # an id that we did not make


@strawberry.type
class Mutation(
    serve.VodMutations,
    clips.ClipMutations,
    streams.StreamMutations,
    recordings.RecordingMutations,
    serve.ArtifactMutations,
    serve.UndeleteMutations,
    playback.PlaybackMutations,
    jobs.JobMutations,
    storage.StorageMutations,
):
    pass


@strawberry.type
class Subscription(
    serve.VodSubscriptions,
    clips.ClipSubscriptions,
    streams.StreamSubscriptions,
    lifecycle.LifecycleSubscriptions,
    jobs.JobSubscriptions,
    watch.MatchSubscriptions,
):
    pass


class Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        results.log_errors(errors)


@cache
def build_schema() -> Schema:
    """One for all: whom it answers, and within which limits, each request says."""
    return Schema(
        Query,
        Mutation,
        Subscription,
        types=[serve.Vod, clips.Clip, recordings.DvrRecording, streams.Stream],
        extensions=[results.TypedErrors, limits.OperationLimits],
        config=StrawberryConfig(disable_field_suggestions=False),
    )

"""What was deleted comes back, of whatever kind it is, until it is purged."""

from __future__ import annotations

from typing import Annotated

import strawberry

from touchline.kernel import Scope
from touchline.kernel.ids import parse_artifact_hash

from .context import Info
from .results import AuthError, ConflictError, NotFoundError, RateLimitError, UnavailableError, answered


@strawberry.type
class UndeletedArtifact:
    artifact_hash: str
    revision: int


UndeleteArtifactResult = Annotated[
    UndeletedArtifact | NotFoundError | AuthError | ConflictError | RateLimitError | UnavailableError,
    strawberry.union("UndeleteArtifactResult"),
]


@strawberry.type
class UndeleteMutations:
    @strawberry.mutation(
        description="A video or clip that was deleted is listed, plays and is found again. A ConflictError: it never "
        "could be played, is being purged, or the same clip was made again. What is not deleted stays as it is."
    )
    async def undelete_artifact(self, info: Info, artifact_hash: str) -> UndeleteArtifactResult:
        return await answered(UndeleteArtifactResult, _undelete(info, artifact_hash))


async def _undelete(info: Info, artifact_hash: str) -> UndeletedArtifact:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    revision = await context.parts.sources.artifacts.undelete_artifact(context.principal, wanted)
    context.parts.media.places.forget(wanted)
    context.changed()
    return UndeletedArtifact(artifact_hash=wanted, revision=revision)

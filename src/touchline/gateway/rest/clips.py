"""`POST /clips`: a clip of a video, asked for in milliseconds. What `createClip` answers, this answers too."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from touchline.contracts.registry import NewClip
from touchline.gateway.clips import naming
from touchline.kernel import Scope
from touchline.kernel.ids import artifact_hash, video_id

from .parts import Parts
from .principals import CurrentPrincipal
from .problems import RESPONSES, RequestBody

router = APIRouter(tags=["clips"], responses=RESPONSES)
FIELDS = {"source_hash": "video_id", "artifact_hash": "video_id", "start_ms": "t_start", "end_ms": "t_end"}
LARGEST = 2**53
Milliseconds = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]


class ClipBody(RequestBody):
    model_config = ConfigDict(extra="forbid")

    video_id: UUID
    t_start: Milliseconds
    t_end: Milliseconds
    padding_ms: Milliseconds | None = None
    title: str = ""
    description: str = ""


class ClipAnswer(BaseModel):
    clip_id: UUID
    status: str


@router.post("/clips", status_code=202)
async def create_clip(body: ClipBody, principal: CurrentPrincipal, parts: Parts) -> ClipAnswer:
    principal.require(Scope.WRITE)
    request = NewClip(
        source_hash=artifact_hash(body.video_id),
        start_ms=body.t_start,
        end_ms=body.t_end,
        padding_ms=body.padding_ms,
        title=body.title,
        description=body.description,
        requested_params=body.model_dump(mode="json", exclude_unset=True),
    )
    with naming(FIELDS):
        created = await parts.graphql.sources.registry.create_clip(principal, request)
    return ClipAnswer(clip_id=video_id(created.clip.artifact_hash), status=created.status)

"""Session facts as a file over plain HTTP: CSV or Parquet, sent while it is being read.

Invariant: what cannot be exported is refused before the first byte; a file that breaks off was interrupted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from touchline.kernel import Scope
from touchline.measure.analytics.export_store import MEDIA_TYPES, ExportFormat, ExportKind, encode_tables
from touchline.measure.analytics.rules import Filter, Metric, Progress

from .parts import Parts
from .principals import CurrentPrincipal
from .problems import RESPONSES

router = APIRouter(tags=["sessions"], responses=RESPONSES)
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA_TYPES.values()},
        "description": "The file. In CSV, a text that would be a formula in a spreadsheet begins with an apostrophe.",
    }
}


class Wanted(BaseModel):
    """Which sessions, as the filters of GraphQL; an empty text: those of which it is not known."""

    model_config = ConfigDict(extra="forbid")

    format: ExportFormat = ExportFormat.CSV
    kind: ExportKind = ExportKind.SESSIONS
    since: datetime | None = Field(default=None, alias="from")
    until: datetime | None = Field(default=None, alias="to")
    workflow_type: str | None = None
    gateway: str | None = None
    orchestrator: str | None = None
    model: str | None = None
    gpu: str | None = None
    outcome: Progress | None = None
    swapped: bool | None = None
    failed: bool | None = None
    search: str | None = None
    metric: Metric | None = None
    at_least_ms: float | None = None
    below_ms: float | None = None

    @property
    def filter(self) -> Filter:
        return Filter(**self.model_dump(exclude={"format", "kind"}))


@router.get("/sessions/export", response_class=StreamingResponse, responses=FILES)
async def export(wanted: Annotated[Wanted, Query()], principal: CurrentPrincipal, parts: Parts) -> StreamingResponse:
    """All columns of the facts about some sessions: of the sessions, their segments or their parameter updates."""
    principal.require(Scope.READ)
    tables = await parts.graphql.sources.sessions.export(principal.tenant_id, wanted.filter, wanted.kind)
    name = f"{wanted.kind}.{wanted.format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(
        encode_tables(tables, wanted.format), media_type=MEDIA_TYPES[wanted.format], headers=headers
    )

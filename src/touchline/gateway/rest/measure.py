"""`POST /events` ingests events from outside; `GET /sessions/export` sends session facts as CSV or Parquet.

Invariant: events are stored before they are acknowledged, and the same request again is the same delivery: it answers
the same and changes nothing. What cannot be exported is refused before the first byte.
"""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from touchline.gateway.composition import Gateway
from touchline.kernel import InvalidInput, LimitExceeded, Scope, format_bytes
from touchline.measure.analytics.export_store import MEDIA_TYPES, ExportFormat, ExportKind, encode_tables
from touchline.measure.analytics.rules import Filter, Metric, Progress
from touchline.measure.ingest.records import decompress, split_body
from touchline.measure.ingest.rules import Delivery, Receipt
from touchline.measure.settings import IngestSettings

from .callers import RESPONSES, CurrentPrincipal

event_router = APIRouter(tags=["events"], responses=RESPONSES)
PATH = "/events"
SOURCE = "http"
_KEY = re.compile(r"[!-~]{1,200}")
_TEXT = {"type": "string"}
_EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["type", "timestamp", "data"],
    "properties": {
        "id": _TEXT,
        "type": _TEXT,
        "timestamp": {"type": "integer", "description": "Milliseconds since 1970, as a number or a string of digits."},
        "gateway": _TEXT,
        "data": {"description": "The payload of the type: an object, an array, or a string with the JSON of either."},
    },
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "One event, an array of events, or one event per line (JSON lines). "
        "`Content-Encoding: gzip` is accepted.",
        "content": {"application/json": {"schema": _EVENT}},
    }
}


class CountersAnswer(BaseModel):
    raw: int
    accepted: int
    duplicate: int
    ignored: int
    quarantined: int


class DeliveryAnswer(BaseModel):
    """The counters are of this delivery on its own: raw = accepted + duplicate + ignored + quarantined."""

    batch_id: str
    repeated: bool
    counters: CountersAnswer
    quarantine: dict[str, int]


@event_router.post(PATH, status_code=202, openapi_extra=_BODY)
async def deliver_events(request: Request, principal: CurrentPrincipal, gateway: Gateway) -> DeliveryAnswer:
    """The header `Idempotency-Key` names the delivery; without it its content does. The same again changes nothing."""
    principal.require(Scope.WRITE)
    idempotency_key = request.headers.get("idempotency-key", "")
    if idempotency_key and not _KEY.fullmatch(idempotency_key):
        raise InvalidInput("not a valid key", field="Idempotency-Key", why="it must have 1 to 200 printable characters")
    body = await request.body()
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    delivery = await asyncio.to_thread(_delivery, body, encoding, idempotency_key, gateway.ingest.settings)
    return _answer(await gateway.ingest.take(principal.tenant_id, delivery))


def _delivery(body: bytes, encoding: str, key: str, settings: IngestSettings) -> Delivery:
    if encoding in {"gzip", "x-gzip"}:
        body = decompress(body, settings.max_unpacked)
    elif encoding != "identity":
        raise InvalidInput("this encoding is not supported", field="Content-Encoding", why="use gzip or no encoding")
    if len(body) > settings.max_unpacked:
        raise LimitExceeded("the body is too large", why=f"the limit is {format_bytes(settings.max_unpacked)}")
    records = split_body(body, settings.max_records)
    return Delivery(f"key:{key}" if key else f"sha256:{sha256(body).hexdigest()}", SOURCE, records)


def _answer(receipt: Receipt) -> DeliveryAnswer:
    counted = receipt.counted
    return DeliveryAnswer(
        batch_id=receipt.batch_id,
        repeated=receipt.repeated,
        counters=CountersAnswer.model_validate(counted.counters, from_attributes=True),
        quarantine=dict(counted.reasons),
    )


# --- Export of session facts. It is sent while it is being read: a file that breaks off was interrupted.

session_router = APIRouter(tags=["sessions"], responses=RESPONSES)
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA_TYPES.values()},
        "description": "The file. In CSV, text that a spreadsheet would run as a formula starts with an apostrophe.",
    }
}


class ExportQuery(BaseModel):
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


@session_router.get("/sessions/export", response_class=StreamingResponse, responses=FILES)
async def export(
    wanted: Annotated[ExportQuery, Query()], principal: CurrentPrincipal, gateway: Gateway
) -> StreamingResponse:
    """All columns of the facts about some sessions: of the sessions, their segments or their parameter updates."""
    principal.require(Scope.READ)
    tables = await gateway.graphql.sources.sessions.export(principal.tenant_id, wanted.filter, wanted.kind)
    name = f"{wanted.kind}.{wanted.format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(
        encode_tables(tables, wanted.format), media_type=MEDIA_TYPES[wanted.format], headers=headers
    )

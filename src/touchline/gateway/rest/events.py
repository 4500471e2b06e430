"""`POST /events`: events from outside, one or many, stored before they are acknowledged.

Invariant: the same request again is the same delivery: it answers the same and changes nothing. What nobody can read
is kept and counted with the rest.
"""

from __future__ import annotations

import asyncio
import re
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel

from touchline.kernel import Scope
from touchline.kernel.errors import InvalidInput, LimitExceeded
from touchline.kernel.values import format_bytes
from touchline.measure.ingest.records import decompress, split_body
from touchline.measure.ingest.rules import Delivery, Receipt
from touchline.measure.ingest.settings import IngestSettings

from .parts import Parts
from .principals import CurrentPrincipal
from .problems import RESPONSES

router = APIRouter(tags=["events"], responses=RESPONSES)
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
        "timestamp": {"type": "integer", "description": "Epoch milliseconds; a text of digits as well."},
        "gateway": _TEXT,
        "data": {"description": "What the type says: an object, an array, or the JSON text of either."},
    },
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "One event, an array of them, or one a line (JSON lines). `Content-Encoding: gzip` is taken.",
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


@router.post(PATH, status_code=202, openapi_extra=_BODY)
async def deliver_events(request: Request, principal: CurrentPrincipal, parts: Parts) -> DeliveryAnswer:
    """The header `Idempotency-Key` names the delivery; without it its content does. The same again changes nothing."""
    principal.require(Scope.WRITE)
    idempotency_key = request.headers.get("idempotency-key", "")
    if idempotency_key and not _KEY.fullmatch(idempotency_key):
        raise InvalidInput("not a key", field="Idempotency-Key", why="it is 1 to 200 visible characters")
    body = await request.body()
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    delivery = await asyncio.to_thread(_delivery, body, encoding, idempotency_key, parts.ingest.settings)
    return _answer(await parts.ingest.take(principal.tenant_id, delivery))


def _delivery(body: bytes, encoding: str, key: str, settings: IngestSettings) -> Delivery:
    if encoding in {"gzip", "x-gzip"}:
        body = decompress(body, settings.max_unpacked)
    elif encoding != "identity":
        raise InvalidInput("this encoding is not known", field="Content-Encoding", why="gzip is, and none")
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

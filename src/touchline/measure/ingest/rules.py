"""What an event of the log says about an artifact. Pure.

Invariant: nothing is concluded here. A row holds what its event says, and null for the rest.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from touchline.contracts.events import PAYLOADS, Event, Payload
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, OriginalStored
from touchline.contracts.events.videos import VideoFailed, VideoProgressed, VideoRetried, VideoTranscoded
from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import parse_artifact_hash
from touchline.measure.lifecycle.model import CONTEXT_NAMES, FACT_NAMES, ArtifactEvent, Context, Facts

READ: tuple[type[Payload], ...] = (
    ArtifactRegistered,
    ArtifactLifecycle,
    OriginalStored,
    VideoProgressed,
    VideoTranscoded,
    VideoFailed,
    VideoRetried,
)
TYPES = frozenset(payload.event_type for payload in READ)


def artifact_event(event: Event) -> ArtifactEvent:
    """Fields of the payload that have the name of a column, and what goes without saying."""
    payload = _payload(event)
    said = payload.model_dump() | _implied(payload)
    return ArtifactEvent(
        event_id=event.id,
        position=event.position,
        artifact_hash=parse_artifact_hash(said["artifact_hash"]),
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        facts=Facts(**{name: value for name, value in said.items() if name in FACT_NAMES}),
        error_code=said.get("error_code"),
        error_message=said.get("error_message"),
        context=Context(**{name: value for name, value in said.items() if name in CONTEXT_NAMES}),
    )


def _implied(payload: Payload) -> dict[str, Any]:
    """A job that failed says nothing of the artifact's stage: whether that ends it is for the artifact's owner."""
    match payload:
        case ArtifactRegistered():
            return {"stage": "requested"}
        case ArtifactLifecycle(status=status):
            return {"stage": status}
        case OriginalStored():
            return {"synced": True}  # it is announced once the object was verified
        case _:
            return {}


def _payload(event: Event) -> Payload:
    try:
        return PAYLOADS[event.type].model_validate(event.data)
    except ValidationError as error:
        wrong = [".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)]
        raise InvalidInput(f"{event.type} cannot be read", field=wrong[0], why=f"wrong: {', '.join(wrong)}") from None

"""The events that cross planes: one envelope, typed payloads."""

from . import access, artifacts, playback, streams, videos, watch
from .envelope import Envelope, Event, Payload

PAYLOADS: dict[str, type[Payload]] = {
    payload.event_type: payload
    for payload in (
        *access.PAYLOADS,
        *artifacts.PAYLOADS,
        *playback.PAYLOADS,
        *streams.PAYLOADS,
        *videos.PAYLOADS,
        *watch.PAYLOADS,
    )
}
"""Every payload by its event type. What is not in here has no schema snapshot and must not be announced."""

__all__ = ["PAYLOADS", "Envelope", "Event", "Payload"]

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from touchline.contracts.registry import LiveSession, Stream
from touchline.gateway.graphql.streams import StreamState, state_of
from touchline.kernel import InternalName, PlaybackId, UserId

NOON = datetime(2026, 1, 9, 12, 0, tzinfo=UTC)
IDLE = Stream(
    id=UUID(int=1),
    playback_id=PlaybackId("abcdefgh01234567"),
    internal_name=InternalName("x"),
    user_id=UserId(UUID(int=2)),
    title="The derby",
    description="",
    record=False,
    created_at=NOON,
    key_rotated_at=NOON,
    live_since=None,
    suspended_at=None,
    revision=1,
)
ADMITTED = LiveSession(UUID(int=3), "node", NOON)
PLAYABLE = replace(ADMITTED, playable_at=NOON)


@pytest.mark.parametrize(
    ("stream", "state"),
    [
        (IDLE, StreamState.IDLE),
        (replace(IDLE, live=ADMITTED), StreamState.STARTING),
        (replace(IDLE, live=PLAYABLE), StreamState.LIVE),
        (replace(IDLE, live=replace(PLAYABLE, broken_at=NOON)), StreamState.INTERRUPTED),
        (replace(IDLE, live=replace(ADMITTED, broken_at=NOON)), StreamState.INTERRUPTED),
        (replace(IDLE, suspended_at=NOON), StreamState.SUSPENDED),
        (replace(IDLE, suspended_at=NOON, live=PLAYABLE), StreamState.SUSPENDED),
    ],
)
def test_the_state_of_a_stream(stream: Stream, state: StreamState) -> None:
    assert state_of(stream) is state

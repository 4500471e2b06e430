"""Which session a stream has: what nodes ask and report, and what becomes of a node that falls silent."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from touchline.contracts.registry import LiveHealth, NewStream, Stream, StreamChange, StreamWithKey
from touchline.kernel import Conflict, Forbidden, TenantId
from touchline.serve.playback.suspension import SuspendedTenants
from touchline.serve.streams.sessions import Admitted, Publishing, ReportedState, ReportedStream, StreamSessions
from touchline.serve.streams.store import SessionPlace

from .conftest import World, nobody_suspended

HEALTH = LiveHealth(3_000_000, 25.0, 2, 2000, 120, 1280, 720)
PUBLISHING = ReportedState.PUBLISHING


@pytest.fixture
def sessions(world: World) -> StreamSessions:
    environment = world.environment
    suspended = SuspendedTenants(nobody_suspended, world.clock)
    return StreamSessions(environment.database, environment.settings, world.clock, suspended)


async def created(world: World) -> StreamWithKey:
    return await world.registry.create_stream(world.ours, NewStream(uuid4().hex, "The derby"))


async def row(world: World, stream: Stream) -> Stream:
    [found] = await world.registry.streams(world.ours, [stream.id])
    return found


def asked(made: StreamWithKey, node_id: str = "node-1", *, may_replace: bool = False) -> Publishing:
    return Publishing(node_id, str(made.key), uuid4(), may_replace)


def report(admitted: Admitted, state: ReportedState = PUBLISHING, node_id: str = "node-1") -> ReportedStream:
    place = SessionPlace(admitted.tenant_id, admitted.stream_id, admitted.session_id, node_id)
    return ReportedStream(place, state, playable=True, health=HEALTH)


async def events(world: World, stream: Stream) -> list[tuple[str, int]]:
    async with world.environment.database.system("test: read events") as transaction:
        query = "SELECT type, revision FROM platform.event_inbox WHERE key = %s ORDER BY sequence"
        cursor = await transaction.connection.execute(query, (f"stream:{stream.id}",))
        return [(row[0].removeprefix("stream."), row[1]) for row in await cursor.fetchall()]


async def test_the_life_of_a_session(world: World, sessions: StreamSessions) -> None:
    made = await created(world)
    admitted = await sessions.authorize(asked(made))
    assert await sessions.reported([report(admitted)]) == []
    live = (await row(world, made.stream)).live
    assert live
    assert (live.session_id, live.node_id, live.health) == (admitted.session_id, "node-1", HEALTH)
    assert live.playable_at
    before = (await row(world, made.stream)).revision
    await sessions.reported([report(admitted)])
    assert (await row(world, made.stream)).revision == before, "nothing that people wait for"
    await sessions.reported([report(admitted, ReportedState.BROKEN)])
    assert (await sessions.authorize(asked(made))).session_id == admitted.session_id
    ended = replace(report(admitted, ReportedState.ENDED), reason="refused", problem="its video is hevc")
    await sessions.reported([ended])
    assert await sessions.reported([ended]) == []
    found = await row(world, made.stream)
    assert (found.live, found.live_problem) == (None, "its video is hevc")
    told = await events(world, made.stream)
    assert [name for name, _ in told] == ["created", "live", "playable", "interrupted", "resumed", "ended"]
    assert [revision for _, revision in told] == sorted({revision for _, revision in told})


async def test_a_key_publishes_at_one_node(world: World, sessions: StreamSessions) -> None:
    made = await created(world)
    first = await sessions.authorize(asked(made))
    with pytest.raises(Conflict, match="has a publisher already"):
        await sessions.authorize(asked(made, "node-2"))
    second = await sessions.authorize(asked(made, "node-2", may_replace=True))
    assert second.session_id != first.session_id
    [stale] = await sessions.reported([report(first)])
    assert stale.session_id == first.session_id
    assert await sessions.reported([report(first, ReportedState.ENDED)]) == []
    assert await sessions.current("node-1") == frozenset()
    assert await sessions.current("node-2") == {second.session_id}


async def test_who_came_back_to_another_node_goes_on_there(world: World, sessions: StreamSessions) -> None:
    made = await created(world)
    first = await sessions.authorize(asked(made))
    await sessions.reported([report(first, ReportedState.BROKEN)])
    second = await sessions.authorize(asked(made, "node-2"))
    assert second.session_id == first.session_id
    assert len(await sessions.reported([report(first, ReportedState.BROKEN)])) == 1


async def test_a_silent_node_loses_its_streams_and_gets_them_back(world: World, sessions: StreamSessions) -> None:
    made = await created(world)
    admitted = await sessions.authorize(asked(made))
    world.later(seconds=16)
    await sessions.end_silent()
    assert (await row(world, made.stream)).live is None
    assert await sessions.reported([report(admitted)]) == []
    live = (await row(world, made.stream)).live
    assert live
    assert live.session_id == admitted.session_id
    world.later(seconds=16)
    await sessions.end_silent()
    elsewhere = await sessions.authorize(asked(made, "node-2"))
    assert len(await sessions.reported([report(admitted)])) == 1
    assert await sessions.current("node-2") == {elsewhere.session_id}


async def test_a_process_that_has_just_begun_ends_nothing(world: World, sessions: StreamSessions) -> None:
    """After a while without it, its nodes have not found it yet."""
    made = await created(world)
    await sessions.authorize(asked(made))
    world.later(seconds=600)
    settings = world.environment.settings
    suspended = SuspendedTenants(nobody_suspended, world.clock)
    again = StreamSessions(world.environment.database, settings, world.clock, suspended)
    await again.end_silent()
    assert (await row(world, made.stream)).live


@pytest.mark.parametrize("how", ["rotate", "suspend", "delete"])
async def test_who_takes_the_key_away_ends_the_session(world: World, sessions: StreamSessions, how: str) -> None:
    made = await created(world)
    admitted = await sessions.authorize(asked(made))
    match how:
        case "rotate":
            await world.registry.rotate_stream_key(world.ours, made.stream.id)
        case "suspend":
            await world.registry.update_stream(world.ours, made.stream.id, StreamChange(suspended=True))
        case _:
            await world.registry.delete_stream(world.ours, made.stream.id)
    assert len(await sessions.reported([report(admitted)])) == 1
    assert await sessions.current("node-1") == frozenset()
    assert (await events(world, made.stream))[-1][0] == "ended"
    with pytest.raises(Forbidden):
        await sessions.authorize(asked(made))


async def test_a_suspended_tenant_publishes_nothing(world: World) -> None:
    async def suspended() -> frozenset[TenantId]:
        return frozenset({world.ours.tenant_id})

    environment = world.environment
    sessions = StreamSessions(
        environment.database, environment.settings, world.clock, SuspendedTenants(suspended, world.clock)
    )
    with pytest.raises(Forbidden):
        await sessions.authorize(asked(await created(world)))


async def test_another_tenants_stream_is_not_touched_by_a_report(world: World, sessions: StreamSessions) -> None:
    admitted = await sessions.authorize(asked(await created(world)))
    foreign = replace(admitted, tenant_id=world.theirs.tenant_id)
    assert len(await sessions.reported([report(foreign)])) == 1
    assert await sessions.current("node-1") == {admitted.session_id}

"""Streams, their keys and recordings, and what changes of artifacts of any kind."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from touchline.contracts.artifacts import ArtifactStatus, RecordingState
from touchline.contracts.registry import (
    ArtifactChange,
    NewRecording,
    NewStream,
    Recording,
    RowKey,
    RowWindow,
    Stream,
    StreamChange,
    TenantSettings,
)
from touchline.kernel import (
    ArtifactHash,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Principal,
    QuotaExceeded,
    Role,
    Unavailable,
)
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import Artifact, EndedRecording, Reason
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.recordings.service import RecordingService
from touchline.serve.streams.store import StreamStore

from .conftest import World, another_process, both_ways

pytestmark = both_ways


def new(**more: Any) -> NewStream:
    return replace(NewStream(uuid4().hex, "The derby"), **more)


async def live(world: World, caller: Principal | None = None) -> Stream:
    """As its node will report it."""
    stream = (await world.registry.create_stream(caller or world.ours, new())).stream
    async with world.environment.database.transaction(caller or world.ours) as transaction:
        assert await StreamStore(transaction).publish(stream.id, "node-1", uuid4(), world.clock.now())
    return stream


async def recording(world: World, **more: Any) -> Recording:
    """That goes on: its first media are there."""
    started = await world.registry.start_dvr(world.ours, NewRecording((await live(world)).id, **more))
    async with world.environment.database.transaction(world.ours) as transaction:
        now, key = world.clock.now(), "videos/dvr/growing.m3u8"
        begun = await transitions.begin_recording(transaction, started.recording.artifact_hash, now, key)
        assert begun
    return started.recording


async def ended(world: World, one: Recording, *, is_partial: bool = False) -> None:
    end = EndedRecording(world.clock.now(), 5000, 60_000, is_partial)
    async with world.environment.database.transaction(world.ours) as transaction:
        assert await transitions.end_recording(transaction, one.artifact_hash, end)


async def artifact(world: World, artifact_hash: ArtifactHash) -> Artifact:
    async with world.environment.database.transaction(world.ours) as transaction:
        found = await ArtifactStore(transaction).find(artifact_hash)
    assert found
    return found


async def seen(world: World, one: Recording) -> Recording:
    [found] = await world.registry.recordings(world.ours, [one.artifact_hash])
    return found


async def stream_events(world: World, stream_id: UUID) -> list[str]:
    async with world.environment.database.system("test: read events") as transaction:
        cursor = await transaction.connection.execute(
            "SELECT type FROM platform.event_inbox WHERE key = %s ORDER BY sequence", (f"stream:{stream_id}",)
        )
        return [row[0] for row in await cursor.fetchall()]


# --- streams


async def test_a_key_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    request = new(record=True)
    created = await world.registry.create_stream(world.ours, request)
    stream, key = created.stream, created.key
    assert key
    assert (stream.title, stream.record, stream.live_since) == ("The derby", True, None)
    assert (await world.registry.resolve_stream_key(key)).stream == stream
    again = await world.registry.create_stream(world.ours, request)
    assert (again.stream, again.key) == (stream, None)
    rotated = await world.registry.rotate_stream_key(world.ours, stream.id)
    assert rotated.key
    for refused in (key, key[:-1], "", "tlk_" + "A" * 43, "\0" * 47):
        with pytest.raises(Forbidden):
            await world.registry.resolve_stream_key(refused)
    assert (await world.registry.resolve_stream_key(rotated.key)).tenant_id == world.ours.tenant_id
    async with world.environment.database.transaction(world.ours) as transaction:
        rows = await (await transaction.connection.execute("SELECT key_hash FROM serve.streams")).fetchall()
    assert [bytes(row[0]) for row in rows] == [hashlib.sha256(rotated.key.encode()).digest()]
    assert rotated.key not in repr(rotated)
    assert await stream_events(world, stream.id) == ["stream.created", "stream.key_rotated"]


async def test_a_key_is_for_one_request_however_many_ask(world: World) -> None:
    request = new()
    async with another_process(world) as other:
        clients = [world.registry, other.registry] * 4
        answers = await asyncio.gather(*(one.create_stream(world.ours, request) for one in clients))
    assert len({one.stream.id for one in answers}) == 1
    assert len([one.key for one in answers if one.key]) == 1
    assert await world.rows("streams") == 1
    for change in ({"title": "Another"}, {"record": True}, {"description": "x"}):
        with pytest.raises(InvalidInput) as caught:
            await world.registry.create_stream(world.ours, replace(request, **change))
        assert caught.value.field == "idempotency_key"
        assert next(iter(change)) in caught.value.why
    await world.registry.update_stream(world.ours, answers[0].stream.id, StreamChange(title="Another"))
    assert (await world.registry.create_stream(world.ours, request)).stream.title == "Another"
    await world.registry.delete_stream(world.ours, answers[0].stream.id)
    with pytest.raises(Conflict):
        await world.registry.create_stream(world.ours, request)


async def test_a_suspended_or_deleted_stream_refuses_its_key(world: World) -> None:
    created = await world.registry.create_stream(world.ours, new())
    stream, key = created.stream, created.key or ""
    suspended = await world.registry.update_stream(world.ours, stream.id, StreamChange(suspended=True))
    assert suspended.suspended_at == world.clock.now()
    with pytest.raises(Forbidden):
        await world.registry.resolve_stream_key(key)
    for _ in range(2):  # the second changes nothing, and tells nothing
        await world.registry.update_stream(world.ours, stream.id, StreamChange(suspended=False))
    assert (await world.registry.resolve_stream_key(key)).stream.suspended_at is None
    for _ in range(2):
        await world.registry.delete_stream(world.ours, stream.id)
    with pytest.raises(Forbidden):
        await world.registry.resolve_stream_key(key)
    assert await world.registry.streams(world.ours, [stream.id]) == []
    assert await stream_events(world, stream.id) == [
        *("stream.created", "stream.updated", "stream.updated", "stream.deleted")
    ]
    with pytest.raises(NotFound):
        await world.registry.update_stream(world.ours, stream.id, StreamChange(title="x"))


async def test_streams_are_listed_page_by_page_and_bounded(world: World) -> None:
    made: list[Stream] = []
    for _ in range(3):
        world.later(seconds=1)
        made.insert(0, (await world.registry.create_stream(world.ours, new())).stream)
    await world.registry.create_stream(world.theirs, new())
    page = await world.registry.listed_streams(world.ours, RowWindow(size=2))
    assert (list(page.streams), page.has_next, page.has_previous, page.total_count) == (made[:2], True, False, 3)
    place = RowKey(page.streams[-1].created_at, page.streams[-1].artifact_hash)
    rest = await world.registry.listed_streams(world.ours, RowWindow(size=2, after=place))
    assert (list(rest.streams), rest.has_next, rest.has_previous) == (made[2:], False, True)
    async with another_process(world, most_streams=3) as small:
        with pytest.raises(QuotaExceeded):
            await small.registry.create_stream(world.ours, new())
        await small.registry.create_stream(world.theirs, new())


@pytest.mark.parametrize(
    "change", [{"title": ""}, {"title": "x" * 256}, {"description": "a\0"}, {"idempotency_key": ""}]
)
async def test_what_cannot_be_a_stream_names_its_field(world: World, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        await world.registry.create_stream(world.ours, replace(new(), **change))
    assert caught.value.field == next(iter(change))
    assert await world.rows("streams") == await world.rows("identities") == 0


async def test_a_streams_public_ids_are_none_of_an_artifact(world: World) -> None:
    stream = (await world.registry.create_stream(world.ours, new())).stream
    found = await world.registry.resolve_playback_id(stream.playback_id, world.ours)
    assert (found.artifact_type, found.artifact_hash) == (None, stream.id.hex)
    for caller in (None, world.theirs):
        with pytest.raises(NotFound):
            await world.registry.resolve_playback_id(stream.playback_id, caller)
    with pytest.raises(NotFound):
        await world.registry.resolve_internal_name(stream.internal_name)


# --- recordings


async def test_a_stream_that_is_not_live_is_not_recorded(world: World) -> None:
    stream = (await world.registry.create_stream(world.ours, new())).stream
    with pytest.raises(Conflict, match="not live"):
        await world.registry.start_dvr(world.ours, NewRecording(stream.id, idempotency_key="once"))
    assert await world.rows("dvr_recordings") == await world.rows("idempotency_keys") - 1 == 0
    with pytest.raises(NotFound):
        await world.registry.start_dvr(world.theirs, NewRecording((await live(world)).id))


async def test_a_stream_has_one_recording_at_a_time(world: World) -> None:
    stream = await live(world)
    async with another_process(world) as other:
        clients = [world.registry, other.registry] * 4
        keyed = [NewRecording(stream.id, idempotency_key=f"key {number % 3}") for number in range(8)]
        answers = await asyncio.gather(
            *(client.start_dvr(world.ours, one) for client, one in zip(clients, keyed, strict=True))
        )
    [dvr_hash] = {one.recording.artifact_hash for one in answers}
    assert {one.status for one in answers} == {ArtifactStatus.STARTING}
    assert (await world.rows("dvr_recordings"), await world.rows("artifacts")) == (1, 1)
    recording = answers[0].recording
    assert recording.stream_name == stream.internal_name
    assert recording.title.startswith("The derby 2026-03-31")
    with pytest.raises(InvalidInput) as caught:
        await world.registry.start_dvr(world.ours, NewRecording(stream.id, title="x", idempotency_key="key 1"))
    assert (caught.value.field, caught.value.why) == ("idempotency_key", "it was used with another title")
    assert (await world.registry.resolve_dvr_hash(dvr_hash)).stream_id == stream.id
    with pytest.raises(NotFound):
        await world.registry.resolve_dvr_hash(dvr_hash, world.theirs)
    with pytest.raises(NotFound):
        await world.registry.resolve_clip_hash(dvr_hash)


@pytest.mark.parametrize("is_partial", [False, True])
async def test_from_the_start_of_a_recording_to_its_end(world: World, is_partial: bool) -> None:
    one = await recording(world)
    world.later(hours=1)
    for _ in range(2):
        assert (await world.registry.stop_dvr(world.ours, one.artifact_hash)).status is ArtifactStatus.STOPPING
    assert (await artifact(world, one.artifact_hash)).retention_until is None, "what goes on never expires"
    world.later(minutes=1)
    await ended(world, one, is_partial=is_partial)
    final = ArtifactStatus.COMPLETED_PARTIAL if is_partial else ArtifactStatus.COMPLETED
    until = world.clock.now() + timedelta(days=30)
    now = await artifact(world, one.artifact_hash)
    assert (now.status, now.ended_at, now.retention_until, now.size_bytes) == (final, world.clock.now(), until, 5000)
    record = await seen(world, one)
    assert (record.ended_at, record.expires_at) == (now.ended_at, until)
    assert (await world.registry.stop_dvr(world.ours, one.artifact_hash)).status is final, "it has ended"
    another = await world.registry.start_dvr(world.ours, NewRecording(one.stream_id))
    assert another.recording.artifact_hash != one.artifact_hash
    await world.registry.delete_dvr(world.ours, one.artifact_hash)
    end = EndedRecording(world.clock.now(), 1, 1, is_partial=False)
    async with world.environment.database.transaction(world.ours) as transaction:
        assert await transitions.end_recording(transaction, one.artifact_hash, end) is None, "a late done"
    await world.artifacts.undelete_artifact(world.ours, one.artifact_hash)
    assert (await artifact(world, one.artifact_hash)).status is final
    told = [event["status"] for event in await world.events(one)]
    assert told == ["starting", "recording", "stopping", str(final), "deleted", str(final)]


async def test_a_recording_that_failed_frees_its_stream(world: World) -> None:
    one = await recording(world)
    async with world.environment.database.transaction(world.ours) as transaction:
        until, leaving = world.clock.now() + timedelta(days=30), (ArtifactStatus.RECORDING,)
        assert await transitions.fail(transaction, one.artifact_hash, Reason("lost", "the node"), leaving, until)
    assert (await seen(world, one)).expires_at == until
    again = await world.registry.start_dvr(world.ours, NewRecording(one.stream_id))
    assert again.recording.artifact_hash != one.artifact_hash


async def test_a_stream_that_is_suspended_or_deleted_is_recorded_no_more(world: World) -> None:
    one, other = await recording(world), await recording(world)
    await world.registry.update_stream(world.ours, one.stream_id, StreamChange(suspended=True))
    await world.registry.delete_stream(world.ours, other.stream_id)
    for stopped in (one, other):
        assert (await artifact(world, stopped.artifact_hash)).status is ArtifactStatus.STOPPING
    stream = await live(world)
    await world.registry.update_stream(world.ours, stream.id, StreamChange(suspended=True))
    with pytest.raises(Conflict, match="suspended"):
        await world.registry.start_dvr(world.ours, NewRecording(stream.id))


class Broken:
    """An artifacts role that does not answer."""

    async def start_dvr(self, caller: Principal, dvr_hash: ArtifactHash) -> RecordingState:
        raise Unavailable("the artifacts role is away")

    async def stop_dvr(self, caller: Principal, dvr_hash: ArtifactHash) -> RecordingState:
        raise AssertionError

    async def delete_artifact(self, caller: Principal, artifact_hash: ArtifactHash) -> int:
        raise AssertionError


async def test_a_second_step_that_fails_leaves_the_record_and_the_same_key_continues_it(world: World) -> None:
    environment, wanted = world.environment, NewRecording((await live(world)).id, idempotency_key="once")
    broken = RecordingService(environment.database, Broken(), environment.settings, world.clock)
    with pytest.raises(Unavailable):
        await broken.start(world.ours, wanted)
    [half] = (await world.registry.listed_dvr_requests(world.ours)).recordings
    assert [event["status"] for event in await world.events(half)] == ["failed"]
    assert half.expires_at == world.clock.now() + timedelta(days=30)
    started = await world.registry.start_dvr(world.ours, wanted)
    assert (started.recording.artifact_hash, started.status) == (half.artifact_hash, ArtifactStatus.STARTING)
    assert started.recording.expires_at is None


async def test_a_registered_recording_ends_when_nobody_starts_it(world: World) -> None:
    stream = (await world.registry.create_stream(world.ours, new())).stream
    registered = await world.registry.register_dvr(world.ours, NewRecording(stream.id))
    assert await world.registry.register_dvr(world.ours, NewRecording(stream.id)) == registered
    page = await world.registry.listed_dvr_requests(world.ours, stream_id=stream.id)
    assert (list(page.recordings), page.total_count) == ([registered], 1)
    assert (await world.registry.listed_dvr_requests(world.ours, stream_id=uuid4())).total_count == 0
    world.later(minutes=11)
    await world.parts.unplaced.run_pass()
    [told] = await world.events(registered)
    assert (told["status"], told["error_code"]) == ("failed", "recording_abandoned")
    assert await world.registry.register_dvr(world.ours, NewRecording(stream.id)) != registered
    await world.registry.delete_dvr(world.ours, registered.artifact_hash)
    assert await world.registry.recordings(world.ours, [registered.artifact_hash]) == []


# --- what changes of artifacts of any kind


async def test_words_and_pins_of_an_upload_and_a_recording(world: World) -> None:
    upload, one = await world.create(title="Before"), await recording(world)
    for artifact_hash, event_of in ((upload.artifact_hash, upload), (one.artifact_hash, one)):
        change = ArtifactChange(" A  new title ", "Two\nlines", pinned=True)
        changed = await world.registry.update_artifact(world.ours, artifact_hash, change)
        assert (changed.title, changed.description, changed.pinned) == ("A new title", "Two\nlines", True)
        again = await world.registry.update_artifact(world.ours, artifact_hash, change)
        assert again == changed, "nothing changes"
        [renamed] = await world.events(event_of, "artifact.renamed")
        assert (renamed["title"], renamed["artifact_type"], renamed["revision"]) == (
            "A new title",
            changed.artifact_type,
            changed.title_revision,
        )
        [pinned] = await world.events(event_of, "artifact.pinned")
        assert (pinned["pinned"], pinned["actor"]) == (True, world.ours.actor)
        unpinned = await world.registry.update_artifact(world.ours, artifact_hash, ArtifactChange(pinned=False))
        assert (unpinned.pinned, unpinned.title) == (False, "A new title")
    [listed] = await world.registry.uploads(world.ours, [upload.artifact_hash])
    assert (listed.title, listed.description, listed.pinned) == ("A new title", "Two\nlines", False)
    with pytest.raises(InvalidInput) as caught:
        await world.registry.update_artifact(world.ours, upload.artifact_hash, ArtifactChange(title=" "))
    assert caught.value.field == "title"


async def test_how_long_things_are_kept_is_resolved_once(world: World) -> None:
    admin = replace(world.ours, role=Role.ADMIN)
    week, day = timedelta(days=7), timedelta(days=1)
    assert (await world.registry.tenant_settings(world.ours)).retention is None
    for _ in range(2):
        await world.registry.update_tenant_settings(admin, TenantSettings(week))
    assert (await world.registry.tenant_settings(world.ours)).retention == week
    assert (await world.registry.tenant_settings(world.theirs)).retention is None
    tenants, asked = await recording(world), await recording(world, retention=day)
    await world.registry.update_tenant_settings(admin, TenantSettings(None))
    default = await recording(world)
    for one, kept in ((tenants, week), (asked, day), (default, timedelta(days=30))):
        await ended(world, one)
        assert (await seen(world, one)).expires_at == world.clock.now() + kept
        assert (await artifact(world, one.artifact_hash)).retention == kept
    for wrong in (timedelta(0), timedelta(seconds=1), timedelta(days=40_000), timedelta(days=-1)):
        with pytest.raises(InvalidInput) as caught:
            await world.registry.update_tenant_settings(admin, TenantSettings(wrong))
        assert caught.value.field == "retention_seconds"
    with pytest.raises(Forbidden):
        await world.registry.update_tenant_settings(world.ours, TenantSettings(week))

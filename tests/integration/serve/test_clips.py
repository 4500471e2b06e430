"""Clips as the registry keeps them: asked for, cut by others, ready, failed, expired."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.videos import ClipFailed, ClipMade, VideoProgressed, VideoRetried
from touchline.contracts.registry import Clip, ClipFilter, NewClip, RowKey, RowWindow, Span, Upload
from touchline.kernel import ArtifactHash, Forbidden, InvalidInput, NotFound, QuotaExceeded, Role, video_id
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.retention.service import Expiry

from .conftest import World, another_process, principal
from .test_lifecycle import failed as transcode_failed, progressed, retried, transcoded

CUT_JOB = uuid4()

MINUTE_MS = 60_000


async def playable(world: World, duration_ms: int = MINUTE_MS, title: str = "The final") -> Upload:
    """As if sent and processed."""
    upload = await world.create(title=title)
    async with world.environment.database.transaction(world.ours) as transaction:
        await transitions.move(
            transaction, upload.artifact_hash, ArtifactStatus.COMPLETING, (ArtifactStatus.UPLOADING,)
        )
        await transitions.store_original(transaction, upload.artifact_hash)
    await world.consume(transcoded(upload).model_copy(update={"duration_ms": duration_ms}))
    return upload


def wanted(source: Upload, start_ms: int = 10_000, end_ms: int = 12_000, **more: Any) -> NewClip:
    return NewClip(source.artifact_hash, start_ms, end_ms, requested_params={"startSeconds": 10}, **more)


async def made(world: World, clip: Clip, attempt: int = 1) -> None:
    event = ClipMade(
        artifact_hash=clip.artifact_hash,
        job_id=CUT_JOB,
        attempt=attempt,
        clip_key="as agreed",
        size_bytes=5000,
        cut_start_ms=8_010,
        cut_end_ms=14_010,
        frames=150,
        width=320,
        height=180,
    )
    await world.consume(event)


async def broken(world: World, clip: Clip) -> None:
    reason = {"error_code": "OriginalMissing", "error_message": "the original is missing"}
    await world.consume(ClipFailed(artifact_hash=clip.artifact_hash, job_id=CUT_JOB, attempt=4, **reason))


async def artifact_of(world: World, clip: Clip) -> Artifact:
    async with world.environment.database.transaction(world.ours) as transaction:
        found = await ArtifactStore(transaction).find(clip.artifact_hash)
    assert found
    return found


async def test_a_clip_is_registered_and_asked_for(world: World) -> None:
    source = await playable(world)
    created = await world.registry.create_clip(
        world.ours, wanted(source, 1000, 59_000, description="Both goals\nin one")
    )
    clip, key = created.clip, f"videos/clips/{video_id(source.artifact_hash)}"
    assert (created.status, created.revision) == (ArtifactStatus.REQUESTED, 1)
    assert (clip.start_ms, clip.end_ms, clip.padding_ms, clip.shown) == (1000, 59_000, 2000, Span(0, MINUTE_MS))
    assert (clip.title, clip.description, clip.source_hash) == (
        "The final 0:01-0:59", "Both goals\nin one", source.artifact_hash
    )  # fmt: skip
    assert clip.expires_at == world.clock.now() + timedelta(days=30)
    artifact = await artifact_of(world, clip)
    assert (artifact.status, artifact.artifact_type, artifact.size_bytes) == (ArtifactStatus.REQUESTED, "clip", None)
    assert artifact.original_key == f"{key}/{video_id(clip.artifact_hash)}.mp4"
    [asked] = await world.events(clip, "clip.requested")
    original = (await world.artifact(source)).original_key
    assert asked == {
        "artifact_hash": clip.artifact_hash,
        "source_hash": source.artifact_hash,
        "original_key": original,
        "start_ms": 1000,
        "end_ms": 59_000,
        "padding_ms": 2000,
        "revision": 1,
    }
    async with world.environment.database.transaction(world.ours) as transaction:
        rows = await (await transaction.connection.execute("SELECT requested_params FROM serve.clips")).fetchall()
    assert rows == [({"startSeconds": 10},)]


async def test_the_same_clip_is_one_however_many_ask_at_once(world: World) -> None:
    source = await playable(world)
    async with another_process(world) as other:
        clients = [world.registry, other.registry] * 5
        answers = await asyncio.gather(*(one.create_clip(world.ours, wanted(source)) for one in clients))
    assert len({answer.clip.artifact_hash for answer in answers}) == 1
    assert (await world.rows("clips"), await world.rows("identities"), await world.rows("artifacts")) == (1, 2, 2)
    assert len(await world.events(answers[0].clip, "clip.requested")) == 1
    await made(world, answers[0].clip)
    again = await world.registry.create_clip(world.ours, wanted(source, title="Another title"))
    assert (again.clip.title, again.status) == (answers[0].clip.title, ArtifactStatus.PROCESSING)
    for change in ({"start_ms": 9_999}, {"end_ms": 12_001}, {"padding_ms": 0}):
        other_clip = await world.registry.create_clip(world.ours, replace(wanted(source), **change))
        assert other_clip.clip.artifact_hash != answers[0].clip.artifact_hash


async def test_from_requested_to_ready(world: World) -> None:
    source = await playable(world)
    clip = (await world.registry.create_clip(world.ours, wanted(source))).clip
    cutting = {"artifact_hash": clip.artifact_hash, "job_id": uuid4(), "job_type": "clip_generate"}
    await world.consume(VideoProgressed(**cutting, attempt=7, progress_percent=40))
    for _ in range(2):
        await made(world, clip)
    [stored] = await world.events(clip, "artifact.original_stored")
    assert (stored["size_bytes"], stored["content_type"]) == (5000, "video/mp4")
    [now] = await world.registry.clips(world.ours, [clip.artifact_hash])
    assert now.shown == Span(8_010, 14_010)
    await world.consume(progressed(clip, 10))
    await world.consume(transcoded(clip))
    told = [(event["status"], event["progress_percent"], event["synced"]) for event in await world.events(clip)]
    assert told == [
        ("requested", None, False),
        ("processing", 40, False),
        ("processing", None, True),
        ("processing", 10, True),
        ("ready", 100, True),
    ]
    artifact = await artifact_of(world, clip)
    assert artifact.retention_until == clip.expires_at, "its time counts from when it was asked for"
    endpoint = await world.artifacts.resolve_viewer_endpoint(clip.playback_id)
    assert (endpoint.title, endpoint.clip_key) == (clip.title, artifact.original_key)
    source_endpoint = await world.artifacts.resolve_viewer_endpoint(source.playback_id)
    assert source_endpoint.clip_key == ""


async def test_a_clip_of_a_clip(world: World) -> None:
    source = await playable(world)
    first = (await world.registry.create_clip(world.ours, wanted(source))).clip
    await made(world, first)
    await world.consume(transcoded(first).model_copy(update={"duration_ms": 6000}))
    second = (await world.registry.create_clip(world.ours, NewClip(first.artifact_hash, 0, 6000))).clip
    assert (second.source_hash, second.shown) == (first.artifact_hash, Span(0, 6000))


async def test_a_clip_that_failed_says_why_and_may_be_asked_for_again(world: World) -> None:
    source = await playable(world)
    clip = (await world.registry.create_clip(world.ours, wanted(source))).clip
    for _ in range(2):
        await broken(world, clip)
    await made(world, clip)
    artifact = await artifact_of(world, clip)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (ArtifactStatus.FAILED, "OriginalMissing")
    again = await world.registry.create_clip(world.ours, wanted(source))
    assert again.clip.artifact_hash != clip.artifact_hash
    assert again.status is ArtifactStatus.REQUESTED
    assert (await world.registry.listed_clips(world.ours)).total_count == 2


def cut_again(clip: Clip) -> VideoRetried:
    return VideoRetried(artifact_hash=clip.artifact_hash, job_id=CUT_JOB, attempt=5, job_type="clip_generate")


async def test_a_retry_brings_a_clip_back_that_could_not_be_cut_or_converted(world: World) -> None:
    source = await playable(world)
    clip = (await world.registry.create_clip(world.ours, wanted(source))).clip
    await broken(world, clip)
    await world.consume(cut_again(clip))
    assert (await artifact_of(world, clip)).status is ArtifactStatus.PROCESSING
    same = await world.registry.create_clip(world.ours, wanted(source))
    assert same.clip.artifact_hash == clip.artifact_hash, "it holds its range again"
    await made(world, clip, 5)
    await world.consume(transcode_failed(clip))
    await world.consume(retried(clip))
    await world.consume(transcoded(clip, 4))
    artifact = await artifact_of(world, clip)
    assert (artifact.status, artifact.reason) == (ArtifactStatus.READY, None)
    [listed] = (await world.registry.listed_clips(world.ours)).clips
    assert listed.expires_at == artifact.retention_until
    assert (await world.artifacts.resolve_viewer_endpoint(clip.playback_id)).artifact_hash == clip.artifact_hash


async def test_a_clip_that_comes_back_lives_beside_the_same_one_made_meanwhile(world: World) -> None:
    source = await playable(world)
    first = (await world.registry.create_clip(world.ours, wanted(source))).clip
    await broken(world, first)
    second = (await world.registry.create_clip(world.ours, wanted(source))).clip
    await world.consume(cut_again(first))
    await made(world, first, 5)
    await world.consume(transcoded(first))
    assert (await artifact_of(world, first)).status is ArtifactStatus.READY
    asked = await world.registry.create_clip(world.ours, wanted(source))
    assert asked.clip.artifact_hash == second.artifact_hash, "that one keeps the range"
    await world.registry.delete_clip(world.ours, first.artifact_hash)
    await world.artifacts.undelete_artifact(world.ours, first.artifact_hash)
    assert (await world.registry.listed_clips(world.ours)).total_count == 2


async def test_a_clip_that_cannot_be_made_to_play_fails(world: World) -> None:
    source = await playable(world)
    clip = (await world.registry.create_clip(world.ours, wanted(source))).clip
    await made(world, clip)
    await world.consume(transcode_failed(clip))
    assert (await artifact_of(world, clip)).status is ArtifactStatus.FAILED


async def test_what_makes_no_sense_names_the_field_and_leaves_nothing(world: World) -> None:
    source = await playable(world)
    for change, field in (
        ({"start_ms": -1}, "start_ms"),
        ({"end_ms": 10_000}, "end_ms"),
        ({"start_ms": MINUTE_MS, "end_ms": MINUTE_MS + 1}, "start_ms"),
        ({"end_ms": MINUTE_MS + 1001}, "end_ms"),
        ({"padding_ms": -1}, "padding_ms"),
        ({"title": "x" * 300}, "title"),
        ({"description": "\0"}, "description"),
    ):
        with pytest.raises(InvalidInput) as raised:
            await world.registry.create_clip(world.ours, replace(wanted(source), **change))
        assert raised.value.field == field
    assert (await world.rows("clips"), await world.rows("identities")) == (0, 1)


async def test_only_what_plays_can_be_clipped(world: World) -> None:
    upload = await world.create()
    with pytest.raises(InvalidInput) as raised:
        await world.registry.create_clip(world.ours, wanted(upload))
    assert raised.value.field == "source_hash"
    source = await playable(world)
    with pytest.raises(NotFound) as foreign:
        await world.registry.create_clip(world.theirs, wanted(source))
    with pytest.raises(NotFound) as unknown:
        await world.registry.create_clip(world.theirs, NewClip(ArtifactHash("0" * 32), 10_000, 12_000))
    assert str(foreign.value).replace(source.artifact_hash, "0" * 32) == str(unknown.value)
    await world.registry.delete_upload(world.ours, source.artifact_hash)
    with pytest.raises(NotFound):
        await world.registry.create_clip(world.ours, wanted(source))
    with pytest.raises(Forbidden):
        await world.registry.create_clip(principal(Role.VIEWER, world.ours.tenant_id), wanted(source))


async def test_not_too_many_at_once(world: World) -> None:
    source = await playable(world)
    async with another_process(world, concurrent_clips=1) as other:
        first = await other.registry.create_clip(world.ours, wanted(source))
        with pytest.raises(QuotaExceeded):
            await other.registry.create_clip(world.ours, wanted(source, 0))
        assert (await other.registry.create_clip(world.ours, wanted(source))).clip == first.clip
        assert await world.rows("identities") == 2, "nothing stays of what was refused"
        await made(world, first.clip)
        await other.registry.create_clip(world.ours, wanted(source, 0))


async def test_listing_finding_and_deleting(world: World) -> None:
    source, other = await playable(world), await playable(world)
    clips: list[Clip] = []
    for number in range(4):
        clips.append((await world.registry.create_clip(world.ours, wanted(source, number))).clip)
        world.later(milliseconds=number % 2)
    of_other = (await world.registry.create_clip(world.ours, wanted(other))).clip
    everything = (await world.registry.listed_clips(world.ours)).clips
    assert {clip.artifact_hash for clip in everything} == {clip.artifact_hash for clip in [*clips, of_other]}
    of_source = ClipFilter(source.artifact_hash)
    page = await world.registry.listed_clips(world.ours, RowWindow(size=2), of_source)
    assert (page.has_next, page.has_previous, page.total_count) == (True, False, 4)
    last = page.clips[-1]
    after = RowWindow(size=2, after=RowKey(last.created_at, last.artifact_hash))
    rest = await world.registry.listed_clips(world.ours, after, of_source)
    assert [*page.clips, *rest.clips] == [clip for clip in everything if clip.source_hash == source.artifact_hash]
    assert (rest.has_next, rest.has_previous) == (False, True)
    backwards = RowWindow(size=4, before=RowKey(of_other.created_at, of_other.artifact_hash), from_the_end=True)
    assert (await world.registry.listed_clips(world.ours, backwards)).clips == everything[:0]
    assert (await world.registry.listed_clips(world.ours, wanted=ClipFilter(stream_id=uuid4()))).clips == []
    for _ in range(2):
        await world.registry.delete_clip(world.ours, clips[0].artifact_hash)
    assert await world.registry.clips(world.ours, [clips[0].artifact_hash]) == []
    await made(world, clips[0])
    assert (await artifact_of(world, clips[0])).status is ArtifactStatus.DELETED, "a late word revives nothing"
    with pytest.raises(NotFound):
        await world.registry.delete_clip(world.ours, source.artifact_hash)


async def pin_source(world: World, source: Upload) -> None:
    async with world.environment.database.transaction(world.ours) as transaction:
        await transitions.pin(transaction, source.artifact_hash, pinned=True)


async def test_after_thirty_days_it_is_deleted(world: World) -> None:
    source = await playable(world)
    clip = (await world.registry.create_clip(world.ours, wanted(source))).clip
    await made(world, clip)
    await world.consume(transcoded(clip))
    await pin_source(world, source)
    world.later(days=29)
    younger = (await world.registry.create_clip(world.ours, wanted(source, 0))).clip
    await world.pass_of(Expiry)
    assert (await world.registry.listed_clips(world.ours)).total_count == 2
    world.later(days=1)
    for _ in range(2):
        await world.pass_of(Expiry)
    assert [one.artifact_hash for one in (await world.registry.listed_clips(world.ours)).clips] == [
        younger.artifact_hash
    ]
    assert (await artifact_of(world, clip)).status is ArtifactStatus.DELETED
    assert (await world.artifact(source)).status is ArtifactStatus.READY
    again = await world.registry.create_clip(world.ours, wanted(source))
    assert again.clip.artifact_hash != clip.artifact_hash

"""What was deleted comes back as it was, until it is purged."""

from __future__ import annotations

import pytest

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.videos import ClipMade
from touchline.contracts.registry import Clip, NewClip, Upload
from touchline.kernel import ArtifactHash, Conflict, NotFound, QuotaExceeded
from touchline.serve.retention.service import Expiry, Purger

from .conftest import World, another_process
from .test_lifecycle import JOB, failed, retried, transcoded


async def ready(world: World) -> Upload:
    upload = await world.processing()
    await world.consume(transcoded(upload))
    return upload


async def clipped(world: World, source: Upload) -> Clip:
    new = NewClip(ArtifactHash(source.artifact_hash), 0, 500, 0, requested_params={"from": "here"})
    return (await world.registry.create_clip(world.ours, new)).clip


async def ready_clip(world: World, source: Upload) -> Clip:
    clip = await clipped(world, source)
    cut = {"cut_start_ms": 0, "cut_end_ms": 500, "frames": 12, "width": 320, "height": 180}
    await world.consume(
        ClipMade(artifact_hash=clip.artifact_hash, job_id=JOB, attempt=1, clip_key="k", size_bytes=7, **cut)
    )
    await world.consume(transcoded(clip))
    return clip


async def test_a_deleted_video_is_back_as_it_was(world: World) -> None:
    upload = await ready(world)
    before = await world.artifact(upload)
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    world.later(days=1)
    revisions = [await world.artifacts.undelete_artifact(world.ours, upload.artifact_hash) for _ in range(2)]
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.revision) == (ArtifactStatus.READY, before.revision + 2)
    assert revisions == [artifact.revision] * 2, "the second time changes nothing"
    assert artifact.retention_until == before.retention_until
    [listed] = (await world.registry.listed(world.ours)).uploads
    assert (listed.artifact_hash, listed.expires_at) == (upload.artifact_hash, before.retention_until)
    endpoint = await world.artifacts.resolve_viewer_endpoint(upload.playback_id)
    assert endpoint.manifest_key == before.manifest_key
    [undeleted] = await world.events(upload, "artifact.undeleted")
    last = (await world.events(upload))[-1]
    assert (last["status"], last["revision"], undeleted["revision"]) == ("ready", *[artifact.revision] * 2)


async def test_what_is_over_its_time_gets_a_new_one(world: World) -> None:
    upload, settings = await ready(world), world.environment.settings
    world.later(seconds=settings.retention.total_seconds())
    await world.pass_of(Expiry)
    assert await world.status(upload) is ArtifactStatus.DELETED
    await world.artifacts.undelete_artifact(world.ours, upload.artifact_hash)
    until = world.clock.now() + settings.retention
    assert ((await world.artifact(upload)).retention_until, (await world.record(upload)).upload.expires_at) == (
        until, until
    )  # fmt: skip
    await world.pass_of(Expiry)
    assert await world.status(upload) is ArtifactStatus.READY


async def stays_deleted(world: World, upload: Upload) -> None:
    before = await world.artifact(upload), await world.record(upload)
    with pytest.raises(Conflict, match="cannot be undeleted"):
        await world.artifacts.undelete_artifact(world.ours, upload.artifact_hash)
    assert (await world.artifact(upload), await world.record(upload)) == before
    assert await world.events(upload, "artifact.undeleted") == []


async def test_what_never_played_or_is_being_purged_stays_deleted(world: World) -> None:
    halves = [await world.create(), await world.processing()]
    purged = await ready(world)
    for upload in (*halves, purged):
        await world.registry.delete_upload(world.ours, upload.artifact_hash)
    for upload in halves:
        await stays_deleted(world, upload)
    world.later(days=31)
    await world.pass_of(Purger)
    await stays_deleted(world, purged)
    with pytest.raises(NotFound):
        await world.artifacts.undelete_artifact(world.ours, "0" * 32)


async def test_what_had_failed_comes_back_as_failed_and_can_be_retried(world: World) -> None:
    upload = await world.processing()
    await world.consume(failed(upload))
    before = await world.artifact(upload)
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    await world.consume(retried(upload))
    assert await world.status(upload) is ArtifactStatus.DELETED, "no report changes what is deleted"
    await world.artifacts.undelete_artifact(world.ours, upload.artifact_hash)
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.reason) == (ArtifactStatus.FAILED, before.reason)
    await world.consume(retried(upload, 5))
    await world.consume(transcoded(upload, 5))
    assert await world.status(upload) is ArtifactStatus.READY


async def test_a_clip_comes_back_unless_the_same_one_was_made_again(world: World) -> None:
    source = await ready(world)
    clip = await ready_clip(world, source)
    await world.registry.delete_clip(world.ours, clip.artifact_hash)
    await world.artifacts.undelete_artifact(world.ours, clip.artifact_hash)
    assert [one.artifact_hash for one in (await world.registry.listed_clips(world.ours)).clips] == [clip.artifact_hash]
    assert (await clipped(world, source)).artifact_hash == clip.artifact_hash, "the same clip again is this one"
    await world.registry.delete_clip(world.ours, clip.artifact_hash)
    again = await clipped(world, source)
    with pytest.raises(Conflict, match="cannot be undeleted"):
        await world.artifacts.undelete_artifact(world.ours, clip.artifact_hash)
    assert [one.artifact_hash for one in (await world.registry.listed_clips(world.ours)).clips] == [again.artifact_hash]
    with pytest.raises(NotFound):
        await world.artifacts.resolve_viewer_endpoint(clip.playback_id)


async def test_there_must_be_room_for_it(world: World) -> None:
    upload = await ready(world)
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    async with another_process(world, stored_quota=1) as full:
        with pytest.raises(QuotaExceeded):
            await full.artifacts.undelete_artifact(world.ours, upload.artifact_hash)
    assert await world.status(upload) is ArtifactStatus.DELETED

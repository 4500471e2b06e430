"""What processing says about a video, and what viewers get of it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from prometheus_client import REGISTRY

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.videos import VideoFailed, VideoProgressed, VideoRetried, VideoTranscoded
from touchline.contracts.registry import Clip, Recording, Upload
from touchline.kernel import Conflict, NotFound
from touchline.platform.periodic.runner import PeriodicRunner
from touchline.platform.periodic.store import list_tasks
from touchline.platform.settings import PeriodicSettings
from touchline.serve.artifacts.rules import lifecycle

from .conftest import World

JOB = uuid4()


def transcoded(upload: Upload | Clip | Recording, attempt: int = 1) -> VideoTranscoded:
    return VideoTranscoded(
        artifact_hash=upload.artifact_hash,
        job_id=JOB,
        attempt=attempt,
        manifest_key=f"videos/hls/{attempt}/index.m3u8",
        poster_key=f"videos/hls/{attempt}/poster.jpg",
        duration_ms=1000,
        width=320,
        height=180,
    )


def failed(upload: Upload | Clip, attempt: int = 3) -> VideoFailed:
    return VideoFailed(
        artifact_hash=upload.artifact_hash,
        job_id=JOB,
        attempt=attempt,
        job_type="transcode",
        error_code="damaged_video",
        error_message="it broke off",
    )


def retried(upload: Upload | Clip, attempt: int = 4) -> VideoRetried:
    return VideoRetried(artifact_hash=upload.artifact_hash, job_id=JOB, attempt=attempt, job_type="transcode")


def progressed(upload: Upload | Clip, percent: int, attempt: int = 1) -> VideoProgressed:
    return VideoProgressed(
        artifact_hash=upload.artifact_hash,
        job_id=JOB,
        attempt=attempt,
        job_type="transcode",
        progress_percent=percent,
    )


def late_reports() -> float:
    return REGISTRY.get_sample_value("touchline_late_video_reports_total") or 0


async def test_a_transcoded_video_is_ready_and_plays(world: World) -> None:
    upload = await world.processing()
    world.later(minutes=1)
    for _ in range(2):
        await world.consume(transcoded(upload))
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.duration_ms, artifact.width, artifact.height) == (
        ArtifactStatus.READY,
        1000,
        320,
        180,
    )
    assert (await world.told(upload)).count("ready") == 1
    last = (await world.events(upload))[-1]
    assert last["revision"] == artifact.revision
    assert (last["manifest_key"], last["poster_key"]) == (artifact.manifest_key, artifact.poster_key)
    assert (last["progress_percent"], last["synced"], last["size_bytes"]) == (100, True, artifact.size_bytes)
    kept_until = world.clock.now() + world.environment.settings.retention
    assert artifact.retention_until == kept_until
    [record] = await world.registry.uploads(world.ours, [upload.artifact_hash])
    assert record.expires_at == kept_until

    endpoint = await world.artifacts.resolve_viewer_endpoint(upload.playback_id.upper())
    assert (endpoint.artifact_hash, endpoint.tenant_id) == (upload.artifact_hash, world.ours.tenant_id)
    assert (endpoint.manifest_key, endpoint.poster_key) == (artifact.manifest_key, artifact.poster_key)
    assert (endpoint.title, endpoint.duration_ms, endpoint.playback_id) == (upload.title, 1000, upload.playback_id)


async def test_what_is_ready_only_gets_better(world: World) -> None:
    """More renditions come, and stages behind the first fail: it plays on, and is not kept longer."""
    upload = await world.processing()
    first = transcoded(upload).model_copy(update={"manifest_key": "videos/hls/1/first.m3u8"})
    await world.consume(first)
    before = await world.artifact(upload)
    world.later(minutes=1)
    await world.consume(transcoded(upload))
    for late in (failed(upload).model_copy(update={"job_type": "ocr"}), progressed(upload, 50)):
        await world.consume(late)
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.manifest_key) == (ArtifactStatus.READY, "videos/hls/1/index.m3u8")
    assert (artifact.retention_until, artifact.reason) == (before.retention_until, None)
    assert artifact.revision == before.revision + 1
    last = (await world.events(upload))[-1]
    assert (last["status"], last["manifest_key"], last["revision"]) == (
        "ready", "videos/hls/1/index.m3u8", artifact.revision
    )  # fmt: skip


async def test_what_a_freeze_stored_anew_stays_where_it_is(world: World) -> None:
    """A run tells of its rendition twice, and the second word may come after the freeze. A newer run replaces it."""
    upload = await world.processing()
    await world.consume(transcoded(upload))
    frozen = {"manifest_key": "videos/proxy/frozen/index.m3u8", "poster_key": "thumbs/frozen/poster.jpg"}
    async with world.environment.database.transaction(world.ours) as transaction:
        query = "UPDATE serve.artifacts SET manifest_key = %(manifest_key)s, poster_key = %(poster_key)s"
        await transaction.connection.execute(query, frozen)
    await world.consume(transcoded(upload).model_copy(update={"width": 640}))
    artifact = await world.artifact(upload)
    assert (artifact.manifest_key, artifact.poster_key, artifact.width) == (*frozen.values(), 640)
    await world.consume(transcoded(upload, 2))
    assert (await world.artifact(upload)).manifest_key == "videos/hls/2/index.m3u8"


async def test_copies_of_what_was_deleted_go_at_once(world: World) -> None:
    """The pass over them is due then, and not in minutes."""
    upload = await world.processing()
    runner = PeriodicRunner(world.environment.database, world.parts.artifact_tasks, PeriodicSettings(), "test")
    await runner.register()
    async with world.environment.database.system("test: as if it had just run") as transaction:
        await transaction.connection.execute("UPDATE platform.periodic SET next_run_at = now() + every")
    event = lifecycle(await world.artifact(upload))
    for told, is_due in (
        (event.model_copy(update={"local_copies": 1}), False),
        (event.model_copy(update={"status": "deleted"}), False),
        (event.model_copy(update={"local_copies": 1, "status": "deleted"}), True),
    ):
        await world.consume(told)
        tasks = await list_tasks(world.environment.database)
        due = {task.name for task in tasks if task.next_run_at < datetime.now(UTC)}
        assert due == ({"clean up orphan copies"} if is_due else set())


async def test_a_late_done_never_revives(world: World) -> None:
    upload = await world.processing()
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    before, counted = await world.artifact(upload), late_reports()
    for late in (transcoded(upload), progressed(upload, 99), failed(upload)):
        await world.consume(late)
    assert await world.artifact(upload) == before
    assert late_reports() == counted + 3
    assert (await world.told(upload))[-1] == "deleted"
    with pytest.raises(NotFound):
        await world.artifacts.resolve_viewer_endpoint(upload.playback_id)


async def test_a_video_that_cannot_be_processed_fails(world: World) -> None:
    upload = await world.processing()
    for _ in range(2):
        await world.consume(failed(upload))
    await world.consume(transcoded(upload))
    artifact = await world.artifact(upload)
    assert artifact.status is ArtifactStatus.FAILED
    assert artifact.reason
    assert (artifact.reason.code, artifact.reason.message) == ("damaged_video", "it broke off")
    assert artifact.retention_until
    last = (await world.events(upload))[-1]
    assert (last["status"], last["error_code"], last["synced"]) == ("failed", "damaged_video", True)
    with pytest.raises(Conflict, match="cannot be played"):
        await world.artifacts.resolve_viewer_endpoint(upload.playback_id)


async def test_a_retry_brings_a_failed_video_back(world: World) -> None:
    """It is kept as long as something new, and word of its failure that comes again does not end it."""
    upload = await world.processing()
    await world.consume(failed(upload))
    world.later(days=29)
    await world.consume(retried(upload))
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.reason, artifact.progress_percent) == (ArtifactStatus.PROCESSING, None, 0)
    before = artifact
    for late in (failed(upload), progressed(upload, 90, 3), retried(upload)):
        await world.consume(late)
    assert await world.artifact(upload) == before
    await world.consume(progressed(upload, 10, 4))
    await world.consume(transcoded(upload, 4))
    artifact = await world.artifact(upload)
    kept_until = world.clock.now() + world.environment.settings.retention
    assert (artifact.status, artifact.retention_until) == (ArtifactStatus.READY, kept_until)
    assert (await world.record(upload)).upload.expires_at == kept_until
    assert (await world.told(upload))[-4:] == ["failed", "processing", "processing", "ready"]
    last = (await world.events(upload))[-1]
    assert (last["error_code"], last["progress_percent"]) == (None, 100)
    assert (await world.artifacts.resolve_viewer_endpoint(upload.playback_id)).manifest_key == artifact.manifest_key


async def test_a_retry_that_fails_again_says_why_and_can_be_retried_again(world: World) -> None:
    upload = await world.processing()
    await world.consume(failed(upload))
    await world.consume(retried(upload))
    again = failed(upload, 7).model_copy(update={"error_code": "Cancelled", "error_message": "cancelled by anna"})
    await world.consume(again)
    artifact = await world.artifact(upload)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (ArtifactStatus.FAILED, "Cancelled")
    await world.consume(transcoded(upload, 8))  # the word of the retry is late
    assert await world.status(upload) is ArtifactStatus.READY
    await world.consume(retried(upload, 8))
    assert await world.status(upload) is ArtifactStatus.READY


async def test_progress_is_told_once_and_never_goes_back(world: World) -> None:
    upload = await world.processing()
    for percent, attempt in [(10, 1), (10, 1), (40, 1), (20, 1), (5, 2), (50, 1)]:
        await world.consume(progressed(upload, percent, attempt))
    told = [event for event in await world.events(upload) if event["progress_percent"] is not None]
    assert [event["progress_percent"] for event in told] == [10, 40, 5]
    revisions = [event["revision"] for event in await world.events(upload)]
    assert revisions == sorted(set(revisions))


async def test_reports_about_strangers_change_nothing(world: World) -> None:
    upload = await world.processing()
    before = await world.artifact(upload)
    await world.consume(transcoded(upload), world.theirs.tenant_id)
    assert await world.artifact(upload) == before


async def test_only_what_can_be_played_is_resolved(world: World) -> None:
    upload = await world.uploaded()
    with pytest.raises(Conflict, match="uploading"):
        await world.artifacts.resolve_viewer_endpoint(upload.playback_id)
    await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    with pytest.raises(Conflict, match="processing"):
        await world.artifacts.resolve_viewer_endpoint(upload.playback_id)
    for wrong in ("0" * 16, "", "../../etc/passwd", "\0" * 16):
        with pytest.raises(NotFound):
            await world.artifacts.resolve_viewer_endpoint(wrong)

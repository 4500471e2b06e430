"""The way of a file from its sender to a verified original."""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import Upload
from touchline.kernel import Conflict, DeadlineExceeded, InvalidInput, NotFound, TouchlineError, Unavailable, video_id
from touchline.media.sandbox import Pause
from touchline.media.tasks import HEAD_BYTES, probe
from touchline.serve.artifacts import transitions
from touchline.serve.uploads.completion import downloaded
from touchline.serve.uploads.store import MultipartStore

from .conftest import World, another_process
from .videos import TEXT, large_video, spread_video, video

MIB = 1024**2


def original(upload: Upload) -> str:
    return f"videos/original/{video_id(upload.artifact_hash)}/master.mp4"


async def test_a_file_becomes_a_verified_original(world: World) -> None:
    upload = await world.uploaded(title="The match")
    key = original(upload)
    assert await world.stored_keys() == []

    state = await world.artifacts.complete_upload(world.ours, upload.artifact_hash)

    artifact = await world.artifact(upload)
    assert (state.status, state.revision) == (ArtifactStatus.PROCESSING, artifact.revision)
    assert (artifact.synced, artifact.original_key, artifact.content_type) == (True, key, "video/mp4")
    assert await world.environment.objects.get(key) == video()
    assert await world.told(upload) == ["uploading", "completing", "processing"]
    [stored] = await world.events(upload, "artifact.original_stored")
    assert stored == {
        "artifact_hash": upload.artifact_hash,
        "original_key": key,
        "size_bytes": len(video()),
        "content_type": "video/mp4",
        "user_id": str(world.ours.user_id),
        "actor": "system",
        "revision": artifact.revision,
    }
    last = (await world.events(upload))[-1]
    assert (last["synced"], last["local_copies"], last["size_bytes"]) == (True, 0, len(video()))
    assert (await world.rows("multiparts"), await world.open_uploads()) == (0, 0)
    assert list(world.environment.scratch.iterdir()) == []


async def test_wrong_parts_are_named_and_mended(world: World) -> None:
    data = large_video()
    upload = await world.create(data)
    artifact_hash, parts = upload.artifact_hash, await world.artifacts.list_parts(world.ours, upload.artifact_hash)
    assert (parts.part_count, parts.parts) == (2, [])
    first, last = data[: parts.part_size_bytes], data[parts.part_size_bytes :]

    with pytest.raises(InvalidInput, match="missing: 1, 2"):
        await world.artifacts.complete_upload(world.ours, artifact_hash)
    await world.send_part(artifact_hash, 2, last)
    with pytest.raises(httpx.HTTPStatusError):
        await world.send_part(artifact_hash, 1, first[:-1])
    await world.send_otherwise(artifact_hash, 1, first[:-1])
    with pytest.raises(InvalidInput, match="wrong size: 1") as caught:
        await world.artifacts.complete_upload(world.ours, artifact_hash)
    assert caught.value.field == "parts"
    assert await world.status(upload) is ArtifactStatus.UPLOADING
    arrived = await world.artifacts.list_parts(world.ours, artifact_hash)
    assert [part.number for part in arrived.parts] == [2]

    await world.send_part(artifact_hash, 1, first)
    state = await world.artifacts.complete_upload(world.ours, artifact_hash)
    assert state.status is ArtifactStatus.PROCESSING
    assert await world.environment.objects.get(original(upload)) == data


async def test_the_senders_checksums_decide(world: World) -> None:
    upload = await world.create(video())
    response = await world.send_part(upload.artifact_hash, 1, video())
    with pytest.raises(InvalidInput, match="wrong checksum: 1"):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash, {1: "0" * 32})
    state = await world.artifacts.complete_upload(world.ours, upload.artifact_hash, {1: response.headers["ETag"]})
    assert state.status is ArtifactStatus.PROCESSING


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


async def test_a_part_that_arrived_damaged_is_named_and_sent_again(world: World) -> None:
    data = large_video()
    upload = await world.create(data)
    size = (await world.artifacts.list_parts(world.ours, upload.artifact_hash)).part_size_bytes
    first, last = data[:size], data[size:]
    own = {1: md5(first), 2: md5(last)}
    await world.send_part(upload.artifact_hash, 1, first)
    await world.send_part(upload.artifact_hash, 2, bytes([last[0] ^ 1]) + last[1:])  # as long, and another
    for wrong, field in (({1: own[1]}, "checksums"), ({**own, 3: own[1]}, "checksums"), ({**own, 2: "x"}, "checksums")):
        with pytest.raises(InvalidInput) as refused:
            await world.artifacts.complete_upload(world.ours, upload.artifact_hash, wrong)
        assert refused.value.field == field
        assert await world.status(upload) is ArtifactStatus.UPLOADING
    with pytest.raises(InvalidInput, match=r"wrong checksum: 2$") as caught:
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash, own)
    assert caught.value.field == "parts"
    arrived = await world.artifacts.list_parts(world.ours, upload.artifact_hash)
    assert [part.number for part in arrived.parts if part.etag != own[part.number]] == [2]
    await world.send_part(upload.artifact_hash, 2, last)
    state = await world.artifacts.complete_upload(world.ours, upload.artifact_hash, own)
    assert state.status is ArtifactStatus.PROCESSING
    assert await world.environment.objects.get(original(upload)) == data


async def test_checksums_outlive_the_process_that_took_them(world: World) -> None:
    """Otherwise whoever continues would take a damaged file."""
    upload = await world.uploaded()
    async with world.environment.database.transaction(world.ours) as transaction:
        completing = ArtifactStatus.COMPLETING
        await transitions.move(transaction, upload.artifact_hash, completing, (ArtifactStatus.UPLOADING,))
        due = world.clock.now()
        assert await MultipartStore(transaction).claim(upload.artifact_hash, due, bytes.fromhex(md5(b"another")))
    world.later(minutes=16)
    await world.parts.owner.run_pass()
    assert await world.status(upload) is ArtifactStatus.UPLOADING
    state = await world.artifacts.complete_upload(world.ours, upload.artifact_hash, {1: md5(video())})
    assert state.status is ArtifactStatus.PROCESSING


@pytest.mark.parametrize(
    ("data", "code"),
    [(TEXT, "not_a_video"), (video()[:-500], "truncated_video"), (b"\0", "not_a_video")],
    ids=["text", "truncated", "one byte"],
)
async def test_what_is_no_video_is_refused_and_leaves_nothing(world: World, data: bytes, code: str) -> None:
    upload = await world.uploaded(data)
    with pytest.raises(InvalidInput, match="video") as caught:
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    with pytest.raises(InvalidInput) as again:
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert (again.value.what, again.value.hint) == (caught.value.what, caught.value.hint)
    artifact = await world.artifact(upload)
    assert artifact.status is ArtifactStatus.FAILED
    assert artifact.reason
    assert artifact.reason.code == code
    assert artifact.reason.message == caught.value.what
    assert not artifact.synced
    assert (await world.stored_keys(), await world.open_uploads(), await world.rows("multiparts")) == ([], 0, 0)
    last = (await world.events(upload))[-1]
    assert (last["status"], last["error_code"], last["revision"]) == ("failed", code, artifact.revision)
    assert await world.events(upload, "artifact.original_stored") == []
    kept_until = world.clock.now() + world.environment.settings.retention
    assert artifact.retention_until == kept_until
    assert (await world.record(upload)).upload.expires_at == kept_until


async def test_of_many_who_complete_one_does(world: World) -> None:
    upload = await world.uploaded()
    async with another_process(world) as other:
        calls = [
            each.artifacts.complete_upload(world.ours, upload.artifact_hash)
            for each in [world, other]
            for _ in range(5)
        ]
        states = await asyncio.gather(*calls)
    assert {state.status for state in states} <= {ArtifactStatus.COMPLETING, ArtifactStatus.PROCESSING}
    assert len(await world.events(upload, "artifact.original_stored")) == 1
    assert await world.told(upload) == ["uploading", "completing", "processing"]
    again = await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert again == next(state for state in states if state.status is ArtifactStatus.PROCESSING)


async def test_a_caller_who_leaves_does_not_stop_it(world: World) -> None:
    upload = await world.uploaded()
    with pytest.raises(DeadlineExceeded):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash, deadline=timedelta(milliseconds=1))
    state = await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert state.status is ArtifactStatus.PROCESSING
    assert len(await world.events(upload, "artifact.original_stored")) == 1


async def test_the_background_of_the_machine_stands_back_while_an_upload_is_completed(world: World) -> None:
    upload, foreground, pause = await world.uploaded(), world.environment.foreground, Pause()
    pause.begin()
    waiting = replace(world.environment, sandbox=world.environment.sandbox.pausing(pause))
    async with another_process(replace(world, environment=waiting)) as other:
        assert not foreground.is_busy()
        task = asyncio.create_task(other.parts.uploads.complete(world.ours, upload.artifact_hash))
        while not foreground.is_busy():
            await asyncio.sleep(0)
        pause.end()
        assert (await task).status is ArtifactStatus.PROCESSING
    assert not foreground.is_busy()


async def test_an_inspection_reads_the_head_and_the_index_of_a_long_video(world: World, tmp_path: Path) -> None:
    environment, whole, key = world.environment, tmp_path / "whole.mp4", "videos/original/long/master.mp4"
    whole.write_bytes(spread_video(after=16 * MIB))
    await environment.objects.put_new(key, whole)
    async with downloaded(environment.objects, key, whole.stat().st_size, environment.scratch) as download:
        assert os.fstat(download.descriptor).st_blocks * 512 < HEAD_BYTES + MIB
        assert await probe(environment.sandbox, download.descriptor) == await probe(environment.sandbox, whole)
        assert await download.fetch_rest()
        assert os.pread(download.descriptor, 32 * MIB, 0) == whole.read_bytes()
        assert not await download.fetch_rest()


async def test_a_video_is_not_refused_for_what_was_left_out(world: World) -> None:
    """Its first picture comes late in the file."""
    upload = await world.uploaded(spread_video(before=16 * MIB))
    state = await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert state.status is ArtifactStatus.PROCESSING


async def test_a_process_that_dies_while_completing_is_continued(world: World) -> None:
    upload = await world.uploaded()
    async with another_process(world) as doomed:
        task = asyncio.create_task(doomed.parts.uploads.complete(world.ours, upload.artifact_hash))
        while await world.status(upload) is ArtifactStatus.UPLOADING:
            await asyncio.sleep(0)
        await doomed.parts.uploads.close()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await world.status(upload) is ArtifactStatus.COMPLETING

    assert await world.parts.owner.run_pass() is False
    assert await world.status(upload) is ArtifactStatus.COMPLETING, "its time is not over yet"
    world.later(minutes=16)
    await world.parts.owner.run_pass()
    assert await world.status(upload) is ArtifactStatus.PROCESSING
    assert len(await world.events(upload, "artifact.original_stored")) == 1


async def test_who_was_replaced_writes_nothing(world: World) -> None:
    upload = await world.uploaded()
    async with world.environment.database.transaction(world.ours) as transaction:
        old = await MultipartStore(transaction).claim(upload.artifact_hash, world.clock.now(), None)
    assert old
    await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    before = await world.artifact(upload)
    with pytest.raises(Conflict, match="another process"):
        await world.parts.owner._completion.run(old)
    assert await world.artifact(upload) == before


async def test_of_two_claims_the_newer_counts(world: World) -> None:
    upload = await world.uploaded()
    async with world.environment.database.transaction(world.ours) as transaction:
        await transitions.move(
            transaction, upload.artifact_hash, ArtifactStatus.COMPLETING, (ArtifactStatus.UPLOADING,)
        )
        store = MultipartStore(transaction)
        old, new = [await store.claim(upload.artifact_hash, world.clock.now(), None) for _ in range(2)]
    assert old
    assert new
    completion = world.parts.owner._completion
    with pytest.raises(Conflict, match="another process"):
        await completion.run(old)
    assert await world.status(upload) is ArtifactStatus.COMPLETING
    assert (await completion.run(new)).status is ArtifactStatus.PROCESSING
    assert await world.told(upload) == ["uploading", "completing", "processing"]


@pytest.mark.parametrize("sent", [True, False])
async def test_an_abandoned_upload_is_ended_and_freed(world: World, sent: bool) -> None:
    upload = await world.uploaded() if sent else await world.create()
    world.later(hours=23)
    assert await world.artifacts.presign_parts(world.ours, upload.artifact_hash, [1])
    world.later(hours=23)
    await world.parts.owner.run_pass()
    assert await world.status(upload) is ArtifactStatus.UPLOADING, "somebody asked for an address"

    world.later(hours=2)
    await world.parts.owner.run_pass()
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.reason and artifact.reason.code) == (ArtifactStatus.FAILED, "upload_abandoned")
    assert (await world.open_uploads(), await world.rows("multiparts")) == (0, 0)
    assert await world.told(upload) == ["uploading", "aborting", "failed"]
    with pytest.raises(Conflict, match="has failed"):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash)


async def test_a_sender_who_stops_frees_the_parts(world: World) -> None:
    upload = await world.uploaded()
    [address] = await world.artifacts.presign_parts(world.ours, upload.artifact_hash, [1])
    states = [await world.artifacts.abort_upload(world.ours, upload.artifact_hash) for _ in range(2)]
    assert [state.status for state in states] == [ArtifactStatus.FAILED, ArtifactStatus.FAILED]
    assert states[0] == states[1]
    assert (await world.open_uploads(), await world.rows("multiparts")) == (0, 0)
    async with httpx.AsyncClient(trust_env=False) as browser:
        assert (await browser.put(address.url, content=video())).status_code == httpx.codes.NOT_FOUND
    for call in (
        world.artifacts.presign_parts(world.ours, upload.artifact_hash, [1]),
        world.artifacts.list_parts(world.ours, upload.artifact_hash),
        world.artifacts.complete_upload(world.ours, upload.artifact_hash),
    ):
        with pytest.raises(Conflict):
            await call


async def test_what_is_stored_cannot_be_stopped_any_more(world: World) -> None:
    upload = await world.processing()
    with pytest.raises(Conflict):
        await world.artifacts.abort_upload(world.ours, upload.artifact_hash)
    assert await world.status(upload) is ArtifactStatus.PROCESSING


async def test_deleting_an_unfinished_upload_frees_its_parts(world: World) -> None:
    upload = await world.uploaded()
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    assert (await world.open_uploads(), await world.rows("multiparts"), await world.stored_keys()) == (0, 0, [])
    with pytest.raises(NotFound):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert (await world.told(upload))[-1] == "deleted"


async def test_a_delete_while_completing_wins(world: World) -> None:
    upload = await world.uploaded()
    completing = asyncio.create_task(world.artifacts.complete_upload(world.ours, upload.artifact_hash))
    while await world.status(upload) is ArtifactStatus.UPLOADING:
        await asyncio.sleep(0)
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    with pytest.raises(TouchlineError):
        await completing
    assert await world.status(upload) is ArtifactStatus.DELETED
    world.later(hours=1)
    await world.parts.owner.run_pass()
    assert (await world.stored_keys(), await world.open_uploads(), await world.rows("multiparts")) == ([], 0, 0)
    assert await world.events(upload, "artifact.original_stored") == []


async def test_parts_that_the_store_lost_end_the_upload(world: World) -> None:
    upload = await world.uploaded()
    [found] = (await world.environment.objects.uploads.list()).uploads
    await world.environment.objects.uploads.abort(found)
    with pytest.raises(Conflict, match="no longer has the parts"):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.reason and artifact.reason.code) == (ArtifactStatus.FAILED, "upload_lost")


async def test_troubles_of_ours_give_the_upload_back(world: World, tmp_path: Path) -> None:
    upload = await world.uploaded()
    async with another_process(
        replace(world, environment=replace(world.environment, scratch=tmp_path / "gone"))
    ) as other:
        with pytest.raises(Unavailable, match="not enough disk space"):
            await other.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert await world.status(upload) is ArtifactStatus.UPLOADING
    assert (await world.artifacts.complete_upload(world.ours, upload.artifact_hash)).status is ArtifactStatus.PROCESSING
    assert await world.told(upload) == ["uploading", "completing", "uploading", "completing", "processing"]


@pytest.mark.parametrize("numbers", [[], [0], [2], [-1], list(range(1, 102))])
async def test_addresses_are_for_parts_of_this_upload(world: World, numbers: list[int]) -> None:
    upload = await world.create()
    with pytest.raises(InvalidInput) as caught:
        await world.artifacts.presign_parts(world.ours, upload.artifact_hash, numbers)
    assert caught.value.field == "numbers"


async def test_an_address_says_how_much_it_takes_and_hides_in_logs(world: World) -> None:
    upload = await world.create(large_video())
    addresses = await world.artifacts.presign_parts(world.ours, upload.artifact_hash, [2, 1, 2])
    assert [address.number for address in addresses] == [1, 2]
    assert sum(address.size_bytes for address in addresses) == upload.size_bytes
    assert "http" not in repr(addresses)


async def test_what_was_begun_and_not_noted_is_ended_in_the_end(world: World) -> None:
    upload = await world.uploaded()
    await world.environment.objects.uploads.begin(original(upload))
    assert await world.open_uploads() == 2
    await world.artifacts.complete_upload(world.ours, upload.artifact_hash)
    assert await world.open_uploads() == 0


async def test_an_upload_that_nobody_knows_is_freed_when_its_time_is_over(world: World) -> None:
    uploads = world.environment.objects.uploads
    known, stray = await world.uploaded(), await uploads.begin("videos/original/of-nobody/master.mp4")
    elsewhere = await uploads.begin("renditions/1")
    await uploads.send_part(stray, 1, b"bytes that nobody counts")
    world.until(datetime.now(UTC))
    assert await world.parts.open_uploads.run_pass() is False
    assert await world.open_uploads() == 3, "whoever began them may still note it"
    world.later(hours=25)
    await world.artifacts.presign_parts(world.ours, known.artifact_hash, [1])
    assert await world.parts.open_uploads.run_pass() is False
    assert [upload.key for upload in (await uploads.list()).uploads] == [original(known)]
    for gone in (stray, elsewhere):
        with pytest.raises(NotFound):
            await uploads.parts(gone)


async def test_a_part_that_is_sent_over_and_over_ends_its_upload_and_is_freed(world: World) -> None:
    upload = await world.create(b"1")
    for _ in range(13):
        await world.send_part(upload.artifact_hash, 1, b"1")
    await world.parts.open_uploads.run_pass()
    assert await world.status(upload) is ArtifactStatus.UPLOADING, "answers get lost"
    await world.send_part(upload.artifact_hash, 1, b"1")
    await world.parts.open_uploads.run_pass()
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.reason and artifact.reason.code) == (ArtifactStatus.FAILED, "upload_overfilled")
    assert (await world.open_uploads(), await world.rows("multiparts"), await world.stored_keys()) == (0, 0, [])
    with pytest.raises(Conflict, match="has failed"):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash)

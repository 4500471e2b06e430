"""Registering, listing, finding and deleting uploads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from touchline.contracts.artifacts import ArtifactStatus, PartLayout
from touchline.contracts.registry import NewUpload, RowKey, RowWindow, Upload
from touchline.contracts.settings import ByteSize
from touchline.kernel import (
    ArtifactHash,
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Principal,
    QuotaExceeded,
    Role,
    Scope,
    Unauthenticated,
    Unavailable,
)
from touchline.platform.rpc.client import RpcClient
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.registry.service import RegistryService

from .conftest import RPC, SECRET, World, another_process, both_ways, principal

pytestmark = both_ways

NEW = NewUpload(idempotency_key="the same", file_name="match.mp4", size_bytes=1000, title="The match")


async def test_an_upload_is_registered_and_ready_for_its_parts(world: World) -> None:
    new = replace(NEW, file_name="Finale 2:1 - Öö.MKV", title="", content_type="application/octet-stream")
    created = await world.registry.create_upload(world.ours, new)
    upload = created.upload
    assert (upload.title, upload.file_name, upload.size_bytes) == ("Finale 2:1 - Öö", new.file_name, 1000)
    assert (upload.user_id, upload.created_at, upload.expires_at) == (world.ours.user_id, world.clock.now(), None)
    assert (created.part_size_bytes, created.part_count) == (20 * 1024**2, 1)
    artifact = await world.artifact(upload)
    assert (artifact.status, artifact.content_type) == (ArtifactStatus.UPLOADING, "video/x-matroska")
    assert artifact.original_key.endswith("/master.mkv")
    [registered] = await world.events(upload, "artifact.registered")
    assert registered["playback_id"] == upload.playback_id
    assert registered["user_id"] == str(world.ours.user_id)
    [told] = await world.events(upload)
    assert (told["status"], told["revision"]) == ("uploading", artifact.revision)


async def test_the_same_key_is_one_upload_however_many_ask(world: World) -> None:
    async with another_process(world) as other:
        clients = [world.registry, other.registry] * 5
        answers = await asyncio.gather(*(one.create_upload(world.ours, NEW) for one in clients))
    assert len({answer.upload.artifact_hash for answer in answers}) == 1
    assert (await world.rows("uploads"), await world.rows("artifacts"), await world.open_uploads()) == (1, 1, 1)
    upload = answers[0].upload
    assert await world.told(upload) == ["uploading"]
    assert len(await world.events(upload, "artifact.registered")) == 1
    theirs = await world.registry.create_upload(world.theirs, NEW)
    assert theirs.upload.artifact_hash != upload.artifact_hash


@pytest.mark.parametrize("change", [{"file_name": "other.mp4"}, {"size_bytes": 1001}, {"title": "Another"}])
async def test_a_key_is_for_one_request(world: World, change: dict[str, str]) -> None:
    await world.registry.create_upload(world.ours, NEW)
    with pytest.raises(InvalidInput, match="was already used") as caught:
        await world.registry.create_upload(world.ours, replace(NEW, **change))
    assert caught.value.field == "idempotency_key"
    assert next(iter(change)).replace("_", " ") in caught.value.why
    assert await world.rows("uploads") == 1


class Silent:
    """An artifacts role that takes the call and never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def create_upload(
        self, caller: Principal, artifact_hash: ArtifactHash, file_name: str, size_bytes: int
    ) -> PartLayout:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def delete_artifact(self, caller: Principal, artifact_hash: ArtifactHash) -> int:
        raise AssertionError


async def register_and_die(world: World) -> None:
    """A process that ends between the two steps."""
    artifacts = Silent()
    registry = RegistryService(world.environment.database, artifacts, world.environment.settings, world.clock)
    task = asyncio.create_task(registry.create_upload(world.ours, NEW))
    await artifacts.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_crash_between_the_steps_is_continued_by_the_same_key(world: World) -> None:
    await register_and_die(world)
    [half] = (await world.registry.listed(world.ours)).uploads
    assert not (await world.record(half)).placed
    created = await world.registry.create_upload(world.ours, NEW)
    assert created.upload.artifact_hash == half.artifact_hash
    assert (await world.record(half)).placed
    assert await world.status(half) is ArtifactStatus.UPLOADING
    assert len(await world.events(half, "artifact.registered")) == 1


async def test_a_record_that_stays_half_ends_and_can_still_be_continued(world: World) -> None:
    await register_and_die(world)
    [half] = (await world.registry.listed(world.ours)).uploads
    assert await world.parts.unplaced.run_pass() is False
    assert not (await world.record(half)).failed, "its time is not over yet"
    world.later(minutes=11)
    for _ in range(2):
        await world.parts.unplaced.run_pass()
    assert (await world.record(half)).failed
    [told] = await world.events(half)
    assert (told["status"], told["error_code"], told["revision"]) == ("failed", "upload_abandoned", 0)
    await world.registry.create_upload(world.ours, NEW)
    assert await world.told(half) == ["failed", "uploading"]
    assert not (await world.record(half)).failed


async def test_a_second_step_that_fails_is_told_and_can_be_repeated(world: World) -> None:
    async with RpcClient("127.0.0.1:1", SECRET, RPC) as nowhere:
        registry = RegistryService(
            world.environment.database, GrpcArtifactClient(nowhere), world.environment.settings, world.clock
        )
        for _ in range(2):
            with pytest.raises(Unavailable):
                await registry.create_upload(world.ours, NEW)
    [upload] = (await world.registry.listed(world.ours)).uploads
    assert (await world.record(upload)).failed
    assert upload.expires_at == world.clock.now() + world.environment.settings.retention
    assert [told["error_code"] for told in await world.events(upload)] == ["unavailable"] * 2
    created = await world.registry.create_upload(world.ours, NEW)
    assert created.upload.artifact_hash == upload.artifact_hash
    record = await world.record(upload)
    assert (record.placed, record.failed, record.upload.expires_at) == (True, False, None)


async def test_a_failed_upload_is_not_begun_again_under_its_key(world: World) -> None:
    upload = (await world.registry.create_upload(world.ours, NEW)).upload
    await world.artifacts.abort_upload(world.ours, upload.artifact_hash)
    with pytest.raises(Conflict, match="has failed"):
        await world.registry.create_upload(world.ours, NEW)
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    with pytest.raises(Conflict, match="was deleted"):
        await world.registry.create_upload(world.ours, NEW)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"file_name": "../../etc/passwd.mp4"}, "file_name"),
        ({"file_name": "..\\match.mp4"}, "file_name"),
        ({"file_name": "a\0b.mp4"}, "file_name"),
        ({"file_name": "gnp.\u202e4pm.mp4"}, "file_name"),
        ({"file_name": "x" * 300 + ".mp4"}, "file_name"),
        ({"file_name": ""}, "file_name"),
        ({"file_name": "letter.pdf"}, "file_name"),
        ({"file_name": "no ending"}, "file_name"),
        ({"size_bytes": 0}, "size_bytes"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"title": "a\x07b"}, "title"),
        ({"title": "x" * 256}, "title"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "k" * 201}, "idempotency_key"),
        ({"content_type": "text/html"}, "content_type"),
    ],
)
async def test_bad_requests_name_the_field_and_leave_nothing(world: World, change: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await world.registry.create_upload(world.ours, replace(NEW, **change))
    assert caught.value.field == field
    assert (await world.rows("uploads"), await world.rows("identities"), await world.open_uploads()) == (0, 0, 0)


async def test_a_file_has_a_largest_size(world: World) -> None:
    with pytest.raises(LimitExceeded, match="too large"):
        await world.create(size_bytes=64 * 1024**2 + 1)


async def test_a_tenant_has_so_many_uploads_at_once(world: World) -> None:
    new = [replace(NEW, idempotency_key=f"key {number}") for number in range(8)]
    answers = await asyncio.gather(
        *(world.registry.create_upload(world.ours, one) for one in new), return_exceptions=True
    )
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert (len(refused), {type(answer) for answer in refused}) == (3, {QuotaExceeded})
    assert await world.rows("uploads") == 5
    await world.create(caller=world.theirs)

    [first, *_] = (await world.registry.listed(world.ours)).uploads
    await world.artifacts.abort_upload(world.ours, first.artifact_hash)
    await world.create()


async def test_a_tenant_has_so_much_room(world: World) -> None:
    async with another_process(world, stored_quota=ByteSize(2500)) as other:
        first = await other.create(size_bytes=1500)
        with pytest.raises(QuotaExceeded, match="storage quota"):
            await other.create(size_bytes=1001)
        await other.create(size_bytes=1000)
        await other.registry.delete_upload(world.ours, first.artifact_hash)
        await other.create(size_bytes=1500)


async def test_what_is_half_registered_counts_once(world: World) -> None:
    await register_and_die(world)
    async with another_process(world, concurrent_uploads=1) as other:
        with pytest.raises(QuotaExceeded):
            await other.create()
        await other.registry.create_upload(world.ours, NEW)


@pytest.mark.parametrize("ask", ["create", "delete", "abort", "complete", "presign"])
async def test_who_may_only_look_changes_nothing(world: World, ask: str) -> None:
    upload = await world.create()
    viewer = principal(Role.VIEWER, world.ours.tenant_id)
    reader = replace(world.ours, scopes=frozenset({Scope.READ}))
    for caller in (viewer, reader):
        calls = {
            "create": world.registry.create_upload(caller, NEW),
            "delete": world.registry.delete_upload(caller, upload.artifact_hash),
            "abort": world.artifacts.abort_upload(caller, upload.artifact_hash),
            "complete": world.artifacts.complete_upload(caller, upload.artifact_hash),
            "presign": world.artifacts.presign_parts(caller, upload.artifact_hash, [1]),
        }
        wanted = calls.pop(ask)
        for call in calls.values():
            call.close()
        with pytest.raises(Forbidden):
            await wanted
        assert len((await world.registry.listed(caller)).uploads) == 1
    assert await world.status(upload) is ArtifactStatus.UPLOADING


async def test_nobody_in_particular_is_nobody(world: World) -> None:
    with pytest.raises(Unauthenticated):
        await world.registry.create_upload(None, NEW)  # pyright: ignore[reportArgumentType]


# --- pages


async def several(world: World, count: int) -> list[Upload]:
    """Newest first. Some have the same time, so that the hash decides."""
    async with another_process(world, concurrent_uploads=100) as other:
        uploads: list[Upload] = []
        for number in range(count):
            uploads.append(await other.create(title=f"{number}"))
            if number % 3 == 2:
                world.later(microseconds=1)
    return sorted(uploads, key=lambda upload: (upload.created_at, upload.artifact_hash), reverse=True)


def place(upload: Upload) -> RowKey:
    return RowKey(upload.created_at, upload.artifact_hash)


def titles(uploads: Sequence[Upload]) -> list[str]:
    return [upload.title for upload in uploads]


async def test_pages_are_exact_both_ways(world: World) -> None:
    uploads = await several(world, 8)
    forward: list[str] = []
    window = RowWindow(size=3)
    while True:
        page = await world.registry.listed(world.ours, window)
        assert (page.total_count, page.has_previous) == (8, bool(forward))
        forward += titles(page.uploads)
        if not page.has_next:
            break
        window = replace(window, after=place(page.uploads[-1]))
    assert forward == titles(uploads)

    backward: list[str] = []
    window = RowWindow(size=3, from_the_end=True)
    while True:
        page = await world.registry.listed(world.ours, window)
        assert (page.total_count, page.has_next) == (8, bool(backward))
        backward = titles(page.uploads) + backward
        if not page.has_previous:
            break
        window = replace(window, before=place(page.uploads[0]))
    assert backward == titles(uploads)


async def test_pages_stay_exact_when_rows_come_and_go(world: World) -> None:
    uploads = await several(world, 6)
    middle = RowWindow(size=2, after=place(uploads[1]))
    await world.registry.delete_upload(world.ours, uploads[1].artifact_hash)
    world.later(seconds=1)
    async with another_process(world, concurrent_uploads=100) as other:
        newest = await other.create(title="newest")
    page = await world.registry.listed(world.ours, middle)
    assert titles(page.uploads) == titles(uploads[2:4])
    assert (page.has_previous, page.has_next, page.total_count) == (True, True, 6)
    first = await world.registry.listed(world.ours, RowWindow(size=1))
    assert titles(first.uploads) == [newest.title]


async def test_windows_at_the_edges(world: World) -> None:
    empty = await world.registry.listed(world.ours)
    assert (empty.uploads, empty.has_next, empty.has_previous, empty.total_count) == ([], False, False, 0)
    uploads = await several(world, 4)
    behind = await world.registry.listed(world.ours, RowWindow(after=place(uploads[-1])))
    assert (behind.uploads, behind.has_next, behind.has_previous, behind.total_count) == ([], False, True, 4)
    before = await world.registry.listed(world.ours, RowWindow(before=place(uploads[0]), from_the_end=True))
    assert (before.uploads, before.has_next, before.has_previous) == ([], True, False)
    between = RowWindow(after=place(uploads[0]), before=place(uploads[3]))
    page = await world.registry.listed(world.ours, between)
    assert (titles(page.uploads), page.has_next, page.has_previous) == (titles(uploads[1:3]), True, True)
    nothing = await world.registry.listed(world.ours, replace(between, before=place(uploads[1])))
    assert (nothing.uploads, nothing.has_next, nothing.has_previous) == ([], True, True)
    wrong = [
        RowWindow(size=0),
        RowWindow(size=-1),
        RowWindow(size=501),
        RowWindow(after=RowKey(world.clock.now(), "\0")),
    ]
    for window in wrong:
        with pytest.raises(InvalidInput):
            await world.registry.listed(world.ours, window)


async def test_uploads_are_found_by_their_hashes(world: World) -> None:
    uploads = await several(world, 3)
    await world.registry.delete_upload(world.ours, uploads[0].artifact_hash)
    theirs = await world.create(caller=world.theirs)
    asked = [*(one.artifact_hash for one in uploads), theirs.artifact_hash, uuid4().hex, "nonsense", "\0"]
    found = await world.registry.uploads(world.ours, asked)
    assert {one.artifact_hash for one in found} == {one.artifact_hash for one in uploads[1:]}
    with pytest.raises(InvalidInput):
        await world.registry.uploads(world.ours, ["x"] * 501)


# --- deleting and resolving


async def test_deleting_hides_at_once_and_again_is_the_same(world: World) -> None:
    upload = await world.processing()
    for _ in range(2):
        await world.registry.delete_upload(world.ours, upload.artifact_hash)
    assert (await world.registry.listed(world.ours)).total_count == 0
    assert await world.status(upload) is ArtifactStatus.DELETED
    assert (await world.told(upload)).count("deleted") == 1
    assert await world.stored_keys() != [], "the original stays until it is purged"


async def test_a_record_without_an_artifact_can_be_deleted(world: World) -> None:
    await register_and_die(world)
    [half] = (await world.registry.listed(world.ours)).uploads
    await world.registry.delete_upload(world.ours, half.artifact_hash)
    assert (await world.registry.listed(world.ours)).total_count == 0
    assert await world.told(half) == ["deleted"]


async def test_addresses_lead_to_artifacts_across_tenants(world: World) -> None:
    upload = await world.create()
    by_id = await world.registry.resolve_playback_id(upload.playback_id.upper())
    by_name = await world.registry.resolve_internal_name(f"vod+{upload.internal_name}")
    assert by_id == by_name
    assert (by_id.tenant_id, by_id.artifact_hash) == (world.ours.tenant_id, upload.artifact_hash)
    assert by_id.user_id == world.ours.user_id
    for wrong in ("0" * 16, "", "../../etc", "x" * 16):
        with pytest.raises(NotFound):
            await world.registry.resolve_playback_id(wrong)
        with pytest.raises(NotFound):
            await world.registry.resolve_internal_name(wrong)

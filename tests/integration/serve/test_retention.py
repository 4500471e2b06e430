"""How artifacts go: by retention, by a purge, and at last from the registry; by limits, by whom, and whatever dies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from touchline.apps.doctor import tasks_finding
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import HoldingReleased
from touchline.contracts.events.videos import VideoPurged
from touchline.contracts.registry import Clip, NewUpload, Upload
from touchline.kernel import ArtifactHash, NotFound, Principal, Scope, Unavailable
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.periodic.runner import PeriodicRunner
from touchline.platform.periodic.store import list_tasks
from touchline.platform.rpc.client import RpcClient
from touchline.platform.settings import ObjectsSettings, PeriodicSettings
from touchline.platform.stack.doctor import FindingLevel
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.registry.service import RegistryService
from touchline.serve.retention.rules import RetentionReport, Stage
from touchline.serve.retention.service import Expiry, Purger, RegistryCleanup, RetentionContext, SilenceOwner
from touchline.serve.retention.store import RetentionStore

from .conftest import RPC, SECRET, World
from .test_clips import made, playable, wanted
from .test_lifecycle import failed, retried, transcoded

HOUR = timedelta(hours=1)


class Killed(BaseException):
    """The process ends here."""


def done(report: RetentionReport, stage: Stage) -> list[str]:
    return [one.artifact_hash for each in report.stages if each.stage is stage for one in each.artifacts]


async def ready_clip(world: World, source: Upload, start_ms: int = 10_000) -> Clip:
    clip = (await world.registry.create_clip(world.ours, wanted(source, start_ms, start_ms + 2000))).clip
    await made(world, clip)
    await world.consume(transcoded(clip))
    return clip


async def pin(world: World, artifact_hash: str, *, pinned: bool = True) -> None:
    async with world.environment.database.transaction(world.ours) as transaction:
        await transitions.pin(transaction, ArtifactHash(artifact_hash), pinned=pinned)


async def released(world: World, artifact_hash: str, holders: Sequence[str] = ("process", "watch")) -> None:
    """The other planes' answers, each twice."""
    for holder in (*holders, *holders):
        if holder == "process":
            await world.consume(VideoPurged(artifact_hash=artifact_hash, objects=0))
        else:
            await world.consume(HoldingReleased(artifact_hash=artifact_hash, holder=holder))


async def delete_for_good(world: World, *uploads: Upload) -> None:
    for upload in uploads:
        await world.registry.delete_upload(world.ours, upload.artifact_hash)
    world.later(days=31)
    await world.pass_of(Purger)
    for upload in uploads:
        await released(world, upload.artifact_hash)


async def column(world: World, name: str, artifact_hash: str) -> Any:
    query = f"SELECT {name} FROM serve.artifacts WHERE artifact_hash = %s"  # noqa: S608
    async with world.environment.database.transaction(world.ours) as transaction:
        [(value,)] = await (await transaction.connection.execute(query.encode(), (artifact_hash,))).fetchall()
    return value


async def test_what_is_finished_and_over_its_time_is_deleted_whatever_it_is(world: World) -> None:
    source, broken, sent = await playable(world), await world.processing(), await world.create()
    await world.consume(failed(broken))
    clip, pinned = await ready_clip(world, source), await ready_clip(world, source, 20_000)
    requested = (await world.registry.create_clip(world.ours, wanted(source, 30_000, 32_000))).clip
    await pin(world, pinned.artifact_hash)
    world.later(days=31)
    report = await world.pass_of(Expiry)
    assert set(done(report, Stage.EXPIRE)) == {
        source.artifact_hash, broken.artifact_hash, clip.artifact_hash
    }, "pinned ones stay, of every type, and so does what is sent or worked on"  # fmt: skip
    assert await world.status(sent) is ArtifactStatus.UPLOADING
    listed = (await world.registry.listed_clips(world.ours)).clips
    assert {one.artifact_hash for one in listed} == {pinned.artifact_hash, requested.artifact_hash}
    await pin(world, pinned.artifact_hash, pinned=False)
    assert done(await world.pass_of(Expiry), Stage.EXPIRE) == [pinned.artifact_hash]
    assert done(await world.pass_of(Expiry), Stage.EXPIRE) == []


async def test_a_clock_a_year_ahead_deletes_one_limits_worth_an_interval_and_says_so(world: World) -> None:
    source = await playable(world)
    clips = [await ready_clip(world, source, start) for start in (1000, 2000, 3000, 4000)]
    world.later(days=365)
    context = RetentionContext(
        world.environment.database, world.environment.objects, world.environment.settings, world.clock
    )
    machines = [
        PeriodicRunner(context.database, [Expiry(context, HOUR, 2).task], PeriodicSettings(), name)
        for name in ("one", "two")
    ]
    await machines[0].register()

    async def deleted() -> int:
        return len([one for one in (source, *clips) if await column(world, "deleted_at", one.artifact_hash)])

    for interval in (1, 2):
        assert [await machine.step() for machine in machines] == [True, False]
        by_hand = await Expiry(context, HOUR, 2).run()
        assert done(by_hand, Stage.EXPIRE) == [], "nor does anybody get more by hand"
        dry = await Expiry(context, HOUR, 2).run(dry_run=True)
        assert (done(dry, Stage.EXPIRE), dry.limited) == ([], True), "and a dry run says so"
        assert await deleted() == 2 * interval
        [task] = await list_tasks(context.database)
        assert task.limited_since is not None
        assert tasks_finding([task]).level is FindingLevel.WARN
        async with context.database.system("test: let the interval pass") as transaction:
            past = "next_run_at = next_run_at - every, quota_started_at = quota_started_at - every"
            await transaction.connection.execute(f"UPDATE platform.periodic SET {past}".encode())  # noqa: S608
    assert await machines[1].step()
    assert await deleted() == 5
    [task] = await list_tasks(context.database)
    assert task.limited_since is None


async def test_a_deleted_artifact_is_called_out_for_purge_once_and_in_its_time(world: World) -> None:
    deleted, living = await world.create(), await world.create()
    await world.registry.delete_upload(world.ours, deleted.artifact_hash)
    world.later(days=29)
    await world.pass_of(Purger)
    assert await world.events(deleted, "artifact.purge_due") == []
    world.later(days=1)
    for _ in range(2):
        await world.pass_of(Purger)
    [due] = await world.events(deleted, "artifact.purge_due")
    assert (due["revision"], due["actor"]) == ((await world.artifact(deleted)).revision, "purge")
    assert await world.events(living, "artifact.purge_due") == []
    world.later(days=1)
    await world.consume(VideoPurged(artifact_hash=deleted.artifact_hash, objects=0))
    await world.pass_of(Purger)
    assert len(await world.events(deleted, "artifact.purge_due")) == 2, "an answer may be lost: it is asked again"


async def test_purges_have_a_limit_as_well(world: World) -> None:
    uploads = [await world.create() for _ in range(3)]
    for upload in uploads:
        await world.registry.delete_upload(world.ours, upload.artifact_hash)
        world.later(seconds=1)
    world.later(days=31)
    report = await world.pass_of(Purger, most=1)
    assert (done(report, Stage.PURGE_DUE), report.limited) == ([uploads[0].artifact_hash], True)


async def test_bytes_go_when_all_have_answered_and_rows_after_the_audit_period(world: World) -> None:
    upload, other = await world.processing(), await world.processing()
    await world.consume(transcoded(upload))
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    world.later(days=31)
    await world.pass_of(Purger)
    await released(world, upload.artifact_hash, ("process",))
    assert done(await world.pass_of(Purger), Stage.PURGE) == []
    await released(world, upload.artifact_hash)
    original = (await world.artifact(upload)).original_key
    assert original in await world.stored_keys()
    stray = original.replace("master", "half")
    await world.environment.objects.put_new(stray, b"left behind")
    assert done(await world.pass_of(Purger), Stage.PURGE) == [upload.artifact_hash]
    assert await world.stored_keys() == [(await world.artifact(other)).original_key]
    [purged] = await world.events(upload, "artifact.purged")
    assert purged["actor"] == "purge"

    await world.pass_of(RegistryCleanup)
    assert await world.events(upload, "artifact.forget_due") == []
    world.later(days=90)
    for _ in range(2):
        await world.pass_of(RegistryCleanup)
    assert len(await world.events(upload, "artifact.forget_due")) == 1
    assert await world.rows("identities") == 2
    await released(world, upload.artifact_hash, ("measure",))
    await world.pass_of(RegistryCleanup)
    left = [await world.rows(table) for table in ("identities", "uploads", "artifacts", "multiparts", "watched")]
    assert left == [1, 1, 1, 0, 0]
    assert await world.status(other) is ArtifactStatus.PROCESSING


async def test_an_error_of_the_store_keeps_the_row_and_shows(world: World, bucket: ObjectsEndpoint) -> None:
    refused, other = await world.processing(), await world.processing()
    await delete_for_good(world, refused, other)
    kept = await world.stored_keys()
    settings = world.environment.settings
    async with ObjectStore(replace(bucket, secret_key="of somebody else"), ObjectsSettings()) as locked:
        context = RetentionContext(world.environment.database, locked, settings, world.clock)
        task = Purger(context, HOUR, 100).task
        with pytest.raises(Unavailable, match="could not be deleted"):
            await task.run_pass()
    assert await world.stored_keys() == kept
    for upload in (refused, other):
        assert await column(world, "purged_at", upload.artifact_hash) is None
        assert await column(world, "purge_error", upload.artifact_hash)
    assert done(await world.pass_of(Purger), Stage.PURGE) == [], "not at once"
    world.later(seconds=settings.retry_delay.total_seconds())
    assert len(done(await world.pass_of(Purger), Stage.PURGE)) == 2
    assert await world.stored_keys() == []
    assert await column(world, "purge_error", refused.artifact_hash) is None


async def test_a_process_killed_between_bytes_and_row_is_no_harm(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = await world.processing()
    await delete_for_good(world, upload)

    async def dies(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(RetentionStore, "purged", dies)
        await world.pass_of(Purger)
    assert await world.stored_keys() == []
    assert await column(world, "purged_at", upload.artifact_hash) is None
    assert await world.events(upload, "artifact.purged") == []
    assert done(await world.pass_of(Purger), Stage.PURGE) == [upload.artifact_hash]
    assert len(await world.events(upload, "artifact.purged")) == 1


async def test_a_purge_waits_for_parts_and_for_copies_on_nodes(world: World) -> None:
    upload = await world.processing()
    await delete_for_good(world, upload)
    values = {"tenant_id": world.ours.tenant_id, "hash": upload.artifact_hash}
    async with world.environment.database.transaction(world.ours) as transaction:
        await transaction.connection.execute(NODE, values)
        await transaction.connection.execute(COPY, values)
    assert done(await world.pass_of(Purger), Stage.PURGE) == []
    async with world.environment.database.transaction(world.ours) as transaction:
        await transaction.connection.execute("UPDATE serve.artifact_nodes SET state = 'gone', gone_at = now()")
        await transaction.connection.execute(PART, values)
    assert done(await world.pass_of(Purger), Stage.PURGE) == []
    async with world.environment.database.transaction(world.ours) as transaction:
        await transaction.connection.execute("DELETE FROM serve.multiparts")
    assert done(await world.pass_of(Purger), Stage.PURGE) == [upload.artifact_hash]


NODE = """
INSERT INTO serve.nodes (node_id, instance_id, connection_id, base_url, version, status, registered_at, last_seen_at)
VALUES ('a-node', gen_random_uuid(), gen_random_uuid(), 'http://n', '1', 'present', now(), now()) ON CONFLICT DO NOTHING
"""
COPY = """
INSERT INTO serve.artifact_nodes (tenant_id, artifact_hash, node_id, state, manifest_key, last_seen_at)
VALUES (%(tenant_id)s, %(hash)s, 'a-node', 'evicting', 'm', now())
"""
PART = """
INSERT INTO serve.multiparts (tenant_id, artifact_hash, object_key, size_bytes, part_bytes, due_at)
VALUES (%(tenant_id)s, %(hash)s, 'k', 1, 1, now())
"""


async def test_a_record_that_never_got_an_artifact_goes_the_same_way(world: World) -> None:
    async with RpcClient("127.0.0.1:1", SECRET, RPC) as nowhere:
        settings = world.environment.settings
        registry = RegistryService(world.environment.database, GrpcArtifactClient(nowhere), settings, world.clock)
        with pytest.raises(Unavailable):
            await registry.create_upload(world.ours, NewUpload(uuid4().hex, "match.mp4", 1000, "The match"))
    [upload] = (await world.registry.listed(world.ours)).uploads
    world.later(days=30)
    assert done(await world.pass_of(Expiry), Stage.EXPIRE) == [upload.artifact_hash]
    assert (await world.registry.listed(world.ours)).total_count == 0
    assert (await world.events(upload))[-1]["actor"] == "retention"
    world.later(days=90)
    await world.pass_of(RegistryCleanup)
    await released(world, upload.artifact_hash, ("measure",))
    await world.pass_of(RegistryCleanup)
    assert await world.rows("identities") == await world.rows("uploads") == 0


async def test_processing_of_which_nobody_reports_ends_and_a_report_brings_it_back(world: World) -> None:
    upload = await world.processing()
    clip = (await world.registry.create_clip(world.ours, wanted(await playable(world)))).clip
    world.later(days=6)
    await world.consume(retried(upload, 2))
    world.later(days=1)
    assert done(await world.pass_of(SilenceOwner), Stage.FAIL) == [clip.artifact_hash]
    world.later(days=6)
    assert done(await world.pass_of(SilenceOwner), Stage.FAIL) == [upload.artifact_hash]
    artifact = await world.artifact(upload)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (ArtifactStatus.FAILED, "processing_silent")
    await world.consume(transcoded(upload, 2))
    assert await world.status(upload) is ArtifactStatus.READY


async def test_a_dry_run_says_what_and_why_and_changes_nothing(world: World) -> None:
    expired, deleted = await playable(world), await world.processing()
    await delete_for_good(world, deleted)
    events = len(await world.events(expired))
    reports = [await world.pass_of(kind, dry_run=True) for kind in (Expiry, Purger)]
    totals = {total.stage: total for report in reports for total in report.totals}
    size_bytes = (await world.artifact(deleted)).size_bytes
    assert (totals[Stage.EXPIRE].artifacts, totals[Stage.EXPIRE].freed_bytes) == (1, 0)
    assert (totals[Stage.PURGE].tenant_id, totals[Stage.PURGE].freed_bytes) == (world.ours.tenant_id, size_bytes)
    assert await world.status(expired) is ArtifactStatus.READY
    assert len(await world.events(expired)) == events
    assert len(await world.stored_keys()) == 1


async def test_who_deleted_undeleted_and_pinned_is_on_record(world: World) -> None:
    upload = await playable(world)
    program = Principal(world.ours.tenant_id, world.ours.user_id, world.ours.role, frozenset({Scope.WRITE}))
    await world.registry.delete_upload(world.ours, upload.artifact_hash)
    await world.artifacts.undelete_artifact(program, upload.artifact_hash)
    await pin(world, upload.artifact_hash)
    person, token = f"user:{world.ours.user_id}", f"token:{world.ours.user_id}"
    acts = [(event["status"], event["actor"]) for event in await world.events(upload)][-2:]
    assert acts == [("deleted", person), ("ready", token)]
    assert [event["actor"] for event in await world.events(upload, "artifact.undeleted")] == [token]
    pins = [(event["pinned"], event["actor"]) for event in await world.events(upload, "artifact.pinned")]
    assert pins == [(True, person)]
    await pin(world, upload.artifact_hash, pinned=False)
    world.later(days=31)
    await world.pass_of(Expiry)
    assert (await world.events(upload))[-1]["actor"] == "retention"
    with pytest.raises(NotFound):
        await world.artifacts.resolve_viewer_endpoint(upload.playback_id)

"""When a deleted artifact is gone for good."""

from __future__ import annotations

from touchline.serve.retention.service import PurgeCaller

from .conftest import World


async def test_a_deleted_artifact_is_called_out_for_purge_once_and_in_its_time(world: World) -> None:
    environment = world.environment
    caller = PurgeCaller(environment.database, environment.settings, world.clock)
    deleted, living = await world.create(), await world.create()
    await world.registry.delete_upload(world.ours, deleted.artifact_hash)
    world.later(days=29)
    await caller.run_pass()
    assert await world.events(deleted, "artifact.purge_due") == []
    world.later(days=1)
    for _ in range(2):
        assert not await caller.run_pass()
    [due] = await world.events(deleted, "artifact.purge_due")
    assert due["revision"] == (await world.artifact(deleted)).revision
    assert await world.events(living, "artifact.purge_due") == []


async def test_a_clock_that_jumps_purges_a_bounded_number_at_a_time(world: World) -> None:
    environment = world.environment
    settings = environment.settings.model_copy(update={"most_per_pass": 1})
    caller = PurgeCaller(environment.database, settings, world.clock)
    uploads = [await world.create() for _ in range(2)]
    for upload in uploads:
        await world.registry.delete_upload(world.ours, upload.artifact_hash)
    world.later(days=31)
    assert await caller.run_pass()
    assert sum([len(await world.events(upload, "artifact.purge_due")) for upload in uploads]) == 1

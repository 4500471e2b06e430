"""Another tenant's id is one that does not exist: the same error, word for word, and nothing moves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import ArtifactChange, ClipFilter, NewClip
from touchline.kernel import ArtifactHash, TouchlineError
from touchline.serve.artifacts.rpc import SERVICE as ARTIFACTS
from touchline.serve.registry.rpc import SERVICE as REGISTRY

from .conftest import World, both_ways


def clip_of(source: str) -> NewClip:
    return NewClip(ArtifactHash(source), 0, 500, requested_params={"from": "here"})


Asking = Callable[[World, str], Awaitable[object]]

# Every call that takes the hash of an artifact, by its name in the protocol.
BY_HASH: dict[str, Asking] = {
    "Registry.GetUploads": lambda world, one: world.registry.uploads(world.theirs, [one]),
    "Registry.DeleteUpload": lambda world, one: world.registry.delete_upload(world.theirs, one),
    "Registry.CreateClip": lambda world, one: world.registry.create_clip(world.theirs, clip_of(one)),
    "Registry.GetClips": lambda world, one: world.registry.clips(world.theirs, [one]),
    "Registry.ListClips": lambda world, one: world.registry.listed_clips(
        world.theirs, wanted=ClipFilter(ArtifactHash(one))
    ),
    "Registry.DeleteClip": lambda world, one: world.registry.delete_clip(world.theirs, one),
    "Registry.RegisterClip": lambda world, one: world.registry.register_clip(world.theirs, clip_of(one)),
    "Registry.StopDVR": lambda world, one: world.registry.stop_dvr(world.theirs, one),
    "Registry.DeleteDVR": lambda world, one: world.registry.delete_dvr(world.theirs, one),
    "Registry.GetDVRRecordings": lambda world, one: world.registry.recordings(world.theirs, [one]),
    "Registry.UpdateArtifact": lambda world, one: world.registry.update_artifact(
        world.theirs, one, ArtifactChange(title="Mine", pinned=True)
    ),
    "Registry.ResolveClipHash": lambda world, one: world.registry.resolve_clip_hash(one, world.theirs),
    "Registry.ResolveDVRHash": lambda world, one: world.registry.resolve_dvr_hash(one, world.theirs),
    "Artifacts.StartDVR": lambda world, one: world.artifacts.start_dvr(world.theirs, one),
    "Artifacts.StopDVR": lambda world, one: world.artifacts.stop_dvr(world.theirs, one),
    "Artifacts.CreateUpload": lambda world, one: world.artifacts.create_upload(world.theirs, one, "match.mp4", 1000),
    "Artifacts.PresignParts": lambda world, one: world.artifacts.presign_parts(world.theirs, one, [1]),
    "Artifacts.ListParts": lambda world, one: world.artifacts.list_parts(world.theirs, one),
    "Artifacts.CompleteUpload": lambda world, one: world.artifacts.complete_upload(world.theirs, one),
    "Artifacts.AbortUpload": lambda world, one: world.artifacts.abort_upload(world.theirs, one),
    "Artifacts.DeleteArtifact": lambda world, one: world.artifacts.delete_artifact(world.theirs, one),
    "Artifacts.UndeleteArtifact": lambda world, one: world.artifacts.undelete_artifact(world.theirs, one),
}
# Those that take none: they see their own tenant only (test_registry, test_streams), or what is public.
WITHOUT_HASH = {
    *("Registry.CreateStream", "Registry.UpdateStream", "Registry.RotateStreamKey", "Registry.DeleteStream"),
    *("Registry.GetStreams", "Registry.ListStreams", "Registry.ResolveStreamKey", "Registry.RegisterDVR"),
    "Registry.ListPublishUrls",
    *("Registry.StartDVR", "Registry.ListDVRRequests", "Registry.GetTenantSettings", "Registry.UpdateTenantSettings"),
    "Registry.CreateUpload",
    "Registry.ListUploads",
    "Registry.ResolveArtifactPlaybackID",
    "Registry.ResolveArtifactInternalName",
    "Artifacts.ResolveViewerEndpoint",
}


def test_every_call_is_here() -> None:
    calls = {f"{service.name}.{method.name}" for service in (REGISTRY, ARTIFACTS) for method in service.methods}
    assert calls == BY_HASH.keys() | WITHOUT_HASH


@both_ways
@pytest.mark.parametrize("call", BY_HASH)
async def test_a_foreign_id_is_an_unknown_id(world: World, call: str) -> None:
    upload = await world.uploaded()
    before = await world.artifact(upload), await world.record(upload)
    unknown = uuid4().hex
    answers = [await outcome(BY_HASH[call](world, one), one) for one in (upload.artifact_hash, unknown)]
    assert answers[0] == answers[1]
    assert (await world.artifact(upload), await world.record(upload)) == before
    assert await world.status(upload) is ArtifactStatus.UPLOADING
    assert (await world.registry.listed(world.theirs)).total_count == 0


async def outcome(asked: Awaitable[object], one: str) -> object:
    """What came of it, without the id that was asked for."""
    try:
        return await asked
    except TouchlineError as error:
        return type(error), error.what, error.why.replace(one, "?"), error.hint

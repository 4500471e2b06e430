"""The registry and the artifacts check every call, in one process as between two."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from touchline.contracts.artifacts import ArtifactClient
from touchline.contracts.playback import PlaybackClient
from touchline.contracts.registry import (
    ArtifactChange,
    ClipFilter,
    NewClip,
    NewRecording,
    NewStream,
    NewUpload,
    RegistryClient,
    StreamChange,
    TenantSettings,
)
from touchline.kernel import (
    ArtifactHash,
    DeadlineExceeded,
    Defect,
    Forbidden,
    InvalidInput,
    Principal,
    Role,
    Scope,
    Unauthenticated,
)
from touchline.platform.rpc.calls import deadline_in
from touchline.serve.artifacts.service import ArtifactsRole
from touchline.serve.clips.rules import LONGEST_PARAMETERS
from touchline.serve.playback.service import PlaybackRole
from touchline.serve.registry.role import RegistryRole

from .conftest import World, both_ways, principal
from .test_undelete import ready

NEW = NewUpload(idempotency_key="the same", file_name="match.mp4", size_bytes=1000)
WRONG = ("", "nonsense", "F" * 32, "0" * 31, "0" * 32 + "\n", "../" + "0" * 29, "\0")
CLIP = NewClip(ArtifactHash("0" * 32), 0, 500)
STREAM = UUID(int=7)  # none of anybody

Asking = Callable[[World, Principal, str], Awaitable[object]]

# Every call that is made for a caller, by the scope that it needs.
CALLS: dict[Scope, dict[str, Asking]] = {
    Scope.READ: {
        "registry.uploads": lambda world, caller, one: world.registry.uploads(caller, [one]),
        "registry.listed": lambda world, caller, _: world.registry.listed(caller),
        "registry.clips": lambda world, caller, one: world.registry.clips(caller, [one]),
        "registry.listed_clips": lambda world, caller, one: world.registry.listed_clips(
            caller, wanted=ClipFilter(ArtifactHash(one))
        ),
        "registry.streams": lambda world, caller, _: world.registry.streams(caller, [STREAM]),
        "registry.listed_streams": lambda world, caller, _: world.registry.listed_streams(caller),
        "registry.recordings": lambda world, caller, one: world.registry.recordings(caller, [one]),
        "registry.listed_dvr_requests": lambda world, caller, _: world.registry.listed_dvr_requests(caller),
        "registry.publish_urls": lambda world, caller, _: world.registry.publish_urls(caller),
        "registry.tenant_settings": lambda world, caller, _: world.registry.tenant_settings(caller),
        "artifacts.list_parts": lambda world, caller, one: world.artifacts.list_parts(caller, one),
        "playback.share_links": lambda world, caller, one: world.playback.share_links(caller, one),
    },
    Scope.WRITE: {
        "registry.create_upload": lambda world, caller, _: world.registry.create_upload(caller, NEW),
        "registry.delete_upload": lambda world, caller, one: world.registry.delete_upload(caller, one),
        "registry.create_clip": lambda world, caller, one: world.registry.create_clip(
            caller, replace(CLIP, source_hash=ArtifactHash(one))
        ),
        "registry.register_clip": lambda world, caller, one: world.registry.register_clip(
            caller, replace(CLIP, source_hash=ArtifactHash(one))
        ),
        "registry.create_stream": lambda world, caller, _: world.registry.create_stream(
            caller, NewStream("the same", "A stream")
        ),
        "registry.update_stream": lambda world, caller, _: world.registry.update_stream(caller, STREAM, StreamChange()),
        "registry.rotate_stream_key": lambda world, caller, _: world.registry.rotate_stream_key(caller, STREAM),
        "registry.delete_stream": lambda world, caller, _: world.registry.delete_stream(caller, STREAM),
        "registry.register_dvr": lambda world, caller, _: world.registry.register_dvr(caller, NewRecording(STREAM)),
        "registry.start_dvr": lambda world, caller, _: world.registry.start_dvr(caller, NewRecording(STREAM)),
        "registry.stop_dvr": lambda world, caller, one: world.registry.stop_dvr(caller, one),
        "registry.delete_dvr": lambda world, caller, one: world.registry.delete_dvr(caller, one),
        "registry.update_artifact": lambda world, caller, one: world.registry.update_artifact(
            caller, one, ArtifactChange(title="Another")
        ),
        "artifacts.start_dvr": lambda world, caller, one: world.artifacts.start_dvr(caller, one),
        "artifacts.stop_dvr": lambda world, caller, one: world.artifacts.stop_dvr(caller, one),
        "registry.delete_clip": lambda world, caller, one: world.registry.delete_clip(caller, one),
        "artifacts.create_upload": lambda world, caller, one: world.artifacts.create_upload(
            caller, one, "match.mp4", 1000
        ),
        "artifacts.presign_parts": lambda world, caller, one: world.artifacts.presign_parts(caller, one, [1]),
        "artifacts.complete_upload": lambda world, caller, one: world.artifacts.complete_upload(caller, one),
        "artifacts.abort_upload": lambda world, caller, one: world.artifacts.abort_upload(caller, one),
        "artifacts.delete_artifact": lambda world, caller, one: world.artifacts.delete_artifact(caller, one),
        "artifacts.undelete_artifact": lambda world, caller, one: world.artifacts.undelete_artifact(caller, one),
        "playback.create_share_link": lambda world, caller, one: world.playback.create_share_link(caller, one),
        "playback.revoke_share_link": lambda world, caller, one: world.playback.revoke_share_link(caller, one),
    },
    Scope.ADMIN: {
        "registry.update_tenant_settings": lambda world, caller, _: world.registry.update_tenant_settings(
            caller, TenantSettings(None)
        ),
    },
}
PUBLIC = {
    *("registry.resolve_playback_id", "registry.resolve_internal_name", "registry.resolve_stream_key"),
    *("registry.resolve_clip_hash", "registry.resolve_dvr_hash", "artifacts.resolve_viewer_endpoint"),
    *("playback.open_share_link", "playback.share_link_is_valid"),  # for whoever holds a token, or what it gave
}
# These take any text: what is no hash, or none of the tenant's, is not found.
ANY_TEXT = {"registry.uploads", "registry.clips", "registry.recordings", "playback.revoke_share_link"}
OF_A_STREAM = {
    *("registry.streams", "registry.listed_streams", "registry.create_stream", "registry.update_stream"),
    *("registry.rotate_stream_key", "registry.delete_stream", "registry.register_dvr", "registry.start_dvr"),
    "registry.listed_dvr_requests",
}
NO_HASH = OF_A_STREAM | {
    *(
        "registry.listed",
        "registry.publish_urls",
        "registry.create_upload",
        "registry.tenant_settings",
        "registry.update_tenant_settings",
    )
}
EVERY = [(name, scope) for scope, calls in CALLS.items() for name in calls]


def methods(kind: type[Any]) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_every_call_is_here_and_the_roles_have_no_others() -> None:
    named = {f"registry.{name}" for name in methods(RegistryClient)}
    named |= {f"artifacts.{name}" for name in methods(ArtifactClient)}
    named |= {f"playback.{name}" for name in methods(PlaybackClient)}
    assert {name for name, _ in EVERY} | PUBLIC == named
    assert methods(RegistryRole) == methods(RegistryClient)
    assert methods(ArtifactsRole) == methods(ArtifactClient)
    assert methods(PlaybackRole) == methods(PlaybackClient)


@both_ways
async def test_a_call_needs_a_caller_with_its_scope(world: World) -> None:
    """Looked at before anything else: neither the id nor what is behind it matters."""
    upload = await world.create()
    before = await world.artifact(upload), await world.record(upload)
    for name, scope in EVERY:
        ask = CALLS[scope][name]
        others = frozenset(Scope) - {scope}
        strangers = [replace(world.ours, role=Role.ADMIN, scopes=others), replace(world.ours, scopes=frozenset())]
        if scope is not Scope.READ:
            strangers.append(principal(Role.VIEWER, world.ours.tenant_id))
        for one in (upload.artifact_hash, "nonsense"):
            if name == "registry.listed_clips" and one == "nonsense":
                continue
            for caller in strangers:
                with pytest.raises(Forbidden):
                    await ask(world, caller, one)
            with pytest.raises(Unauthenticated):
                await ask(world, None, one)  # pyright: ignore[reportArgumentType]
    assert (await world.artifact(upload), await world.record(upload)) == before
    assert await world.rows("uploads") == 1


@both_ways
@pytest.mark.parametrize(("name", "scope"), [one for one in EVERY if one[0] not in ANY_TEXT | NO_HASH])
async def test_what_is_no_hash_is_refused(world: World, name: str, scope: Scope) -> None:
    for wrong in WRONG:
        with pytest.raises(InvalidInput) as caught:
            await CALLS[scope][name](world, world.ours, wrong)
        assert caught.value.field == "artifact_hash"  # of any artifact, whatever the caller calls it


@both_ways
async def test_the_parameters_of_a_clip_are_bounded(world: World) -> None:
    new = replace(CLIP, source_hash=(await ready(world)).artifact_hash)
    with pytest.raises(InvalidInput) as caught:
        large = {"a": "x" * LONGEST_PARAMETERS}
        await world.registry.create_clip(world.ours, replace(new, requested_params=large))
    assert caught.value.field == "requested_params"
    assert await world.rows("clips") == 0
    await world.registry.create_clip(world.ours, replace(new, requested_params={"a": "x"}))


async def test_parameters_that_are_no_json_are_refused(world: World) -> None:
    """Over a socket they cannot be sent."""
    new = replace(CLIP, source_hash=(await ready(world)).artifact_hash, requested_params={"a": object()})
    with pytest.raises(InvalidInput) as caught:
        await world.registry.create_clip(world.ours, new)
    assert caught.value.field == "requested_params"


@both_ways
async def test_a_call_ends_with_the_one_that_it_helps_to_answer(world: World) -> None:
    upload = await world.create()
    for name, scope in EVERY:
        with deadline_in(0), pytest.raises(DeadlineExceeded):
            await CALLS[scope][name](world, replace(world.ours, role=Role.ADMIN), upload.artifact_hash)


@both_ways
async def test_a_completion_ends_by_its_own_deadline_and_goes_on(world: World) -> None:
    upload = await world.uploaded()
    with pytest.raises(DeadlineExceeded):
        await world.artifacts.complete_upload(world.ours, upload.artifact_hash, deadline=timedelta(milliseconds=1))
    assert (await world.artifacts.complete_upload(world.ours, upload.artifact_hash)).status == "processing"


@both_ways
async def test_the_text_of_an_unexpected_error_stays_in_the_log(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a password")

    monkeypatch.setattr(type(world.parts.registry.uploads), "listed", broken)
    with pytest.raises(Defect) as caught:
        await world.registry.listed(world.ours)
    assert "password" not in str(caught.value)
    assert [one.message for one in caplog.records if one.exc_info] == ["a call failed"]

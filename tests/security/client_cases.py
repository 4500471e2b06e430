"""The cases of the client protocols: every call of the roles, as the gateway makes it in one process."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from touchline.contracts.artifacts import ArtifactClient
from touchline.contracts.lifecycle import LifecycleClient
from touchline.contracts.playback import PlaybackClient
from touchline.contracts.registry import (
    ArtifactChange,
    ClipFilter,
    NewClip,
    NewRecording,
    NewStream,
    NewUpload,
    RegistryClient,
    RowKey,
    RowWindow,
    StreamChange,
    TenantSettings,
)
from touchline.contracts.storage import StorageClient
from touchline.gateway.composition import DataSources
from touchline.kernel import ArtifactHash, Principal, TenantId, TouchlineError

from .matrix import Case, Ids
from .rpc_cases import MOMENT

PROTOCOLS: Mapping[str, type[Any]] = {
    "registry": RegistryClient,
    "artifacts": ArtifactClient,
    "lifecycle": LifecycleClient,
    "storage": StorageClient,
    "playback": PlaybackClient,
}
# As by RPC, and for the same reasons.
ACROSS_TENANTS = {
    "registry.resolve_internal_name": "what routes a viewer does not know the tenant yet",
    "artifacts.resolve_viewer_endpoint": "answers keys and no bytes; the gateway looks whose it is",
    "playback.share_link_is_valid": "asks about a grant that a gateway has signed, and answers whether it still holds",
}

Run = Callable[[Ids], Awaitable[Any]]


def client_cases(sources: DataSources, caller: Principal) -> Iterator[Case]:
    calls = {
        **_registry(sources.registry, caller),
        **_artifacts(sources.artifacts, caller),
        **_lifecycle(sources.lifecycle, caller),
        **_storage(sources.storage, caller),
        **_playback(sources.playback, caller),
    }
    for name, call in calls.items():
        yield Case(name, takes_ids=True, run=_answer(call))


def every_call() -> set[str]:
    return {
        f"{role}.{name}"
        for role, protocol in PROTOCOLS.items()
        for name, _ in inspect.getmembers(protocol, inspect.isfunction)
        if not name.startswith("_")
    }


def _storage(client: StorageClient, caller: Principal) -> dict[str, Run]:
    return {
        "storage.freeze": lambda ids: client.freeze(caller, ids["artifact_hash"]),
        "storage.warm": lambda ids: client.warm(caller, ids["artifact_hash"]),
        "storage.start_playback": lambda ids: client.start_playback(ids["playback_id"]),
        "storage.nodes": lambda ids: client.nodes(caller),
        "storage.forget_node": lambda ids: client.forget_node(caller, "node-1"),
    }


def _registry(client: RegistryClient, caller: Principal) -> dict[str, Run]:
    def window(ids: Ids) -> RowWindow:
        return RowWindow(after=RowKey(datetime.fromisoformat(MOMENT), ids["artifact_hash"]))

    def clip(ids: Ids) -> NewClip:
        return NewClip(ArtifactHash(ids["artifact_hash"]), 0, 1000, title="A title")

    return {
        "registry.create_upload": lambda ids: client.create_upload(
            caller, NewUpload(ids["idempotency_key"], "match.mp4", 1000)
        ),
        "registry.uploads": lambda ids: client.uploads(caller, [ids["artifact_hash"]]),
        "registry.listed": lambda ids: client.listed(caller, window(ids)),
        "registry.delete_upload": lambda ids: client.delete_upload(caller, ids["artifact_hash"]),
        "registry.create_clip": lambda ids: client.create_clip(caller, clip(ids)),
        "registry.clips": lambda ids: client.clips(caller, [ids["clip_hash"]]),
        "registry.listed_clips(source_hash)": lambda ids: client.listed_clips(
            caller, window(ids), ClipFilter(source_hash=ArtifactHash(ids["artifact_hash"]))
        ),
        "registry.listed_clips(stream_id)": lambda ids: client.listed_clips(
            caller, wanted=ClipFilter(stream_id=UUID(ids["stream_id"]))
        ),
        "registry.register_clip": lambda ids: client.register_clip(caller, clip(ids)),
        "registry.create_stream": lambda ids: client.create_stream(
            caller, NewStream(ids["idempotency_key"], "A title")
        ),
        "registry.update_stream": lambda ids: client.update_stream(
            caller, UUID(ids["stream_id"]), StreamChange(title="Mine", suspended=True)
        ),
        "registry.rotate_stream_key": lambda ids: client.rotate_stream_key(caller, UUID(ids["stream_id"])),
        "registry.delete_stream": lambda ids: client.delete_stream(caller, UUID(ids["stream_id"])),
        "registry.streams": lambda ids: client.streams(caller, [UUID(ids["stream_id"])]),
        "registry.listed_streams": lambda ids: client.listed_streams(caller, window(ids)),
        "registry.resolve_stream_key": lambda ids: client.resolve_stream_key("tlk_" + "A" * 43),
        "registry.register_dvr": lambda ids: client.register_dvr(caller, NewRecording(UUID(ids["stream_id"]))),
        "registry.start_dvr": lambda ids: client.start_dvr(caller, NewRecording(UUID(ids["stream_id"]))),
        "registry.stop_dvr": lambda ids: client.stop_dvr(caller, ids["dvr_hash"]),
        "registry.delete_dvr": lambda ids: client.delete_dvr(caller, ids["dvr_hash"]),
        "registry.recordings": lambda ids: client.recordings(caller, [ids["dvr_hash"]]),
        "registry.listed_dvr_requests": lambda ids: client.listed_dvr_requests(
            caller, stream_id=UUID(ids["stream_id"])
        ),
        "registry.update_artifact": lambda ids: client.update_artifact(
            caller, ids["artifact_hash"], ArtifactChange(title="Mine", pinned=True)
        ),
        "registry.publish_urls": lambda ids: client.publish_urls(caller),
        "registry.tenant_settings": lambda ids: client.tenant_settings(caller),
        "registry.update_tenant_settings": lambda ids: client.update_tenant_settings(
            caller, TenantSettings(timedelta(days=7))
        ),
        "registry.resolve_clip_hash": lambda ids: client.resolve_clip_hash(ids["clip_hash"], caller),
        "registry.resolve_dvr_hash": lambda ids: client.resolve_dvr_hash(ids["dvr_hash"], caller),
        "registry.delete_clip": lambda ids: client.delete_clip(caller, ids["clip_hash"]),
        "registry.resolve_playback_id": lambda ids: client.resolve_playback_id(ids["playback_id"], caller),
        "registry.resolve_internal_name": lambda ids: client.resolve_internal_name(ids["internal_name"]),
    }


def _artifacts(client: ArtifactClient, caller: Principal) -> dict[str, Run]:
    return {
        "artifacts.create_upload": lambda ids: client.create_upload(caller, ids["artifact_hash"], "match.mp4", 1000),
        "artifacts.presign_parts": lambda ids: client.presign_parts(caller, ids["artifact_hash"], [1]),
        "artifacts.list_parts": lambda ids: client.list_parts(caller, ids["artifact_hash"]),
        "artifacts.complete_upload": lambda ids: client.complete_upload(caller, ids["artifact_hash"]),
        "artifacts.abort_upload": lambda ids: client.abort_upload(caller, ids["artifact_hash"]),
        "artifacts.start_dvr": lambda ids: client.start_dvr(caller, ids["dvr_hash"]),
        "artifacts.stop_dvr": lambda ids: client.stop_dvr(caller, ids["dvr_hash"]),
        "artifacts.delete_artifact": lambda ids: client.delete_artifact(caller, ids["artifact_hash"]),
        "artifacts.undelete_artifact": lambda ids: client.undelete_artifact(caller, ids["artifact_hash"]),
        "artifacts.resolve_viewer_endpoint": lambda ids: client.resolve_viewer_endpoint(ids["playback_id"]),
    }


def _lifecycle(client: LifecycleClient, caller: Principal) -> dict[str, Run]:
    return {
        "lifecycle.states": lambda ids: client.states(caller, [ids["artifact_hash"]]),
        "lifecycle.events": lambda ids: client.events(caller, [ids["artifact_hash"]], 0, 100),
        "lifecycle.storage_events": lambda ids: client.storage_events(caller, [ids["artifact_hash"]], 0, 100),
        "lifecycle.storage_events()": lambda ids: client.storage_events(caller, [], 0, 100),
    }


def _playback(client: PlaybackClient, caller: Principal) -> dict[str, Run]:
    return {
        "playback.create_share_link": lambda ids: client.create_share_link(caller, ids["artifact_hash"]),
        "playback.share_links": lambda ids: client.share_links(caller, ids["artifact_hash"]),
        "playback.revoke_share_link": lambda ids: client.revoke_share_link(caller, ids["share_link_id"]),
        # A right, not an id: who holds another's has what it gives.
        "playback.open_share_link": lambda ids: client.open_share_link("tlv_" + "A" * 43),
        "playback.share_link_is_valid": lambda ids: client.share_link_is_valid(
            TenantId(UUID(ids["tenant_id"])), UUID(ids["share_link_id"])
        ),
    }


def _answer(call: Run) -> Run:
    async def run(ids: Ids) -> Any:
        try:
            answer = await call(ids)
        except TouchlineError as error:
            return {"code": error.code, "what": error.what, "why": error.why, "hint": error.hint}
        return json.loads(json.dumps(answer, default=_plain))

    return run


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)

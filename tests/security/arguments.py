"""What the arguments of fields, routes and calls stand for.

Numbers, truth values and choices need no word here. A text does: it is an id, which the matrix tries with another
tenant's and with unknown ones, or it is harmless, and then this says what to send.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Names as they are in Python and in the protos; the schema's are put into this form.
IDS = {
    "artifact_hash": "artifact_hash",
    "artifact_hashes": "artifact_hash",
    "request_ids": "artifact_hash",
    "RowKey.id": "artifact_hash",
    "clip.artifact_hash": "clip_hash",
    "delete_clip.artifact_hash": "clip_hash",
    "GetClipsRequest.artifact_hashes": "clip_hash",
    "DeleteClipRequest.artifact_hash": "clip_hash",
    "video_id": "video_id",
    "clip_hash": "clip_hash",
    "dvr_hash": "dvr_hash",
    "dvr_hashes": "dvr_hash",
    "stream_id": "stream_id",
    "stream_ids": "stream_id",
    "playback_id": "playback_id",
    "internal_name": "internal_name",
    "id": "global_id",
    "PageInput.after": "list_cursor",
    "PageInput.before": "list_cursor",
    "live_vod_lifecycle.after": "live_cursor",
    "live_clip_lifecycle.after": "live_cursor",
    "live_streams.after": "live_cursor",
    "live_dvr_lifecycle.after": "live_cursor",
    "live_storage_events.after": "live_cursor",
    "live_jobs.after": "live_cursor",
    "live_matches.after": "live_cursor",
    "match.id": "match_id",
    "workflow_session.id": "session_id",
    "event_id": "event_id",
    "share_link_id": "share_link_id",
    "revoke_share_link.id": "share_link_id",
    "granted_tenant_id": "tenant_id",
    "job.id": "job_id",
    "JobSelection.ids": "job_id",
    "JobSelection.after": "list_cursor",
    "JobFilter.video_id": "video_id",
    "search.after": "search_cursor",
    "SearchFilters.videos": "video_id",
    "idempotency_key": "idempotency_key",
    "email": "email",
    "GET /media/{token}/{artifact_hash}/{name}.token": "own_media_token",
}
HARMLESS: Mapping[str, Any] = {
    "file_name": "match.mp4",
    "title": "A title",
    "description": "What it is",
    "padding_ms": 1,
    "requested_params": "{}",
    "clip_mode": "absolute",
    "retention_ms": 3_600_000,
    "retention_seconds": 3600,
    # A right, not an id: who holds another's may publish.
    "stream_key": "tlk_" + "A" * 43,
    "session_id": "0190a0a0-0000-7000-8000-000000000000",  # of a session that would begin
    "content_type": "video/mp4",
    "name": "index.m3u8",
    "password": "not the password",
    "query": "{ __typename }",  # a document, and as words something that the other tenant's videos show
    "prefix": "__typename",
    "languages": "eng",
    "entities": "hashtag",
    "match": "the final",
    "day": "2026-11-15",
    "team": "ours",
    "player": "somebody",
    "after": "2026-01-01T00:00:00",
    "before": "2036-01-01T00:00:00",
    "status": "failed",
    "job_type": "transcode",
    "error_type": "Cancelled",
    "reason": "it may wait",
    "priority": -1,  # more than 0 is for operators
    "operation_name": None,
    "variables": {},
    "etags": {},
    "checksums": "0" * 32,
    "type": "stream_trace",
    "gateway": "ours",
    "data": {"stream_id": "a stream"},
    "from": "2026-01-01T00:00:00Z",
    "to": "2027-01-01T00:00:00Z",
    "workflow_type": "ai_live_video_stream",
    "orchestrator": "0x1",
    "model": "a model",
    "gpu": "a GPU",
    "search": "typename",
    "outcome": "unexcused",
    "metric": "startup_ms",
    "format": "csv",
    "kind": "sessions",
    "swapped": False,
    "failed": True,
    "at_least_ms": 0,
    "below_ms": 1000,
    "width": 320,
    "location": "s3",
    "order_by": "ending",
    "types": "artifact.lifecycle",
    "actor": "cli",
    "since": "2026-01-01T00:00:00Z",
    "until": "2036-01-01T00:00:00Z",
    "node_id": "node-1",  # of the installation; and operators alone see nodes
    "origins": "https://www.example.org",
    "expires_at": "2026-04-07T12:00:00Z",
    # A right, not an id: who holds another's has what it gives.
    "token": "tll_" + "A" * 43,
    "share_token": "tlv_" + "A" * 43,
}

# What answers across tenants, and why that is no hole. An entry that is not needed any more fails the matrix.
ACROSS_TENANTS = {
    "Registry.ResolveArtifactInternalName": "what routes a viewer does not know the tenant yet",
    "Artifacts.ResolveViewerEndpoint": "answers keys and no bytes; the gateway looks whose it is and signs the address",
    "Playback.CheckShareLink": "asks about a grant that a gateway has signed, and answers whether it still holds",
}
WITHOUT_TENANT = {
    "Nodes.Connect": "a node serves all tenants; it knows the cluster's secret and carries no tenant",
}


class Undescribed(AssertionError):
    def __init__(self, owner: str, name: str) -> None:
        super().__init__(
            f"{owner}: the matrix does not know what `{name}` stands for. Say in tests/security/arguments.py whether "
            "it is an id (IDS) or harmless (HARMLESS)."
        )


def id_kind(owner: str, name: str) -> str | None:
    """The kind of id that an argument is; the owner's word goes before the general one."""
    plain = snake_case(name)
    return IDS.get(f"{owner}.{plain}") or IDS.get(f"{snake_case(owner)}.{plain}") or IDS.get(plain)


def harmless(owner: str, name: str) -> Any:
    plain = snake_case(name)
    if plain not in HARMLESS:
        raise Undescribed(owner, name)
    return HARMLESS[plain]


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

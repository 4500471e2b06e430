"""What belongs to another tenant costs exactly what does not exist: the same calls and the same statements.

Answers that read alike could still be told apart by how long they take.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import AsyncCursor

from touchline.kernel import Role, new_artifact_hash, new_playback_id
from touchline.platform.rpc.client import Stub
from touchline.process.queue.jobs import JobType

from .site import Person, Site
from .test_jobs import queue, waiting

HASH_QUESTIONS = {
    "vod": "query ($id: String!) { vod(artifactHash: $id) { title status } }",
    "clip": "query ($id: String!) { clip(artifactHash: $id) { title status } }",
    "clips of": "query ($id: String!) { clipsConnection(artifactHash: $id) { totalCount } }",
    "stages": "query ($id: String!) { video(artifactHash: $id) { status stages { status } } }",
    "arrived parts": "query ($id: String!) { arrivedParts(artifactHash: $id) { partCount } }",
    "states": "query ($id: String!) { artifactStates(artifactHashes: [$id]) { stage } }",
    "events": "query ($id: String!) { artifactEventsConnection(artifactHash: $id) { edges { cursor } } }",
    "parts": "mutation ($id: String!) { uploadParts(artifactHash: $id, numbers: [1]) { __typename } }",
    "complete": "mutation ($id: String!) { completeVodUpload(artifactHash: $id) { __typename } }",
    "abort": "mutation ($id: String!) { abortVodUpload(artifactHash: $id) { __typename } }",
    "delete": "mutation ($id: String!) { deleteVod(artifactHash: $id) { __typename } }",
    "delete clip": "mutation ($id: String!) { deleteClip(artifactHash: $id) { __typename } }",
    "share links": "query ($id: String!) { shareLinks(artifactHash: $id) { id } }",
    "share": "mutation ($id: String!) { createShareLink(input: {artifactHash: $id}) { __typename } }",
    "undelete": "mutation ($id: String!) { undeleteArtifact(artifactHash: $id) { __typename } }",
    "clip it": """mutation ($id: String!) {
        createClip(input: {artifactHash: $id, startSeconds: 1, endSeconds: 2}) { __typename } }""",
}
PLAYBACK_QUESTIONS = {
    "playback": "query ($id: String!) { playback(playbackId: $id) { __typename ... on Problem { message hint } } }",
    "endpoints": "query ($id: String!) { resolveViewerEndpoint(playbackId: $id) { __typename } }",
    "artifact": "query ($id: String!) { artifact(playbackId: $id) { __typename } }",
}
JOB_QUESTIONS = {
    "job": "query ($id: ID!) { job(id: $id) { status history { actor } vod { title } clip { title } } }",
    "retry": "mutation ($id: ID!) { retryJobs(selection: {ids: [$id]}) { __typename } }",
    "cancel": "mutation ($id: ID!) { cancelJobs(selection: {ids: [$id]}) { __typename } }",
    "priority": "mutation ($id: ID!) { reprioritiseJobs(selection: {ids: [$id]}, priority: -1) { __typename } }",
}


@dataclass(frozen=True)
class Place:
    """Two tenants on one site, and what the other one has."""

    site: Site
    ada: Person
    hashes: tuple[str, ...]
    playback_ids: tuple[str, ...]
    job_ids: tuple[UUID, ...]


@pytest.fixture
async def place(site: Site) -> Place:
    ada, eve = await site.person(), await site.person(Role.EDITOR, site.world.theirs)
    ready, half, deleted = await site.ready(eve), await site.upload(eve), await site.ready(eve)
    await site.parts.graphql.sources.registry.delete_upload(eve.principal, deleted.artifact_hash)
    await site.media.places.find(ready.playback_id)  # remembered by the gateway
    first, second = await waiting(site, eve, 2)
    assert len(await queue(site).claim([JobType.TRANSCODE], 1)) == 1
    uploads = (ready, half, deleted)
    return Place(
        site,
        ada,
        tuple(upload.artifact_hash for upload in uploads),
        tuple(upload.playback_id for upload in uploads),
        (first.id, second.id),
    )


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """Every statement and every call, in order."""
    seen: list[str] = []
    execute, call = AsyncCursor.execute, Stub.call

    async def noted_execute(self: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        seen.append(str(query))
        return await execute(self, query, *arguments, **named)

    async def noted_call(self: Any, method: str, *arguments: Any, **named: Any) -> Any:
        seen.append(method)
        return await call(self, method, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(AsyncCursor, "execute", noted_execute)
        patched.setattr(Stub, "call", noted_call)
        yield seen


async def asked(place: Place, monkeypatch: pytest.MonkeyPatch, document: str, wanted: object) -> tuple[str, list[str]]:
    """The answer without the id, and what it took."""
    with recorded(monkeypatch) as seen:
        answer = await place.site.ask(place.ada, document, id=str(wanted))
    return str(answer).replace(str(wanted), "…"), seen


@pytest.mark.parametrize(
    ("questions", "known", "made_up"),
    [
        (HASH_QUESTIONS, lambda place: place.hashes, new_artifact_hash),
        (PLAYBACK_QUESTIONS, lambda place: place.playback_ids, new_playback_id),
        (JOB_QUESTIONS, lambda place: place.job_ids, uuid4),
    ],
    ids=["by hash", "by playback id", "by job id"],
)
async def test_a_foreign_id_takes_the_way_of_one_that_never_was(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    questions: dict[str, str],
    known: Callable[[Place], tuple[object, ...]],
    made_up: Callable[[], object],
) -> None:
    for name, document in questions.items():
        await asked(place, monkeypatch, document, made_up())  # whatever is prepared once is prepared
        expected = await asked(place, monkeypatch, document, made_up())
        assert expected[1], f"{name} asks something"
        for foreign in known(place):
            assert await asked(place, monkeypatch, document, foreign) == expected, name

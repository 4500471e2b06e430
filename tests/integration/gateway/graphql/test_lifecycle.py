"""Artifacts' lives over GraphQL: states, events and storage events, each page one call and one statement."""

from __future__ import annotations

from typing import Any

import pytest

from touchline.kernel import Role
from touchline.platform.clickhouse.client import Analytics

from .site import Site
from .test_calls import counting


@pytest.fixture
def site(separate_site: Site) -> Site:
    """Behind a socket every call is counted."""
    return separate_site


STATES = """
query ($hashes: [String!]!) { artifactStates(artifactHashes: $hashes) {
  artifactHash artifactType stage storageLocation isFrozen revision updatedAt durationMs } }
"""
EVENTS = """
query ($hash: String!, $page: PageInput) { artifactEventsConnection(artifactHash: $hash, page: $page) {
  pageInfo { hasNextPage hasPreviousPage endCursor }
  edges { node { id artifactHash type revision occurredAt stage jobType synced } } } }
"""
STORAGE = """
query ($hash: String, $page: PageInput) { storageEventsConnection(artifactHash: $hash, page: $page) {
  pageInfo { hasNextPage endCursor } edges { node { artifactHash type synced localCopies sizeBytes } } } }
"""


def count_statements(patch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    query = Analytics.query_arrow

    async def counted(self: Analytics, sql: str, *more: Any) -> Any:
        asked.append(sql)
        return await query(self, sql, *more)

    patch.setattr(Analytics, "query_arrow", counted)
    return asked


async def test_states_by_hashes_are_one_call_and_one_statement(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    hashes = [(await site.ready(ada, f"{number}")).artifact_hash for number in range(3)]
    await site.data(ada, STATES, hashes=hashes)
    for some in (hashes[:1], hashes[::-1]):
        with monkeypatch.context() as patch, counting(monkeypatch) as cost:
            statements = count_statements(patch)
            found = (await site.data(ada, STATES, hashes=some))["artifactStates"]
        assert [state["artifactHash"] for state in found] == some
        assert (cost.calls, len(statements)) == ({"GetArtifactStates": 1}, 1)
        assert all(state["durationMs"] == 60_000 for state in found)
    stranger = await site.person(Role.ADMIN, site.world.theirs)
    assert (await site.data(stranger, STATES, hashes=hashes))["artifactStates"] == []


async def test_events_come_in_pages_of_one_statement(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    whole = (await site.data(ada, EVENTS, hash=upload.artifact_hash))["artifactEventsConnection"]
    events = [edge["node"] for edge in whole["edges"]]
    assert events[0]["type"] == "artifact.registered"
    assert len({event["id"] for event in events}) == len(events) >= 3
    assert "video.transcoded" in {event["type"] for event in events}
    seen: list[Any] = []
    page: dict[str, Any] = {"first": 2}
    while True:
        with monkeypatch.context() as patch, counting(monkeypatch) as cost:
            statements = count_statements(patch)
            found = await site.data(ada, EVENTS, hash=upload.artifact_hash, page=page)
        assert (cost.calls, len(statements)) == ({"GetArtifactEvents": 1}, 1)
        seen += [edge["node"] for edge in found["artifactEventsConnection"]["edges"]]
        info = found["artifactEventsConnection"]["pageInfo"]
        if not info["hasNextPage"]:
            break
        page = {"first": 2, "after": info["endCursor"]}
    assert seen == events
    stranger = await site.person(Role.ADMIN, site.world.theirs)
    foreign = await site.data(stranger, EVENTS, hash=upload.artifact_hash)
    assert foreign["artifactEventsConnection"]["edges"] == []


async def test_storage_events_of_one_and_of_all(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    first, second = [await site.ready(ada, title) for title in ("one", "two")]
    with monkeypatch.context() as patch, counting(monkeypatch) as cost:
        statements = count_statements(patch)
        everything = (await site.data(ada, STORAGE))["storageEventsConnection"]["edges"]
    assert (cost.calls, len(statements)) == ({"GetStorageEvents": 1}, 1)
    assert {edge["node"]["artifactHash"] for edge in everything} >= {first.artifact_hash, second.artifact_hash}
    assert any(edge["node"]["synced"] for edge in everything)
    own = (await site.data(ada, STORAGE, hash=first.artifact_hash))["storageEventsConnection"]["edges"]
    assert {edge["node"]["artifactHash"] for edge in own} == {first.artifact_hash}
    stranger = await site.person(Role.ADMIN, site.world.theirs)
    assert (await site.data(stranger, STORAGE))["storageEventsConnection"]["edges"] == []


async def test_what_is_no_page_or_no_hash_is_refused(site: Site) -> None:
    ada = await site.person()
    for document, variables in (
        (EVENTS, {"hash": "no hash"}),
        (EVENTS, {"hash": "0" * 32, "page": {"last": 3}}),
        (STORAGE, {"page": {"after": "made up"}}),
    ):
        answer = await site.ask(ada, document, **variables)
        assert answer["errors"][0]["extensions"]["code"] == "invalid_input"

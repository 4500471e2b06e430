"""What is stored over GraphQL: sums, a list with its times, and all tenants for operators."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from touchline.kernel import Role, Scope
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.store import ArtifactStore

from .site import Person, Site

TIERS = "{ storageTiers { location artifactType artifacts sizeBytes } }"
LIST = """
query ($page: PageInput, $filter: StoredFilter, $order: String! = "ending") {
  storedArtifactsConnection(page: $page, filter: $filter, orderBy: $order) {
    totalCount pageInfo { hasNextPage endCursor } edges { node {
      artifactHash artifactType playbackId title status sizeBytes storageLocation localCopies synced pinned expiresAt
      deletedAt purgesAt canBeUndeleted missingSince } } } }
"""
TENANTS = "{ storageByTenant { name artifacts sizeBytes localBytes deletedBytes } }"


async def listed(site: Site, person: Person, **asked: Any) -> list[dict[str, Any]]:
    return [edge["node"] for edge in (await site.data(person, LIST, **asked))["storedArtifactsConnection"]["edges"]]


async def test_what_lies_where_and_until_when(site: Site) -> None:
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    kept, pinned, gone = [await site.ready(ada, title) for title in ("Kept", "Pinned", "Gone")]
    await site.upload(ada, "On its way")
    await site.ready(eve, "Another tenant's")
    now = site.world.clock.now()
    async with site.world.database.transaction(ada.principal) as transaction:
        await transitions.pin(transaction, pinned.artifact_hash, pinned=True)
        await transitions.delete(transaction, gone.artifact_hash, now)
    tiers = (await site.data(ada, TIERS))["storageTiers"]
    assert [(tier["location"], tier["artifacts"], tier["sizeBytes"]) for tier in tiers] == [
        *(("deleted", 1, 1000.0), ("pending", 1, 1000.0), ("s3", 2, 2000.0)),
    ]
    everything = await listed(site, ada)
    assert {one["title"] for one in everything} == {"Kept", "Pinned", "Gone", "On its way"}
    assert everything[-1]["title"] in {"Pinned", "On its way"}, "what never goes comes last"
    by_title = {one["title"]: one for one in everything}
    assert (by_title["Kept"]["storageLocation"], by_title["Kept"]["canBeUndeleted"]) == ("s3", False)
    assert by_title["Kept"]["expiresAt"] == (now + timedelta(days=30)).isoformat()
    assert (by_title["Pinned"]["pinned"], by_title["Pinned"]["expiresAt"]) == (True, None)
    assert by_title["Gone"]["canBeUndeleted"]
    assert by_title["Gone"]["purgesAt"] == (now + timedelta(days=30)).isoformat()
    for wanted, titles in (
        ({"location": "deleted"}, {"Gone"}),
        ({"location": "s3"}, {"Kept", "Pinned"}),
        ({"pinned": True}, {"Pinned"}),
        ({"artifactHash": kept.artifact_hash}, {"Kept"}),
    ):
        assert {one["title"] for one in await listed(site, ada, filter=wanted)} == titles


async def test_pages_have_everything_once_in_either_order(site: Site) -> None:
    ada = await site.person()
    uploads = [await site.upload(ada, f"{number}") for number in range(5)]
    async with site.world.database.transaction(ada.principal) as transaction:
        assert await ArtifactStore(transaction).find(uploads[0].artifact_hash)
    for order in ("ending", "largest"):
        whole = [one["artifactHash"] for one in await listed(site, ada, order=order)]
        assert len(whole) == 5
        pages, after = list[str](), None
        while True:
            answer = await site.data(ada, LIST, order=order, page={"first": 2, "after": after})
            found = answer["storedArtifactsConnection"]
            assert found["totalCount"] == 5
            pages += [edge["node"]["artifactHash"] for edge in found["edges"]]
            after = found["pageInfo"]["endCursor"]
            if not found["pageInfo"]["hasNextPage"]:
                break
        assert pages == whole


async def test_the_installation_is_for_operators(site: Site) -> None:
    ada = await site.person(Role.ADMIN, None, Scope.READ, Scope.WRITE, Scope.ADMIN)
    operator = await site.person(Role.OPERATOR, None, Scope.READ, Scope.ADMIN)
    eve = await site.person(tenant=site.world.theirs)
    await site.ready(ada)
    await site.ready(eve)
    await site.ready(eve)
    refused = await site.ask(ada, TENANTS)
    assert {error["extensions"]["code"] for error in refused["errors"]} == {"forbidden"}
    found = await site.data(operator, TENANTS)
    assert [(one["name"], one["artifacts"], one["sizeBytes"]) for one in found["storageByTenant"]] == [
        ("Theirs", 2, 2000.0),
        ("Ours", 1, 1000.0),
    ]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"filter": {"location": "nowhere"}}, "filter.location"),
        ({"order": "randomly"}, "orderBy"),
        ({"page": {"last": 3}}, "page"),
    ],
)
async def test_bad_questions_name_the_field(site: Site, asked: dict[str, Any], field: str) -> None:
    answer = await site.ask(await site.person(), LIST, **asked)
    assert answer["errors"][0]["extensions"]["code"] == "invalid_input"
    assert answer["errors"][0]["extensions"]["field"].replace("_b", "B") == field

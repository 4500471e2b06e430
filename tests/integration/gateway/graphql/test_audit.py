"""Who did what, over GraphQL: people by their names, one statement a page, and only what one may see."""

from __future__ import annotations

import pytest

from touchline.gateway.auth.rules import Actor
from touchline.kernel import Role, Scope

from .site import Site
from .test_jobs import CANCEL, waiting
from .test_lifecycle import count_statements

EVENTS = """
query ($filter: ServiceEventFilter, $page: PageInput) { serviceEventsConnection(filter: $filter, page: $page) {
  pageInfo { hasNextPage endCursor }
  edges { cursor node { id type subjectKind subject actor actorName occurredAt metadata } } } }
"""
COUNT = "query ($filter: ServiceEventFilter) { serviceEventsConnection(filter: $filter) { totalCount } }"


async def test_acts_are_told_with_who_did_them(site: Site) -> None:
    admin = await site.person(Role.ADMIN, None, Scope.READ, Scope.WRITE, Scope.ADMIN)
    await site.settle()
    [job] = await waiting(site, admin)
    await site.data(admin, CANCEL, selection={"ids": [str(job.id)]}, reason="not needed")
    users, tenant = site.world.auth.administration.users, site.world.ours
    editor = await site.world.user(Role.EDITOR, email="changes@example.org")
    await users.change_role(Actor.of(admin.principal), tenant.id, editor.id, Role.VIEWER)
    await site.settle()
    told = (await site.data(admin, EVENTS, page={"first": 20}))["serviceEventsConnection"]
    latest = {edge["node"]["subject"] + edge["node"]["type"]: edge["node"] for edge in reversed(told["edges"])}
    changed, created = (latest[f"{editor.id}{kind}"] for kind in ("user.role_changed", "user.created"))
    cancelled = latest[f"{job.id}job.changed"]
    found = (await site.data(admin, EVENTS, page={"first": 3}))["serviceEventsConnection"]
    own = f"user:{admin.principal.user_id}"
    assert (changed["type"], changed["subject"], changed["actor"], changed["actorName"], changed["metadata"]) == (
        *("user.role_changed", str(editor.id), own, "The admin"),
        {"old_role": "editor", "new_role": "viewer"},
    )
    assert (created["actor"], created["actorName"], created["metadata"]) == ("cli", None, {"role": "editor"})
    assert (cancelled["subjectKind"], cancelled["subject"], cancelled["actorName"]) == ("job", str(job.id), "The admin")
    assert cancelled["actor"] == admin.principal.actor  # a token of that person
    assert cancelled["metadata"]["status"] == "failed"
    total = (await site.data(admin, COUNT))["serviceEventsConnection"]["totalCount"]
    assert found["pageInfo"]["hasNextPage"]
    rest = await site.data(admin, EVENTS, page={"first": 500, "after": found["pageInfo"]["endCursor"]})
    assert len(rest["serviceEventsConnection"]["edges"]) == total - 3
    only = await site.data(admin, EVENTS, filter={"actor": own, "types": ["user.role_changed"]})
    assert [edge["node"]["id"] for edge in only["serviceEventsConnection"]["edges"]] == [changed["id"]]


async def test_one_artifacts_history_is_for_everybody_of_the_tenant(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, viewer = await site.person(), await site.person(Role.VIEWER)
    stranger = await site.person(Role.ADMIN, site.world.theirs, Scope.READ, Scope.ADMIN)
    upload, _ = await site.ready(ada), await site.ready(ada, "Another")
    about = {"artifactHash": upload.artifact_hash}
    with monkeypatch.context() as patch:
        statements = count_statements(patch)
        found = (await site.data(viewer, EVENTS, filter=about))["serviceEventsConnection"]["edges"]
    assert len(statements) == 1  # nobody asked how many there are
    assert {edge["node"]["subject"] for edge in found} == {upload.artifact_hash}
    assert [edge["node"]["type"] for edge in found][-1] == "artifact.registered"
    assert "artifact.original_stored" in {edge["node"]["type"] for edge in found}
    assert (await site.data(stranger, EVENTS, filter=about))["serviceEventsConnection"]["edges"] == []
    for wanted in (None, {"actor": "cli"}):
        refused = await site.ask(viewer, EVENTS, filter=wanted)
        assert refused["errors"][0]["extensions"]["code"] == "forbidden"


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"types": ["user.made_up"]}, "types"),
        ({"actor": ""}, "actor"),
        ({"since": "1700-01-01T00:00:00Z"}, "since"),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "until"),
        ({"artifactHash": "nonsense"}, "artifact_hash"),
    ],
)
async def test_bad_filters_name_the_field(site: Site, wanted: dict[str, object], field: str) -> None:
    admin = await site.person(Role.ADMIN, None, Scope.READ, Scope.ADMIN)
    answer = await site.ask(admin, EVENTS, filter=wanted)
    assert answer["errors"][0]["extensions"]["code"] == "invalid_input"
    assert answer["errors"][0]["extensions"]["field"] in {field, "artifactHash"}

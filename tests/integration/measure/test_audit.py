"""The audit, from the log into ClickHouse and back: every act once, newest first, inside one tenant."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.support.events import new_tenant
from touchline.contracts.events.access import UserDisabled, UserRoleChanged
from touchline.kernel import Forbidden, Principal, Role, Scope, TenantId, UserId, new_artifact_hash
from touchline.measure.audit.rules import ARTIFACT, AuditFilter, AuditWindow, ServiceEvent
from touchline.measure.audit.service import Audit, AuditFeed
from touchline.measure.audit.store import SCHEMA
from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import Endpoints

from .conftest import empty_analytics
from .test_feed import Log, drain, log

__all__ = ["log"]
EVERYTHING = AuditFilter()


def administrator(tenant: TenantId, role: Role = Role.ADMIN) -> Principal:
    return Principal(tenant, UserId(uuid4()), role)


async def listed(audit: Audit, caller: Principal, wanted: AuditFilter = EVERYTHING) -> list[ServiceEvent]:
    return list((await audit.page(caller, wanted, AuditWindow(500))).events)


async def test_what_was_done_is_there_once_and_stays(endpoints: Endpoints, log: Log) -> None:
    tenant, user, artifact = new_tenant(), uuid4(), new_artifact_hash()
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await ensure_tables(analytics)
        audit, admin = Audit(analytics), administrator(tenant)
        await log.write(tenant, UserRoleChanged(user_id=user, by="cli", old_role=Role.VIEWER, new_role=Role.ADMIN))
        await log.change(tenant, artifact, "requested", "uploading", "deleted")
        await log.write(new_tenant(), UserDisabled(user_id=uuid4(), by="cli"))
        feed = AuditFeed(analytics)
        await drain(log.consumer(feed))
        kept = await listed(audit, admin)
        assert [(event.type, event.subject, event.actor) for event in kept] == [
            *[("artifact.lifecycle", artifact, "system")] * 3,
            ("user.role_changed", str(user), "cli"),
        ]
        assert [event.metadata.get("status") for event in kept[:3]] == ["deleted", "uploading", "requested"]
        assert kept[3].metadata == {"old_role": "viewer", "new_role": "admin"}
        await feed._store.add(tenant, kept)  # delivered again, as after a death
        assert await listed(audit, admin) == kept
        await analytics.command("OPTIMIZE TABLE service_events FINAL")
        assert await listed(audit, admin) == kept
        assert await audit.count(admin, EVERYTHING) == 4
        assert await listed(audit, administrator(new_tenant())) == []


async def test_pages_and_filters(analytics: Analytics, log: Log) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    audit, admin = Audit(analytics), administrator(tenant)
    await log.change(tenant, artifact, *(f"state_{n}" for n in range(1, 6)))
    await log.write(tenant, UserDisabled(user_id=uuid4(), by="cli"), UserDisabled(user_id=uuid4(), by="touchline"))
    await drain(log.consumer(AuditFeed(analytics)))
    everything = await listed(audit, admin)
    assert len(everything) == 7
    first = await audit.page(admin, EVERYTHING, AuditWindow(3))
    second = await audit.page(admin, EVERYTHING, AuditWindow(3, after=first.events[-1].position))
    last = await audit.page(admin, EVERYTHING, AuditWindow(2, from_the_end=True))
    before = await audit.page(admin, EVERYTHING, AuditWindow(2, before=last.events[0].position, from_the_end=True))
    assert [*first.events, *second.events] == everything[:6]
    assert [*before.events, *last.events] == everything[3:]
    assert [(page.has_next, page.has_previous) for page in (first, second, last, before)] == [
        (True, False),
        (True, True),
        (False, True),
        (False, True),
    ]
    about = AuditFilter(ARTIFACT, artifact)
    assert await listed(audit, admin, about) == everything[2:]
    assert await audit.count(admin, about) == 5
    assert await listed(audit, admin, AuditFilter(types=("user.disabled",))) == everything[:2]
    assert await listed(audit, admin, AuditFilter(actor="cli")) == everything[1:2]
    since, until = everything[4].occurred_at, everything[0].occurred_at
    assert await listed(audit, admin, AuditFilter(since=since, until=until)) == [
        event for event in everything if since <= event.occurred_at < until
    ]


async def test_an_artifacts_history_is_everybodys_and_the_rest_is_for_administrators(
    analytics: Analytics, log: Log
) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    audit, viewer = Audit(analytics), administrator(tenant, Role.VIEWER)
    await log.change(tenant, artifact, "requested")
    await drain(log.consumer(AuditFeed(analytics)))
    assert len(await listed(audit, viewer, AuditFilter(ARTIFACT, artifact))) == 1
    assert await listed(audit, administrator(new_tenant()), AuditFilter(ARTIFACT, artifact)) == []
    readonly = Principal(tenant, UserId(uuid4()), Role.ADMIN, frozenset({Scope.READ}))
    for caller in (viewer, readonly):
        for wanted in (EVERYTHING, AuditFilter(ARTIFACT), AuditFilter(actor="cli")):
            with pytest.raises(Forbidden):
                await listed(audit, caller, wanted)
            with pytest.raises(Forbidden):
                await audit.count(caller, wanted)


def test_nothing_of_ours_changes_a_row_or_lets_it_expire() -> None:
    assert not any(word in statement for statement in SCHEMA for word in ("TTL", "ALTER", "DELETE"))

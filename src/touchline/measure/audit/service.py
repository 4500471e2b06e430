"""Questions to the audit. Another tenant's events are as unknown as those that never were."""

from __future__ import annotations

from touchline.kernel import Principal, Scope
from touchline.platform.clickhouse.client import Analytics

from . import rules
from .store import AuditStore


class Audit:
    def __init__(self, analytics: Analytics) -> None:
        self._store = AuditStore(analytics)

    async def page(self, caller: Principal, wanted: rules.AuditFilter, window: rules.AuditWindow) -> rules.AuditPage:
        return await self._store.page(caller.tenant_id, _allowed(caller, wanted), window)

    async def count(self, caller: Principal, wanted: rules.AuditFilter) -> int:
        return await self._store.count(caller.tenant_id, _allowed(caller, wanted))


def _allowed(caller: Principal, wanted: rules.AuditFilter) -> rules.AuditFilter:
    """Whoever may see an artifact may see what happened to it; everything else is for administrators."""
    caller.require(Scope.READ if wanted.subject_kind == rules.ARTIFACT and wanted.subject else Scope.ADMIN)
    return rules.checked(wanted)

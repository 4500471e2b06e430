"""Events and facts from the command line, straight on the database and ClickHouse of this installation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from touchline.gateway.auth.authentication import build_administration
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.service import Users
from touchline.kernel import SystemClock, TenantId
from touchline.measure.audit.service import Audit
from touchline.measure.facts.service import FoldService
from touchline.measure.ingest.raw_event_store import RawEventStore
from touchline.measure.ingest.service import IngestService, Replay
from touchline.measure.sessions.rules import Rules
from touchline.measure.validation.service import FactRepair, FactValidation
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.events.log import Archive, PostgresLog
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups

from . import wiring
from .settings import Loaded


@dataclass(frozen=True, slots=True)
class MeasureServices:
    """Of one tenant."""

    tenant_id: TenantId
    ingest: IngestService
    replay: Replay
    folds: FoldService
    validation: FactValidation
    repair: FactRepair
    raw_events: RawEventStore
    audit: Audit
    users: Users


@asynccontextmanager
async def open_measure(loaded: Loaded, slug: str) -> AsyncGenerator[MeasureServices]:
    settings, where = loaded.settings, wiring.endpoints(loaded)
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        Analytics(where.clickhouse, settings.clickhouse) as analytics,
        ObjectStore(where.objects, settings.objects) as objects,
    ):
        administration = build_administration(database, settings.auth, SystemClock())
        tenant = await administration.tenants.by_slug(COMMAND_LINE, slug)
        folds = FoldService(database, analytics, Rules.of(settings.sessions), settings.ingest)
        archive = Archive(database, objects, settings.events, SystemClock())
        log = PostgresLog(database, Wakeups(database.url, []), archive)
        yield MeasureServices(
            tenant_id=tenant.id,
            ingest=IngestService(database, analytics, settings.ingest),
            replay=Replay(database, analytics, settings.ingest),
            folds=folds,
            validation=FactValidation(database, analytics),
            repair=FactRepair(database, analytics, log, folds),
            raw_events=RawEventStore(analytics, tenant.id),
            audit=Audit(analytics),
            users=administration.users,
        )

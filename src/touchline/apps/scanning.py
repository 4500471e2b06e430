"""One pass of the scanner from the command line, beside those that run on their schedule."""

from __future__ import annotations

from touchline.gateway.auth.service import TenantOwners
from touchline.kernel import SystemClock
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.serve.scanner.rules import ScanReport
from touchline.serve.scanner.service import Scanner

from . import wiring
from .settings import Loaded


async def scan(loaded: Loaded) -> ScanReport:
    settings, where = loaded.settings, wiring.endpoints(loaded)
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
    ):
        return await Scanner(database, objects, TenantOwners(database), settings.serve, SystemClock()).scan()

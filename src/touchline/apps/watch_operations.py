"""What commands ask of watch: to whom it belongs, what is started by hand, and how it does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from touchline.contracts.tenants import Owner
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.service import TenantOwners
from touchline.kernel import Misconfigured, SystemClock, TenantId
from touchline.platform.postgres.database import Database
from touchline.platform.temporal.client import connect
from touchline.watch import operations
from touchline.watch.browser.session import import_cookies
from touchline.watch.discovery.queries import search_state
from touchline.watch.fixtures.feed_budget import budget_left, last_check
from touchline.watch.fixtures.workflow import IngestInput, IngestResult
from touchline.watch.settings import DiscoverySettings

from . import wiring
from .settings import Loaded

ANSWER_S = 3.0
_BUDGET = {
    "day": "left today",
    "day_limit": "limit per day",
    "minute": "left this minute",
    "minute_limit": "limit per minute",
}


async def watch_owner(database: Database, tenant: str) -> Owner:
    owners = TenantOwners(database)
    owner = await owners.named(tenant) if tenant else await owners.first()
    if owner is None:
        hint = "Create one with `touchline tenants create`, or correct `watch.tenant`."
        raise Misconfigured(
            "no tenant is set for what is watched", why=f"there is no tenant {tenant}".rstrip(), hint=hint
        )
    return owner


async def watch_tenant(database: Database, tenant: str) -> TenantId:
    return (await watch_owner(database, tenant)).tenant_id


async def ingest(loaded: Loaded, date: str | None, fixture_ids: list[int] | None) -> IngestResult:
    client = await connect(wiring.endpoints(loaded).temporal, loaded.settings.temporal)
    return await operations.ingest(client, IngestInput(date, fixture_ids), SystemClock().now())


async def retry(loaded: Loaded, event_id: str) -> str:
    """The id of the new run."""
    client = await connect(wiring.endpoints(loaded).temporal, loaded.settings.temporal)
    async with wiring.open_database(loaded) as database:
        tenant = await watch_tenant(database, loaded.settings.watch.tenant)
        return await operations.retry(client, database, tenant, event_id, loaded.settings.watch)


async def pin(loaded: Loaded, artifact_hash: str, *, pinned: bool) -> bool:
    """Whether that changed anything."""
    async with wiring.open_database(loaded) as database:
        tenant = await watch_tenant(database, loaded.settings.watch.tenant)
        return await operations.pin(database, tenant, artifact_hash, COMMAND_LINE.name, pinned=pinned)


async def replay(loaded: Loaded, workflow_id: str) -> None:
    await operations.replay(await connect(wiring.endpoints(loaded).temporal, loaded.settings.temporal), workflow_id)


def login(loaded: Loaded, cookies: Path) -> int:
    """How many cookies are kept."""
    browser = loaded.settings.browser
    folder = browser.session or wiring.data_folder(loaded).root / "browser"
    return import_cookies(cookies, folder, browser.network_url).cookies


async def status(loaded: Loaded) -> dict[str, Any]:
    settings = loaded.settings
    async with wiring.open_database(loaded) as database:
        tenant = await watch_tenant(database, settings.watch.tenant)
        async with database.transaction(tenant) as transaction:
            budget = await budget_left(transaction, settings.feed, SystemClock().now())
            search = await search_state(transaction)
            feed = await last_check(transaction)
    return {
        "enabled": settings.watch.enabled,
        **{f"feed calls, {_BUDGET[name]}": left for name, left in asdict(budget).items()},
        "feed answered at": feed.answered_at if feed else None,
        "feed failure": feed.failure if feed else None,
        "feed next try at": feed.next_try_at if feed else None,
        "search works": search.works if search else None,
        "search checked at": search.checked_at if search else None,
        "search failure": search.failure if search else None,
        **await _browser(wiring.discovery_settings(loaded)),
        "Temporal's page": wiring.temporal_page(loaded),
    }


async def _browser(settings: DiscoverySettings) -> dict[str, Any]:
    proof = {"Authorization": f"Bearer {settings.browser_token.get_secret_value()}"}
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=ANSWER_S, headers=proof) as client:
            document = (await client.get(f"{settings.browser_url}/status")).raise_for_status().json()
    except httpx.HTTPError as error:
        return {"browser": f"does not answer ({type(error).__name__})"}
    return {
        "browser": "running" if document["running"] else "idle, starts when needed",
        "login": document["login"],
        "searches left": document["searches_left"],
        "network's limit ends": document["limited_until"],
    }

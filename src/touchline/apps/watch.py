"""The watch process: the Temporal workers of matches, goals and their videos, until it is told to stop.

Invariant: it holds no state of its own. Any number may run, on any number of machines; killing one loses nothing.

What commands ask of watch: to whom it belongs, what is started by hand, and how it does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from touchline.contracts.tenants import Owner
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.service import TenantOwners
from touchline.kernel import Misconfigured, SystemClock, TenantId
from touchline.media.sandbox import Sandbox
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.periodic.runner import PeriodicRunner, PeriodicTask
from touchline.platform.postgres.database import Database
from touchline.platform.stack.status import stack_report
from touchline.platform.temporal.client import Client, connect, ensure_namespace
from touchline.watch import operations, schedules
from touchline.watch.aliases.activities import AliasActivities
from touchline.watch.aliases.language_model import ModelClient
from touchline.watch.aliases.service import AliasMaker
from touchline.watch.aliases.wikidata import WikidataClient
from touchline.watch.archive.activities import ArchiveActivities
from touchline.watch.browser.session import import_cookies
from touchline.watch.context import WatchContext
from touchline.watch.discovery.activities import DiscoveryActivities
from touchline.watch.discovery.client import SearchClient
from touchline.watch.discovery.queries import search_state
from touchline.watch.discovery.service import Canary, Discovery
from touchline.watch.downloads.activities import DownloadActivities, DownloadTools
from touchline.watch.downloads.sources import open_sources
from touchline.watch.fixtures.activities import IngestActivities
from touchline.watch.fixtures.feed_budget import Budget, budget_left, last_check
from touchline.watch.fixtures.feed_client import FeedClient
from touchline.watch.fixtures.service import TrackedTeams
from touchline.watch.fixtures.workflow import IngestInput, IngestResult
from touchline.watch.goals.activities import MonitorActivities
from touchline.watch.settings import DiscoverySettings
from touchline.watch.validation.service import Validator
from touchline.watch.worker import activities_of, split_activities, work

from . import wiring
from .runtime import health_server, keep_what_is_loaded, on_stop_signal, process_name, run_with_background
from .settings import Loaded, Settings

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
        "watch role": _watch_role(loaded),
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


def _watch_role(loaded: Loaded) -> str:
    """Of this machine; elsewhere it may run all the same."""
    parts = stack_report(wiring.data_folder(loaded)).parts
    state = next((part.status.state for part in parts if part.status.name == "watch"), None)
    return str(state or "does not run on this machine")


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


MINUTE = timedelta(minutes=1)
OWNER_AFTER_S = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    context: WatchContext
    http: httpx.AsyncClient
    feed: FeedClient
    sandbox: Sandbox
    scratch: Scratch
    validator: Validator
    model: ModelClient


async def run_watch(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    settings, where = loaded.settings, wiring.endpoints(loaded)
    client = await connect(where.temporal, settings.temporal)
    await ensure_namespace(client, settings.temporal)
    health = wiring.watch_settings(loaded)
    told = (
        health_server(health.host, health.port, "watch.port", client.count_workflows) if health.port else nullcontext()
    )
    async with told, _open(loaded, stop) as parts:
        if parts is not None:
            await _watch(loaded, parts, client, stop)


async def _watch(loaded: Loaded, parts: Parts, client: Client, stop: asyncio.Event) -> None:
    settings, discovery = loaded.settings, wiring.discovery_settings(loaded)
    archive = ArchiveActivities(parts.context, settings.watch, client)
    search = SearchClient(discovery, parts.http)
    activities = activities_of(
        archive,
        _downloads(parts, settings, client),
        *_matches(parts, settings, has_attributes=await schedules.register_attributes(client)),
        AliasActivities(parts.context, _aliases(parts, settings)),
        DiscoveryActivities(Discovery(parts.context, discovery), search, parts.validator.prepare),
    )
    await schedules.reconcile(client, settings.watch, settings.fixtures)
    await asyncio.gather(parts.sandbox.isolation(), parts.context.objects.prepare())  # so that no video waits for it
    tasks = [
        Canary(parts.context, search, discovery).task,
        PeriodicTask("resume the archive of goals", MINUTE, _resuming(archive), catches_up=True),
    ]
    periodic = PeriodicRunner(parts.context.database, tasks, settings.periodic, process_name())
    keep_what_is_loaded()
    await run_with_background(
        work(client, split_activities(activities, settings.watch.heavy_at_once), stop), [periodic.run()]
    )


@asynccontextmanager
async def _open(loaded: Loaded, stop: asyncio.Event) -> AsyncGenerator[Parts | None]:
    """None: it was stopped before anybody owned what is watched."""
    settings, where, clock = loaded.settings, wiring.endpoints(loaded), SystemClock()
    with open_scratch(wiring.scratch_folder(loaded)) as scratch, scratch.as_temporary():
        async with (
            Database(where.postgres.worker_url, settings.postgres) as database,
            ObjectStore(where.objects, settings.objects) as objects,
            Sandbox(settings.media) as sandbox,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            owner = await _owner(database, settings.watch.tenant, stop)
            if owner is None:
                yield None
                return
            model, context = ModelClient(settings.model, http), WatchContext(database, objects, owner, clock)
            async with (
                FeedClient(settings.feed, Budget(context, settings.feed)) as feed,
                Validator(sandbox, settings.validation, model if model.is_set else None) as validator,
            ):
                yield Parts(context, http, feed, sandbox, scratch, validator, model)


async def _owner(database: Database, tenant: str, stop: asyncio.Event) -> Owner | None:
    """Waits until there is somebody: a new installation has nobody yet, and a tenant may be made later."""
    said = False
    while not stop.is_set():
        try:
            return await watch_owner(database, tenant)
        except Misconfigured as error:
            if not said:
                logger.warning("waiting for an owner", extra={"reason": str(error), "next": error.hint})
            said = True
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), OWNER_AFTER_S)
    return None


def _matches(parts: Parts, settings: Settings, *, has_attributes: bool) -> tuple[IngestActivities, MonitorActivities]:
    teams = TrackedTeams(parts.context, parts.feed, settings.feed)
    ingest = IngestActivities(parts.context, parts.feed, teams, settings.fixtures, settings.watch.retention)
    known = parts.context, parts.feed, settings.fixtures, settings.watch, has_attributes
    return ingest, MonitorActivities(*known, get_ready=parts.validator.prepare)


def _aliases(parts: Parts, settings: Settings) -> AliasMaker:
    wikidata = WikidataClient(settings.aliases, parts.http)
    return AliasMaker(parts.feed, wikidata, parts.model, settings.aliases, parts.context.clock)


def _downloads(parts: Parts, settings: Settings, client: Client) -> DownloadActivities:
    means = DownloadTools(parts.sandbox, parts.scratch, open_sources(settings.downloads), parts.validator, client)
    return DownloadActivities(parts.context, means, settings.downloads, settings.watch)


def _resuming(archive: ArchiveActivities) -> Callable[[], Awaitable[bool]]:
    async def run_pass() -> bool:
        await archive.resume_uploads()
        return False

    return run_pass

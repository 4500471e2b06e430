"""One real stack for the whole run, started when the first test asks for it; each test has its own corner of it."""

from __future__ import annotations

import gc
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack
from dataclasses import replace
from secrets import token_hex

import pytest
from xdist.remote import Producer
from xdist.scheduler.loadscope import LoadScopeScheduling

from tests.support.buckets import Buckets
from tests.support.postgres import PostgresServer
from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.platform.endpoints import Endpoints, ObjectsEndpoint, PostgresEndpoint, TemporalEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.settings import ObjectsSettings

from .support import debian_postgres, properties

properties.load_profile()

# A shell without job control starts background commands deaf to Ctrl-C, and so would be what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Thousands of tests are collected and hundreds of modules imported, and all of it stays.
gc.disable()

LONGEST = ("/e2e/", "/chaos/", "/stack/", "/integration/")
EMBEDDED, DEBIAN = "embedded", "debian-15"
SERVERS = [EMBEDDED, DEBIAN] if debian_postgres.installed() else [EMBEDDED]


def pytest_report_header() -> str:
    return f"postgres: {', '.join(SERVERS)}"


class Together(LoadScopeScheduling):
    """What shares something stays in one process: the tests of a file, and all that drive the running product, or
    another server than our own. `--dist loadgroup` is no way to say that as long as pytest-xdist ignores its groups
    with pytest 9.2 (its issue 1386)."""

    def _split_scope(self, nodeid: str) -> str:
        if DEBIAN in nodeid:
            return DEBIAN
        return "e2e" if "/e2e/" in nodeid else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first."""
    items.sort(key=lambda item: [part not in item.nodeid for part in LONGEST])


def pytest_collection_finish() -> None:
    """From here on garbage is garbage of tests: nobody goes through what was collected again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared_stack() -> Generator[RunningStack]:
    with temporary_root() as root, running_stack(StackPlan(root)) as stack:
        yield stack


@pytest.fixture(scope="session")
async def sandbox() -> AsyncGenerator[Sandbox]:
    async with Sandbox(MediaSettings()) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def endpoints(shared_stack: RunningStack) -> Endpoints:
    return shared_stack.endpoints


@pytest.fixture(scope="session")
async def postgres_server(shared_stack: RunningStack) -> AsyncGenerator[PostgresServer]:
    server = PostgresServer(shared_stack.superuser_url, shared_stack.passwords)
    await server.stop_flushing()
    await server.make_template()
    await server.quicken_logins()
    yield server
    await server.close()


@pytest.fixture(scope="session", params=SERVERS)
async def any_server(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> AsyncGenerator[PostgresServer]:
    """Every PostgreSQL that this machine has, from the oldest that is supported to our own."""
    if request.param == EMBEDDED:
        yield postgres_server
        return
    with ExitStack() as stack:
        server = stack.enter_context(debian_postgres.debian_postgres())
        await server.make_template()
        yield server
        await server.close()


@pytest.fixture
async def any_postgres(any_server: PostgresServer) -> AsyncGenerator[PostgresEndpoint]:
    async with any_server.migrated_database() as endpoint:
        yield endpoint


@pytest.fixture
async def postgres(postgres_server: PostgresServer) -> AsyncGenerator[PostgresEndpoint]:
    async with postgres_server.migrated_database() as endpoint:
        yield endpoint


@pytest.fixture
async def database(postgres: PostgresEndpoint) -> AsyncGenerator[Database]:
    async with Database(postgres.app_url) as database:
        yield database


@pytest.fixture(scope="session")
async def buckets(endpoints: Endpoints) -> AsyncGenerator[Buckets]:
    async with Buckets(endpoints.objects) as buckets:
        yield buckets


@pytest.fixture
async def bucket(buckets: Buckets) -> AsyncGenerator[ObjectsEndpoint]:
    async with buckets.bucket() as bucket:
        yield bucket


@pytest.fixture
async def objects(bucket: ObjectsEndpoint) -> AsyncGenerator[ObjectStore]:
    async with ObjectStore(bucket, ObjectsSettings()) as store:
        yield store


@pytest.fixture
def namespace(endpoints: Endpoints) -> TemporalEndpoint:
    """A name that is not taken; the test makes the namespace."""
    return replace(endpoints.temporal, namespace=f"test-{token_hex(6)}")

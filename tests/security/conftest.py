"""Two tenants with all that a tenant can have. One pair for a file: making it takes longer than asking most of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.integration.gateway.conftest import new_world
from tests.integration.gateway.graphql.conftest import analytics
from tests.integration.gateway.graphql.site import Needs
from tests.support.buckets import Buckets
from tests.support.postgres import PostgresServer
from touchline.media.sandbox import Sandbox
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

from .tenants import Tenants, two_tenants

__all__ = ["analytics"]


@pytest.fixture(scope="module")
async def tenants(
    postgres_server: PostgresServer,
    buckets: Buckets,
    analytics: Analytics,
    sandbox: Sandbox,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncGenerator[Tenants]:
    scratch = tmp_path_factory.mktemp("tenants")
    async with (
        postgres_server.migrated_database() as postgres,
        new_world(postgres) as world,
        buckets.bucket() as bucket,
        ObjectStore(bucket, ObjectsSettings()) as objects,
        two_tenants(Needs(world, objects, analytics, sandbox, scratch), postgres_server) as tenants,
    ):
        yield tenants

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from tests.support.buckets import Buckets
from touchline.platform.endpoints import Endpoints, ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

SETTINGS = ObjectsSettings(request_timeout=timedelta(seconds=30), retries=2)


@pytest.fixture(scope="session")
def service(endpoints: Endpoints) -> ObjectsEndpoint:
    return endpoints.objects


@pytest.fixture
async def endpoint(buckets: Buckets) -> ObjectsEndpoint:
    return await buckets.new()


@pytest.fixture
async def store(endpoint: ObjectsEndpoint) -> AsyncGenerator[ObjectStore]:
    async with ObjectStore(endpoint, SETTINGS) as store:
        yield store

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.worker import Worker

from touchline.kernel import Misconfigured, Unavailable
from touchline.platform.endpoints import TemporalEndpoint
from touchline.platform.settings import TemporalSettings
from touchline.platform.temporal.client import connect, ensure_namespace

from .hello_workflow import Greeting

SETTINGS = TemporalSettings()
IMPATIENT = TemporalSettings(connect_timeout=timedelta(milliseconds=500))


async def _retention(client: Client) -> timedelta:
    request = DescribeNamespaceRequest(namespace=client.namespace)
    answer = await client.workflow_service.describe_namespace(request)
    return answer.config.workflow_execution_retention_ttl.ToTimedelta()


async def test_a_workflow_runs_in_a_namespace_that_was_not_there_before(endpoint: TemporalEndpoint) -> None:
    client = await connect(endpoint, SETTINGS)
    await ensure_namespace(client, SETTINGS)
    async with Worker(client, task_queue="greetings", workflows=[Greeting]):
        answer = await client.execute_workflow(Greeting.run, "touchline", id="one", task_queue="greetings")
    assert answer == "hello touchline"
    assert await _retention(client) == SETTINGS.retention


async def test_many_processes_may_create_it_at_once(endpoint: TemporalEndpoint) -> None:
    clients = await asyncio.gather(*(connect(endpoint, SETTINGS) for _ in range(4)))
    await asyncio.gather(*(ensure_namespace(client, SETTINGS) for client in clients))
    await ensure_namespace(clients[0], SETTINGS)


async def test_a_changed_retention_reaches_a_namespace_that_exists(endpoint: TemporalEndpoint) -> None:
    client = await connect(endpoint, SETTINGS)
    await ensure_namespace(client, SETTINGS)
    await ensure_namespace(client, TemporalSettings(retention=timedelta(days=2)))
    assert await _retention(client) == timedelta(days=2)


async def test_a_server_that_is_away_is_unavailable(endpoint: TemporalEndpoint) -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        await connect(replace(endpoint, address="127.0.0.1:1"), IMPATIENT)


async def test_a_server_that_is_silent_is_unavailable(endpoint: TemporalEndpoint) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unavailable, match="no answer"):
            await connect(replace(endpoint, address=address), IMPATIENT)


async def test_a_namespace_that_the_server_refuses_is_a_matter_of_settings(endpoint: TemporalEndpoint) -> None:
    client = await connect(replace(endpoint, namespace="n" * 2000), SETTINGS)
    with pytest.raises(Misconfigured):
        await ensure_namespace(client, SETTINGS)

"""A connected Temporal client and a namespace that can be used.

Invariant: both wait no longer than the settings say, and then report what they waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from touchline.kernel import DeadlineExceeded, Misconfigured, TouchlineError, Unavailable
from touchline.platform.endpoints import TemporalEndpoint
from touchline.platform.settings import TemporalSettings

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = 0.2
_REFUSED = frozenset({RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.UNIMPLEMENTED})


async def connect(endpoint: TemporalEndpoint, settings: TemporalSettings) -> Client:
    """Tries until the server answers. The namespace need not exist yet."""
    api_key = settings.api_key.get_secret_value() or None
    reason = "no answer"
    async for seconds_left in _attempts(settings.connect_timeout):
        try:
            async with asyncio.timeout(seconds_left):
                return await Client.connect(
                    endpoint.address,
                    namespace=endpoint.namespace,
                    api_key=api_key,
                    tls=settings.uses_tls,
                )
        except (RuntimeError, TimeoutError) as error:  # the library has no class of its own for this
            reason = str(error) or reason
    raise Unavailable("the Temporal server does not answer", why=f"{endpoint.address}: {reason}")


async def ensure_namespace(client: Client, settings: TemporalSettings) -> None:
    """Creates the client's namespace or brings its retention up to date, then waits until workflows can run in it."""
    try:
        await _create_or_update(client, settings.retention)
        await _wait_until_usable(client, settings.connect_timeout)
    except RPCError as error:
        raise _translated(error, client.namespace) from error


async def _create_or_update(client: Client, retention: timedelta) -> None:
    current = await _retention(client)
    if current is None:
        await _register(client, retention)
    elif current != retention:
        await _update(client, retention)


async def _retention(client: Client) -> timedelta | None:
    """None: there is no such namespace."""
    try:
        found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return found.config.workflow_execution_retention_ttl.ToTimedelta()


async def _register(client: Client, retention: timedelta) -> None:
    request = RegisterNamespaceRequest(
        namespace=client.namespace, workflow_execution_retention_period=_duration(retention)
    )
    try:
        await client.workflow_service.register_namespace(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # another process was faster
            raise


async def _update(client: Client, retention: timedelta) -> None:
    config = NamespaceConfig(workflow_execution_retention_ttl=_duration(retention))
    try:
        await client.workflow_service.update_namespace(
            UpdateNamespaceRequest(namespace=client.namespace, config=config)
        )
    except RPCError as error:
        if error.status not in _REFUSED:
            raise
        _LOG.warning("the namespace keeps its own retention", extra={"namespace": client.namespace})


async def _wait_until_usable(client: Client, within: timedelta) -> None:
    """A new namespace is unknown to the server's caches for about a second."""
    async for _ in _attempts(within):
        try:
            await client.count_workflows()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
        else:
            return
    raise DeadlineExceeded("the namespace cannot be used yet", why=client.namespace)


async def _attempts(within: timedelta) -> AsyncIterator[float]:
    """At least one attempt, then more until the time is up; yields the seconds that are left."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within.total_seconds()
    while True:
        yield max(deadline - loop.time(), 0.0)
        if loop.time() + _PAUSE_SECONDS >= deadline:
            return
        await asyncio.sleep(_PAUSE_SECONDS)


def _duration(value: timedelta) -> Duration:
    duration = Duration()
    duration.FromTimedelta(value)
    return duration


def _translated(error: RPCError, namespace: str) -> TouchlineError:
    if error.status in _REFUSED or error.status is RPCStatusCode.INVALID_ARGUMENT:
        hint = "Check the address, the key and the namespace in the settings of Temporal."
        return Misconfigured(f"Temporal refuses the namespace {namespace}", why=error.message, hint=hint)
    return Unavailable("the Temporal server failed", why=error.message)

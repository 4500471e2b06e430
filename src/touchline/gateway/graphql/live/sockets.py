"""Subscriptions over `graphql-transport-ws`: who connects, for how long, and what may be said.

Invariant: nothing is subscribed before a token was accepted, and the token is asked about for as long as the connection
is open. Queries and mutations do not pass here: they have their own limits over HTTP.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress

from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message
from strawberry.types.unset import UNSET, UnsetType

from touchline.gateway.graphql.context import LIVE, Context, GraphqlParts
from touchline.gateway.graphql.schema import Schema
from touchline.kernel import Principal, Scope
from touchline.kernel.errors import Forbidden, LimitExceeded, TouchlineError, Unauthenticated
from touchline.kernel.values import is_plain

from .closing import Closing
from .connections import LiveConnection
from .messages import is_message

TOKEN = "accessToken"  # noqa: S105  its name in the connection's parameters
logger = logging.getLogger(__name__)


class Handler(BaseGraphQLTransportWSHandler[Context, None]):
    async def handle_message(self, message: Message) -> None:
        if is_message(message):
            await super().handle_message(message)
        else:
            await self.handle_invalid_message("Failed to parse message")

    async def handle_task_exception(self, error: Exception) -> None:
        gone = isinstance(error, WebSocketDisconnected) or self.context.live.is_closing
        if not gone:  # otherwise there is only nobody left to send to
            logger.error("a live connection failed", exc_info=error)


class Sockets(GraphQL[Context, None]):
    graphql_transport_ws_handler_class = Handler

    def __init__(self, schema: Schema, parts: GraphqlParts, origins: frozenset[str]) -> None:
        settings = parts.settings
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=settings.hello_timeout,
            max_subscriptions_per_connection=settings.subscriptions_per_connection,
            allowed_origins=sorted(origins),
        )
        self._parts = parts
        self._connections = parts.feeds.connections

    async def serve(self, websocket: WebSocket) -> None:
        with suppress(TimeoutError):  # it was closed, and its client did not take that
            async with asyncio.timeout(None) as time:
                connection = LiveConnection(websocket, time)
                context = Context(self._parts, operations=LIVE, connection=connection)
                try:
                    await self.run(websocket, context=context, root_value=None)
                finally:
                    await connection.end()
                    if context.known is not None:
                        self._connections.leave(context.known.tenant_id)

    async def on_ws_connect(self, context: Context) -> UnsetType:
        try:
            await self._admit(context)
        except (Unauthenticated, Forbidden):
            raise _refused(context.live, Closing.NOT_SIGNED_IN) from None
        except LimitExceeded:
            raise _refused(context.live, Closing.TOO_MANY) from None
        except TouchlineError as error:
            logger.warning("a live connection could not be opened", extra={"reason": str(error)})
            raise _refused(context.live, Closing.FAILED) from None
        return UNSET

    def decode_json(self, data: str | bytes) -> object:
        try:
            document = json.loads(data)
        except (RecursionError, ValueError) as error:  # too deep; more digits than Python reads
            raise json.JSONDecodeError("not readable", "", 0) from error
        if not is_plain(document):
            raise json.JSONDecodeError("not plain", "", 0)
        return document

    async def _admit(self, context: Context) -> None:
        token = context.connection_params.get(TOKEN)
        principal = await self._principal(token)
        principal.require(Scope.READ)
        if not self._connections.enter(principal.tenant_id):
            raise LimitExceeded("the tenant has too many live connections")
        context.known = principal
        context.live.position = await self._parts.feeds.head(principal.tenant_id)
        context.live.beside(self._recheck(token, context.live))

    async def _principal(self, token: object) -> Principal:
        if not isinstance(token, str):
            raise Unauthenticated("you are not signed in", why=f"the connection's parameters have no {TOKEN}")
        return await self._parts.auth.authentication.authenticate(token)

    async def _recheck(self, token: object, connection: LiveConnection) -> None:
        while True:
            await asyncio.sleep(self._parts.settings.recheck_every.total_seconds())
            try:
                await self._principal(token)
            except Unauthenticated:
                connection.close(Closing.NOT_SIGNED_IN)
                return
            except TouchlineError as error:
                logger.warning("a live token could not be checked", extra={"reason": str(error)})


def _refused(connection: LiveConnection, closing: Closing) -> WebSocketDisconnected:
    """Ends the handler; the close is on its way."""
    connection.close(closing)
    return WebSocketDisconnected()

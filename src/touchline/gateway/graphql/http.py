"""GraphQL over HTTP: one POST, one operation. Subscriptions use a WebSocket at the same address.

Invariant: only JSON, only with a bearer token; no GET, no batches. What cannot be executed at all is a problem; what
fails inside is in the answer's `errors`. Nothing is subscribed before a token was accepted, and the token is checked
again for as long as the connection is open.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import MissingQueryError
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.schema.exceptions import CannotGetOperationTypeError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message
from strawberry.types.unset import UNSET, UnsetType

from touchline.gateway.composition import GraphqlComposition
from touchline.gateway.rest.callers import RESPONSES, CurrentPrincipal, RequestBody, request_id_of
from touchline.kernel import (
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    Principal,
    Scope,
    TouchlineError,
    Unauthenticated,
    is_plain,
    tracing,
)
from touchline.platform.rpc.calls import deadline_in

from .context import LIVE, RequestContext
from .feeds import CloseReason, LiveConnection
from .schema import Schema, build_schema

# --- Messages: whether one has the shape that the protocol's handler takes for granted. Pure.


class _SubscribePayload(BaseModel):
    model_config = ConfigDict(strict=True)

    query: str
    variables: dict[str, Any] | None = None
    operationName: str | None = None  # noqa: N815  as the protocol writes it


class _Subscribe(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    payload: _SubscribePayload


class _Complete(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str


class _Other(BaseModel):
    """What the handler itself looks at, or refuses."""


_BODIES: dict[str, type[BaseModel]] = {"subscribe": _Subscribe, "complete": _Complete}


def is_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    said = cast("dict[str, Any]", message)
    body = _BODIES.get(said["type"], _Other) if isinstance(said.get("type"), str) else None
    if body is None:
        return False
    try:
        body.model_validate(said)
    except ValidationError:
        return False
    return True


# --- Subscriptions over `graphql-transport-ws`. Queries and mutations are refused: HTTP has limits for them.

TOKEN = "accessToken"  # noqa: S105  its name in the connection's parameters
# Live connections that have not said yet who they are. An HTTP server cannot tell them from those that are used, and
# without a limit of their own they would take all its places, for as long as `hello_timeout` each.
MOST_SILENT = 100
logger = logging.getLogger(__name__)


class Handler(BaseGraphQLTransportWSHandler[RequestContext, None]):
    async def handle_message(self, message: Message) -> None:
        if is_message(message):
            await super().handle_message(message)
        else:
            await self.handle_invalid_message("Failed to parse message")

    async def handle_task_exception(self, error: Exception) -> None:
        gone = isinstance(error, WebSocketDisconnected) or self.context.live.is_closing
        if not gone:  # otherwise there is only nobody left to send to
            logger.error("a live connection failed", exc_info=error)


class Sockets(GraphQL[RequestContext, None]):
    graphql_transport_ws_handler_class = Handler

    def __init__(self, schema: Schema, composition: GraphqlComposition, origins: frozenset[str]) -> None:
        settings = composition.settings
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=settings.hello_timeout,
            max_subscriptions_per_connection=settings.subscriptions_per_connection,
            allowed_origins=sorted(origins),
        )
        self._composition = composition
        self._connections = composition.feeds.connections
        self._silent: dict[LiveConnection, None] = {}  # oldest first

    async def serve(self, websocket: WebSocket) -> None:
        with suppress(TimeoutError):  # it was closed, and its client did not take that
            async with asyncio.timeout(None) as time:
                connection = LiveConnection(websocket, time)
                context = RequestContext(self._composition, operations=LIVE, connection=connection)
                self._let_in(connection)
                try:
                    await self.run(websocket, context=context, root_value=None)
                finally:
                    self._silent.pop(connection, None)
                    await connection.end()
                    if context.known is not None:
                        self._connections.leave(context.known.tenant_id)

    def _let_in(self, connection: LiveConnection) -> None:
        """In the place of the one that has been silent for longest, when there are too many of them."""
        self._silent[connection] = None
        if len(self._silent) > MOST_SILENT:
            oldest = next((one for one in self._silent if one.is_accepted), None)
            if oldest is not None:
                del self._silent[oldest]
                oldest.drop()

    async def on_ws_connect(self, context: RequestContext) -> UnsetType:
        try:
            await self._admit(context)
        except (Unauthenticated, Forbidden):
            raise _refused(context.live, CloseReason.NOT_SIGNED_IN) from None
        except LimitExceeded:
            raise _refused(context.live, CloseReason.TOO_MANY) from None
        except TouchlineError as error:
            logger.warning("a live connection could not be opened", extra={"reason": str(error)})
            raise _refused(context.live, CloseReason.FAILED) from None
        return UNSET

    def decode_json(self, data: str | bytes) -> object:
        try:
            document = json.loads(data)
        except (RecursionError, ValueError) as error:  # too deep; more digits than Python reads
            raise json.JSONDecodeError("not readable", "", 0) from error
        if not is_plain(document):
            raise json.JSONDecodeError("not plain", "", 0)
        return document

    async def _admit(self, context: RequestContext) -> None:
        token = context.connection_params.get(TOKEN)
        principal = await self._principal(token)
        principal.require(Scope.READ)
        if not self._connections.enter(principal.tenant_id):
            raise LimitExceeded("the tenant has too many live connections")
        context.known = principal
        self._silent.pop(context.live, None)
        context.live.position = await self._composition.feeds.head(principal.tenant_id)
        context.live.run_in_background(self._recheck(token, context.live))

    async def _principal(self, token: object) -> Principal:
        if not isinstance(token, str):
            raise Unauthenticated("you are not signed in", why=f"the connection parameters have no {TOKEN}")
        return await self._composition.auth.authentication.authenticate(token)

    async def _recheck(self, token: object, connection: LiveConnection) -> None:
        while True:
            await asyncio.sleep(self._composition.settings.recheck_every.total_seconds())
            try:
                await self._principal(token)
            except Unauthenticated:
                connection.close(CloseReason.NOT_SIGNED_IN)
                return
            except TouchlineError as error:
                logger.warning("a live token could not be checked", extra={"reason": str(error)})


def _refused(connection: LiveConnection, closing: CloseReason) -> WebSocketDisconnected:
    """Ends the handler; the close is on its way."""
    connection.close(closing)
    return WebSocketDisconnected()


class Operation(RequestBody):
    model_config = ConfigDict(populate_by_name=True)

    query: str
    variables: dict[str, Any] | None = None
    operation_name: str | None = Field(default=None, alias="operationName")


class Answer(BaseModel):
    """How the answer looks; it is sent as it comes."""

    data: dict[str, Any] | None
    errors: list[dict[str, Any]] | None = None


def build_router(composition: GraphqlComposition, origins: frozenset[str]) -> APIRouter:
    router = APIRouter(prefix="/api/graphql", tags=["graphql"], responses=RESPONSES)
    schema = build_schema()
    sockets = Sockets(schema, composition, origins)

    @router.post("", response_model=Answer)
    async def graphql(operation: Operation, request: Request, principal: CurrentPrincipal) -> JSONResponse:
        with tracing(request_id_of(request)):
            return JSONResponse(await execute(schema, operation, RequestContext(composition, known=principal)))

    router.add_api_websocket_route("", sockets.serve)
    return router


async def execute(schema: Schema, operation: Operation, context: RequestContext) -> dict[str, Any]:
    seconds = context.composition.settings.request_timeout.total_seconds()
    try:
        async with asyncio.timeout(seconds):
            with deadline_in(seconds):
                result = await schema.execute(
                    operation.query,
                    variable_values=operation.variables,
                    context_value=context,
                    operation_name=operation.operation_name,
                )
    except TimeoutError:
        why = f"the limit is {seconds:g} s; it is unknown whether a change was saved"
        raise DeadlineExceeded("the request took too long", why=why) from None
    except (CannotGetOperationTypeError, MissingQueryError) as error:
        raise InvalidInput("the document has no operation with this name", field="operationName") from error
    answer: dict[str, Any] = {"data": result.data}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    return answer

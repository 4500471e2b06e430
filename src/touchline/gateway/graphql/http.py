"""GraphQL over HTTP: one POST, one operation. Everything live goes over a WebSocket at the same address.

Invariant: only JSON, only with a bearer token; no GET, no batches. What cannot be executed at all is a problem; what
fails inside is in the answer's `errors`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from strawberry.exceptions import MissingQueryError
from strawberry.schema.exceptions import CannotGetOperationTypeError

from touchline.gateway.graphql.live.sockets import Sockets
from touchline.gateway.rest.principals import CurrentPrincipal
from touchline.gateway.rest.problems import RESPONSES, RequestBody, request_id_of
from touchline.kernel.errors import DeadlineExceeded, InvalidInput
from touchline.kernel.trace import tracing
from touchline.platform.rpc.protocol import deadline_in

from .context import Context, GraphqlParts
from .schema import Schema, build_schema


class Operation(RequestBody):
    model_config = ConfigDict(populate_by_name=True)

    query: str
    variables: dict[str, Any] | None = None
    operation_name: str | None = Field(default=None, alias="operationName")


class Answer(BaseModel):
    """How the answer looks; it is sent as it comes."""

    data: dict[str, Any] | None
    errors: list[dict[str, Any]] | None = None


def build_router(parts: GraphqlParts, origins: frozenset[str]) -> APIRouter:
    router = APIRouter(prefix="/api/graphql", tags=["graphql"], responses=RESPONSES)
    schema = build_schema()
    sockets = Sockets(schema, parts, origins)

    @router.post("", response_model=Answer)
    async def graphql(operation: Operation, request: Request, principal: CurrentPrincipal) -> JSONResponse:
        with tracing(request_id_of(request)):
            return JSONResponse(await execute(schema, operation, Context(parts, known=principal)))

    router.add_api_websocket_route("", sockets.serve)
    return router


async def execute(schema: Schema, operation: Operation, context: Context) -> dict[str, Any]:
    seconds = context.parts.settings.request_timeout.total_seconds()
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
        why = f"the limit is {seconds:g} s; whether a change was kept is not known"
        raise DeadlineExceeded("the request took too long", why=why) from None
    except (CannotGetOperationTypeError, MissingQueryError) as error:
        raise InvalidInput("there is no such operation in the document", field="operationName") from error
    answer: dict[str, Any] = {"data": result.data}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    return answer

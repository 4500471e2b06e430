"""The caller of a request: from our own page, from another site or from this machine, and which principal it is.

Invariant: a browser that acts for another site is refused; a program, which has no cookies to abuse, is not.

Errors over HTTP: application/problem+json (RFC 9457).

Invariant: `code` is the contract; details of an internal error (500) are logged under the request's id and not sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from ipaddress import ip_address
from math import ceil
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, model_validator
from starlette.exceptions import HTTPException

from touchline.gateway.composition import Gateway
from touchline.gateway.settings import LOOPBACK_NAMES, GatewaySettings
from touchline.kernel import Forbidden, Principal, Unauthenticated, errors, is_plain, surface

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def require_own_origin(headers: Mapping[str, str], settings: GatewaySettings) -> None:
    """Browsers name the origin of every POST; `Sec-Fetch-Site` says the same where they do not."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    own = origin in settings.origins if origin is not None else site in {"same-origin", "none"}
    if not own:
        hint = "Open the page at its public address, or set `gateway.public_url` to the address that people use."
        raise Forbidden("the request comes from another site", why=f"it comes from {origin or site}", hint=hint)


def is_this_machine(peer: str, headers: Mapping[str, str]) -> bool:
    """A proxy on this machine speaks for others, and a name that leads here may be a stranger's (DNS rebinding)."""
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return _is_loopback(peer) and name in LOOPBACK_NAMES and not any(header in headers for header in FORWARDED)


def _is_loopback(peer: str) -> bool:
    try:
        return ip_address(peer).is_loopback
    except ValueError:
        return False


# --- The principal of a request, for every route that needs it: `principal: CurrentPrincipal`.

_bearer = HTTPBearer(auto_error=False, description="An access token from signing in, or an API token (`tl_…`).")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def current_principal(bearer: Bearer, gateway: Gateway) -> Principal:
    if bearer is None:
        why = "the request has no bearer token"
        raise Unauthenticated("you are not signed in", why=why, hint="Send `Authorization: Bearer …`.")
    return await gateway.auth.authentication.authenticate(bearer.credentials)


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]


MEDIA_TYPE = "application/problem+json"
INTERNAL = 500
NOWHERE = 404
OF_PROGRAMS = ("/api/", "/media/", "/assets/", "/health/")
COME_BACK = timedelta(seconds=5)  # about as long as a part needs to start again
logger = logging.getLogger(__name__)

# What the framework says in numbers only.
_BY_STATUS: dict[int, errors.TouchlineError] = {
    401: errors.Unauthenticated("you are not signed in"),
    403: errors.Forbidden("this is not allowed"),
    404: errors.NotFound("not found", hint="Check the URL."),
    405: errors.InvalidInput(
        "this URL does not support that method", hint="/api/openapi.json lists the methods of each URL."
    ),
    413: errors.LimitExceeded("the request is too large"),
}


class RequestBody(BaseModel):
    """What a client sends as JSON, refused as a whole when it holds what nobody can keep."""

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, document: object) -> object:
        if not is_plain(document):
            raise ValueError("it has an unpaired surrogate, a NUL character, or a number that is not finite")
        return document


class ProblemBody(BaseModel):
    type: str
    code: str
    title: str
    detail: str
    status: int
    next: str
    retryable: bool
    request_id: str


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"description": "A problem", "content": {MEDIA_TYPE: {"schema": ProblemBody.model_json_schema()}}}
}


def problem(
    error: errors.TouchlineError, request_id: str, status: int | None = None, extra: Mapping[str, Any] | None = None
) -> JSONResponse:
    status = status or surface(error).http
    public = error if status != INTERNAL else errors.Defect("an internal error occurred")
    body = ProblemBody(
        type=f"urn:touchline:problem:{public.code}",
        code=public.code,
        title=public.what,
        detail=public.why,
        status=status,
        next=public.hint,
        retryable=public.retryable,
        request_id=request_id,
    ).model_dump()
    if isinstance(public, errors.InvalidInput) and public.field:
        body["field"] = public.field
    return JSONResponse({**body, **(extra or {})}, status, _headers(public), MEDIA_TYPE)


def _headers(error: errors.TouchlineError) -> dict[str, str] | None:
    match error:
        case errors.Unauthenticated():
            return {"WWW-Authenticate": "Bearer"}
        case errors.DeadlineExceeded():
            return None  # what took too long takes too long again
        case errors.Warming(retry_after=timedelta() as wait):
            return {"Retry-After": str(ceil(wait.total_seconds()))}
        case errors.Unavailable():
            return {"Retry-After": str(ceil(COME_BACK.total_seconds()))}
        case errors.RateLimited(retry_after=timedelta() as wait):
            return {"Retry-After": str(ceil(wait.total_seconds()))}
        case _:
            return None


def request_id_of(request: Request) -> str:
    return getattr(request.state, "request_id", "")


def install(app: FastAPI, missing: Callable[[Request], Response] | None = None) -> None:
    """`missing` answers people who came to an address that there is not; programs get a problem."""

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if missing is not None and error.status_code == NOWHERE and _is_a_visit(request):
            return missing(request)
        return _framework(request, error)

    app.add_exception_handler(errors.TouchlineError, _known)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, framework)


def _is_a_visit(request: Request) -> bool:
    """Of a browser that opens an address, and not one of the API."""
    wants_a_page = "text/html" in request.headers.get("accept", "")
    return wants_a_page and request.method in {"GET", "HEAD"} and not request.url.path.startswith(OF_PROGRAMS)


async def _known(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, errors.TouchlineError)  # noqa: S101  registered for nothing else
    request_id = request_id_of(request)
    if surface(error).http == INTERNAL:
        logger.error("a request failed", exc_info=error, extra={"request_id": request_id})
    return problem(error, request_id)


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    """Names the fields. What was sent is not repeated: it may be a password."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    fields = [
        {"field": ".".join(str(part) for part in detail["loc"][1:]) or str(detail["loc"][0]), "why": detail["msg"]}
        for detail in error.errors()
    ]
    first = errors.InvalidInput("the request is malformed", field=fields[0]["field"], why=fields[0]["why"])
    return problem(first, request_id_of(request), extra={"errors": fields})


def _framework(request: Request, error: HTTPException) -> JSONResponse:
    fallback = errors.InvalidInput("the request cannot be served", why=str(error.detail))
    response = problem(_BY_STATUS.get(error.status_code, fallback), request_id_of(request), error.status_code)
    response.headers.update(error.headers or {})
    return response

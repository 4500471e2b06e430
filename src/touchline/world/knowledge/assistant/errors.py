"""Errors in the form of the OpenAI API."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

LIMITS = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-limit-tokens": "200000",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-reset-tokens": "1s",
}


class Refused(Exception):
    """`param`: what of the request is wrong."""

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param

    def answer(self) -> Response:
        return problem(self.status, str(self), kind="invalid_request_error", code=self.code, param=self.param)


def problem(
    status: int, message: str, *, kind: str, code: str | None = None, param: str | None = None, wait_s: int = 0
) -> Response:
    document = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    waiting = {"Retry-After": str(wait_s), "retry-after-ms": str(wait_s * 1000)} if wait_s else {}
    return JSONResponse(document, status, waiting)


def overloaded() -> Response:
    message = "The engine is currently overloaded, please try again later"
    return problem(503, message, kind="engine_overloaded", wait_s=1)


def broken() -> Response:
    message = "The server had an error while processing your request. Sorry about that!"
    return problem(500, message, kind="server_error")


def limited(model: str) -> Response:
    message = f"Rate limit reached for {model} on requests per min (RPM): Limit 500, Used 500, Requested 1."
    answer = problem(429, message, kind="requests", code="rate_limit_exceeded", wait_s=1)
    answer.headers.update({**LIMITS, "x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "199000"})
    return answer


def unauthenticated(given: str) -> Response:
    if not given:
        message = "You didn't provide an API key. Provide it in an Authorization header using Bearer auth."
        return problem(401, message, kind="invalid_request_error")
    hidden = f"{given[:3]}{'*' * 8}{given[-4:]}" if len(given) > 12 else "*" * len(given)
    message = f"Incorrect API key provided: {hidden}."
    return problem(401, message, kind="invalid_request_error", code="invalid_api_key")

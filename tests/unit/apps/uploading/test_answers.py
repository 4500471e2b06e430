"""Whoever answers in place of the gateway, the command line says so."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tests.support.proxy import BAD_GATEWAY, Answer, Proxy, running_proxy
from touchline.apps.gateway_client import GatewayClient
from touchline.apps.upload_transfer import UploadApi
from touchline.kernel import (
    Conflict,
    DeadlineExceeded,
    Defect,
    InvalidInput,
    RateLimited,
    TouchlineError,
    Unauthenticated,
    Unavailable,
)

JSON = "application/json"
HASH = "0" * 32


def as_json(status: int, document: Any) -> Answer:
    return Answer(status, json.dumps(document).encode(), JSON)


def problem(status: int, code: str) -> Answer:
    return as_json(status, {"code": code, "title": "it broke", "detail": "because", "next": "Mend it."})


def failed(code: str, data: Any = None) -> Answer:
    extensions = {"code": code, "hint": "Mend it.", "field": "hash"}
    return as_json(200, {"data": data, "errors": [{"message": "it broke: because", "extensions": extensions}]})


@pytest.fixture(scope="module")
async def proxy() -> AsyncGenerator[Proxy]:
    with running_proxy(lambda request: BAD_GATEWAY) as proxy:
        yield proxy


@pytest.fixture(scope="module")
async def api(proxy: Proxy) -> AsyncGenerator[UploadApi]:
    async with httpx.AsyncClient(base_url=proxy.url, trust_env=False) as http:
        yield UploadApi(GatewayClient(http, proxy.url))


async def error_after(answer: Answer, api: UploadApi, proxy: Proxy) -> TouchlineError:
    proxy.spoil = lambda request: answer
    with pytest.raises(TouchlineError) as raised:
        await api.state(HASH)
    return raised.value


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (BAD_GATEWAY, "answers 502 with text/html"),
        (Answer(200, b"<html>Sign in to this network</html>"), "answers 200 with text/html"),
        (Answer(503, content_type=""), "answers 503 with nothing"),
        (Answer(301, b"<html>Moved</html>"), "answers 301 with text/html"),
        (Answer(502, b"\xff\xfe\xff", JSON), "answers 502 with application/json"),
        (Answer(200, b"[" * 100_000, JSON), "answers 200 with application/json"),
        (as_json(200, ["data"]), "answers 200 with application/json"),
        (as_json(504, {"message": "upstream timed out"}), "answers 504 with application/json"),
        (as_json(500, {"data": {"vod": None}}), "answers 500 with application/json"),
    ],
)
async def test_what_is_no_answer_of_a_gateway_names_the_status(
    answer: Answer, said: str, api: UploadApi, proxy: Proxy
) -> None:
    error = await error_after(answer, api, proxy)
    assert type(error) is Unavailable
    assert said in error.why


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(401, "unauthenticated"), Unauthenticated),
        (problem(503, "unavailable"), Unavailable),
        (problem(504, "deadline_exceeded"), DeadlineExceeded),
        (problem(429, "rate_limited"), RateLimited),
        (problem(418, "of a later version"), Defect),
        (failed("invalid_input"), InvalidInput),
        (failed("conflict"), Conflict),
        (failed("unavailable", {"vod": None}), Unavailable),  # null is unknown, and not deleted
    ],
)
async def test_an_error_of_the_gateway_is_the_same_error_here(
    answer: Answer, kind: type[TouchlineError], api: UploadApi, proxy: Proxy
) -> None:
    error = await error_after(answer, api, proxy)
    assert type(error) is kind
    assert (str(error), error.hint) == ("it broke: because", "Mend it.")


async def test_nobody_answers() -> None:
    with running_proxy(lambda request: None) as proxy:
        pass
    async with httpx.AsyncClient(base_url=proxy.url, trust_env=False) as http:
        with pytest.raises(Unavailable, match=f"did not answer: {proxy.url}: ConnectError"):
            await UploadApi(GatewayClient(http, proxy.url)).state(HASH)

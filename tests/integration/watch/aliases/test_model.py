"""The client of a model against the world's, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.support.world import day_of, served, world_of
from touchline.kernel import DeadlineExceeded, Misconfigured, Unavailable
from touchline.watch.aliases.language_model import InvalidAnswer, ModelClient, refused_fields
from touchline.watch.http_request import ServiceReply
from touchline.watch.settings import ModelSettings
from touchline_world.application import build_app
from touchline_world.days.model import Fault, Service, Trouble

SECOND = timedelta(seconds=1)
SCHEMA = {"type": "object", "properties": {"words": {"type": "array"}}, "required": ["words"]}
ASKED = 'Which of these do people write? ["Northport", "NFC"] Answer with JSON: {"words": []}'


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield client


async def ask(
    http: httpx.AsyncClient,
    folder: pytest.TempPathFactory,
    trouble: Trouble | None,
    key: str = "sk-world",
    name: str = "default",
) -> Any:
    faults = [Fault(Service.MODEL, trouble, 0, 10**9)] if trouble else []
    world, _ = world_of(day_of([], faults), folder.mktemp("model"))
    async with served(build_app(world)) as url:
        settings = ModelSettings(
            url=f"{url}/model/v1", key=SecretStr(key), name=name,
            timeout=SECOND if trouble is Trouble.HANGS else 20 * SECOND,
        )  # fmt: skip
        client = ModelClient(settings, http)
        first, again = [await client.ask(ASKED, schema=SCHEMA) for _ in range(2)]
        assert first == again
        return again


async def test_an_answer(http: httpx.AsyncClient, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert await ask(http, tmp_path_factory, None) == {"words": ["Northport", "NFC"]}


@pytest.mark.parametrize(
    ("name", "questions"),
    [
        ("gpt-4o-mini", 2),
        ("o4-mini", 3),  # reasoning models take no temperature
        ("gpt-3.5-turbo", 3),  # old ones no schema
        ("o1-mini", 4),  # and some neither
    ],
)
async def test_a_model_that_refuses_a_field_is_asked_without_it(
    tmp_path_factory: pytest.TempPathFactory, name: str, questions: int
) -> None:
    """And is not asked with it again."""
    sent = list[httpx.Request]()

    async def count(request: httpx.Request) -> None:
        sent.append(request)

    async with httpx.AsyncClient(trust_env=False, event_hooks={"request": [count]}) as http:
        assert await ask(http, tmp_path_factory, None, name=name) == {"words": ["Northport", "NFC"]}
    assert len(sent) == questions


@pytest.mark.parametrize(
    ("status", "body", "left_out"),
    [
        (200, b"temperature", set[str]()),
        (500, b"temperature", set[str]()),
        (400, b'{"error": {"param": "temperature"}}', {"temperature"}),
        (422, b"Structured output is not supported", {"response_format"}),
        (400, b"json_schema and Temperature", {"temperature", "response_format"}),
        (400, b"what?", {"temperature", "response_format"}),
        (400, b"\xff\xfe", {"temperature", "response_format"}),
    ],
)
def test_what_a_refusal_names(status: int, body: bytes, left_out: set[str]) -> None:
    assert refused_fields(ServiceReply(status, httpx.Headers(), body)) == left_out


@pytest.mark.parametrize(
    ("trouble", "failure"),
    [
        (Trouble.OUTAGE, Unavailable),
        (Trouble.LIMITED, Unavailable),
        (Trouble.ERRORS, Unavailable),
        (Trouble.RESETS, Unavailable),
        (Trouble.HANGS, DeadlineExceeded),
        (Trouble.EMPTY, InvalidAnswer),
    ],
)
async def test_no_answer_is_not_an_answer(
    http: httpx.AsyncClient, tmp_path_factory: pytest.TempPathFactory, trouble: Trouble, failure: type[Unavailable]
) -> None:
    with pytest.raises(failure) as caught:
        await ask(http, tmp_path_factory, trouble)
    assert type(caught.value) is failure


async def test_a_wrong_key_is_a_matter_of_settings(
    http: httpx.AsyncClient, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(Misconfigured):
        await ask(http, tmp_path_factory, None, key="sk-other")


async def test_no_model_is_set(http: httpx.AsyncClient) -> None:
    with pytest.raises(Unavailable):
        await ModelClient(ModelSettings(), http).ask(ASKED)

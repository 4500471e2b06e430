"""The client of a model against the world's, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.support.world import day_of, served, world_of
from touchline.kernel.errors import DeadlineExceeded, Misconfigured, Unavailable
from touchline.watch.language_model.client import ModelClient
from touchline.watch.language_model.errors import InvalidAnswer
from touchline.watch.language_model.settings import ModelSettings
from touchline.world.application import build_app
from touchline.world.days.model import Fault, Service, Trouble

SECOND = timedelta(seconds=1)
SCHEMA = {"type": "object", "properties": {"words": {"type": "array"}}, "required": ["words"]}
ASKED = 'Which of these do people write? ["Northport", "NFC"] Answer with JSON: {"words": []}'


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield client


async def ask(
    http: httpx.AsyncClient, folder: pytest.TempPathFactory, trouble: Trouble | None, key: str = "sk-world"
) -> Any:
    faults = [Fault(Service.MODEL, trouble, 0, 10**9)] if trouble else []
    world, _ = world_of(day_of([], faults), folder.mktemp("model"))
    async with served(build_app(world)) as url:
        settings = ModelSettings(
            url=f"{url}/model/v1", key=SecretStr(key), timeout=SECOND if trouble is Trouble.HANGS else 20 * SECOND
        )
        return await ModelClient(settings, http).ask(ASKED, schema=SCHEMA)


async def test_an_answer(http: httpx.AsyncClient, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert await ask(http, tmp_path_factory, None) == {"words": ["Northport", "NFC"]}


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

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.support.sandboxes import misbehaving
from tests.support.videos import Studio
from touchline.kernel import SetupError
from touchline.media.sandbox import IsolationLevel, Sandbox
from touchline.media.sandbox.service import possible_levels


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("videos"))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """An empty folder, somewhere that only we can pass through."""
    folder = tmp_path / "private" / "output"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.fixture(scope="session")
async def sandboxes() -> AsyncGenerator[dict[IsolationLevel, Sandbox]]:
    """One whose child misbehaves for each enclosure that stands."""
    async with AsyncExitStack() as stack:
        yield {each: await stack.enter_async_context(misbehaving(each)) for each in standing()}


@pytest.fixture
def enclosed(enclosure: IsolationLevel, sandboxes: dict[IsolationLevel, Sandbox]) -> Sandbox:
    return sandboxes[enclosure]


@pytest.fixture
def isolated_sandbox(isolation_level: IsolationLevel, sandboxes: dict[IsolationLevel, Sandbox]) -> Sandbox:
    return sandboxes[isolation_level]


@pytest.fixture
def bare(sandboxes: dict[IsolationLevel, Sandbox]) -> Sandbox:
    return sandboxes[IsolationLevel.BARE]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Where a machine forbids namespaces, only what stands there can be tested."""
    if "isolation_level" in metafunc.fixturenames:
        metafunc.parametrize(
            "isolation_level", [each for each in standing() if each is not IsolationLevel.BARE], ids=str
        )
    if "enclosure" in metafunc.fixturenames:
        metafunc.parametrize("enclosure", standing(), ids=str)


@cache
def standing() -> list[IsolationLevel]:
    return [enclosure for enclosure in possible_levels() if asyncio.run(_stands(enclosure))]


async def _stands(enclosure: IsolationLevel) -> bool:
    async with misbehaving(enclosure) as sandbox:
        try:
            await sandbox.isolation()
        except SetupError:
            return False
    return True

from __future__ import annotations

import asyncio
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sandboxes import misbehaving
from tests.support.videos import Studio
from touchline.kernel.errors import SetupError
from touchline.media.sandbox import Enclosure, Sandbox
from touchline.media.sandbox.trial import possible_enclosures
from touchline.media.settings import MediaSettings


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("videos"))


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return Sandbox(MediaSettings())


@pytest.fixture
def output(tmp_path: Path) -> Generator[Path]:
    """An empty folder, somewhere that only we can pass through."""
    folder = tmp_path / "private" / "output"
    folder.mkdir(parents=True, mode=0o700)
    yield folder
    assert folder.owner() == tmp_path.owner(), "a lent folder was not taken back"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Where a machine forbids namespaces, only what stands there can be tested."""
    if "walled" in metafunc.fixturenames:
        metafunc.parametrize("walled", [each for each in standing() if each is not Enclosure.BARE], ids=str)
    if "enclosure" in metafunc.fixturenames:
        metafunc.parametrize("enclosure", standing(), ids=str)


@cache
def standing() -> list[Enclosure]:
    return [enclosure for enclosure in possible_enclosures() if asyncio.run(_stands(enclosure))]


async def _stands(enclosure: Enclosure) -> bool:
    try:
        await misbehaving(enclosure).walls()
    except SetupError:
        return False
    return True

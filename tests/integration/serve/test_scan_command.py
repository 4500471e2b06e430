"""`touchline scan` against a real bucket, as a person types it."""

from __future__ import annotations

import asyncio

import pytest

from tests.integration.gateway.test_commands import Terminal, terminal
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

__all__ = ["terminal"]


def test_a_person_scans_the_bucket(
    bucket: ObjectsEndpoint, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"URL": bucket.url, "ACCESS_KEY": bucket.access_key, "SECRET_KEY": bucket.secret_key}
    for name, value in {**places, "BUCKET": bucket.bucket}.items():
        monkeypatch.setenv(f"TOUCHLINE_OBJECTS_{name}", value)
    monkeypatch.setenv("TOUCHLINE_SERVE_SCAN_SETTLE", "0s")
    asyncio.run(_put(bucket, "videos/original/match.mp4", "videos/original/notes.txt"))
    nobody = terminal.json("scan")
    assert nobody["refused"] == {"unknown_owner": 1, "no_video": 1}, "there is no tenant yet"
    terminal.run("tenants", "create", "default")
    terminal.run("users", "create", "ada@example.org")
    assert "imported  videos/original/match.mp4" in terminal.run("scan")
    again = terminal.json("scan")
    assert (again["known"], again["taken"], again["refused"]) == (1, {}, {"no_video": 1})


async def _put(bucket: ObjectsEndpoint, *keys: str) -> None:
    async with ObjectStore(bucket, ObjectsSettings()) as store:
        for key in keys:
            await store.put_new(key, b"a video")

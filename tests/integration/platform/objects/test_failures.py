"""Unknown is not no: whatever goes wrong between us and the store says nothing about the objects."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from touchline.kernel.errors import DeadlineExceeded, Misconfigured, Unavailable
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.model import ByteRange, Upload
from touchline.platform.objects.settings import ObjectsSettings
from touchline.platform.objects.store import ObjectStore

# For a store that never answers; one that does may be slow on a busy machine.
IMPATIENT = ObjectsSettings(
    request_timeout=timedelta(milliseconds=300), connect_timeout=timedelta(milliseconds=300), retries=0
)
AT_ONCE = ObjectsSettings(retries=0)
UPLOAD = Upload(key="key", id="id", writer="writer")  # pyright: ignore[reportArgumentType]

OPERATIONS: dict[str, Callable[[ObjectStore], Awaitable[object]]] = {
    "put bytes": lambda store: store.put_new("key", b""),
    "put file": lambda store: store.put_new("key", Path(__file__)),
    "put once": lambda store: store.put_once("key", b""),
    "replace": lambda store: store.replace("key", b""),
    "get": lambda store: store.get("key"),
    "range": lambda store: store.read_range("key", ByteRange(0, 1)),
    "head": lambda store: store.head("key"),
    "exists": lambda store: store.exists("key"),
    "list": lambda store: store.list(""),
    "delete": lambda store: store.delete("key"),
    "delete prefix": lambda store: store.delete_prefix("key"),
    "ensure bucket": lambda store: store.ensure_bucket(),
    "begin": lambda store: store.uploads.begin("key"),
    "parts": lambda store: store.uploads.parts(UPLOAD),
    "abort": lambda store: store.uploads.abort(UPLOAD),
    "uploads": lambda store: store.uploads.list(),
}


@pytest.fixture(params=OPERATIONS)
def operation(request: pytest.FixtureRequest) -> Callable[[ObjectStore], Awaitable[object]]:
    return OPERATIONS[request.param]


async def test_a_store_that_is_away_is_unavailable(
    service: ObjectsEndpoint, operation: Callable[[ObjectStore], Awaitable[object]]
) -> None:
    async with ObjectStore(replace(service, url="http://127.0.0.1:1"), AT_ONCE) as store:
        with pytest.raises(Unavailable) as failed:
            await operation(store)
    assert failed.value.retryable
    assert service.secret_key not in f"{failed.value!r} {failed.value} {failed.value.__cause__}"


async def test_a_store_that_is_silent_exceeds_the_deadline(
    service: ObjectsEndpoint, operation: Callable[[ObjectStore], Awaitable[object]]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with ObjectStore(replace(service, url=url), IMPATIENT) as store:
            with pytest.raises(DeadlineExceeded):
                await operation(store)


async def test_a_refused_key_is_a_matter_of_settings(
    service: ObjectsEndpoint, operation: Callable[[ObjectStore], Awaitable[object]]
) -> None:
    wrong = replace(service, secret_key="not-the-secret")
    async with ObjectStore(wrong, ObjectsSettings()) as store:
        with pytest.raises(Misconfigured, match="refuses the access key") as failed:
            await operation(store)
    assert "settings" in failed.value.hint
    assert "not-the-secret" not in f"{failed.value!r} {failed.value} {failed.value.__cause__}"


async def test_nothing_secret_is_logged(endpoint: ObjectsEndpoint, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with ObjectStore(endpoint, ObjectsSettings()) as store:
            await store.put_new("key", b"goal")
            link = await store.presign_get("key")
    assert endpoint.secret_key not in repr(store.__dict__) + repr(endpoint)
    assert endpoint.secret_key not in caplog.text
    assert link.url.rpartition("=")[2] not in caplog.text


async def test_the_persons_own_set_up_does_not_matter(
    endpoint: ObjectsEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone-else")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-someone-else")
    for name in ("AWS_S3_EXPRESS", "AWS_SKIP_SIGNATURE", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"):
        monkeypatch.setenv(name, "true")
    async with ObjectStore(endpoint, AT_ONCE) as store:
        await store.put_new("key", b"goal")
        assert await store.get("key") == b"goal"
        assert await store.exists("key")

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from touchline.contracts.settings import ByteSize
from touchline.kernel import (
    AlreadyExists,
    Conflict,
    DeadlineExceeded,
    InvalidInput,
    Misconfigured,
    TouchlineError,
    Unavailable,
)
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.rules import BodySource, ByteRange, MultipartUpload, PartPlan
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

from .relay import relayed

MEBIBYTE = 1024**2


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 1000):
        yield data[start : start + 1000]


@pytest.fixture(params=["bytes", "file", "stream"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> BodySource:
    data = b"goal" * 1000
    path = tmp_path / "body"
    path.write_bytes(data)
    return {"bytes": data, "file": path, "stream": _chunks(data)}[request.param]


async def test_what_was_put_is_there_with_all_that_was_said(store: ObjectStore, source: BodySource) -> None:
    await store.put_new("videos/1/goal.mp4", source, content_type="video/mp4", metadata={"tenant": "a"})

    info = await store.head("videos/1/goal.mp4")
    assert await store.get("videos/1/goal.mp4") == b"goal" * 1000
    assert (info.size_bytes, info.content_type, info.metadata["tenant"]) == (4000, "video/mp4", "a")
    assert info.sha256 == hashlib.sha256(b"goal" * 1000).hexdigest()


async def test_the_second_writer_is_refused(store: ObjectStore, source: BodySource) -> None:
    await store.put_new("key", b"first")
    with pytest.raises(AlreadyExists):
        await store.put_new("key", source)
    assert await store.get("key") == b"first"


@pytest.mark.parametrize("size_bytes", [1000, 3 * MEBIBYTE])
async def test_of_many_writers_at_once_exactly_one_wins(store: ObjectStore, tmp_path: Path, size_bytes: int) -> None:
    bodies = [bytes([number]) * size_bytes for number in range(8)]
    files = [tmp_path / str(number) for number in range(8)]
    for file, body in zip(files, bodies, strict=True):
        file.write_bytes(body)
    for turn in range(2):
        sources: list[BodySource] = [*bodies[:4], *files[4:]]
        results = await asyncio.gather(
            *(store.put_new(f"race/{turn}", source) for source in sources), return_exceptions=True
        )
        winners = [number for number, result in enumerate(results) if result is None]
        assert len(winners) == 1
        assert all(isinstance(result, AlreadyExists) for result in results if result is not None)
        assert await store.get(f"race/{turn}") == bodies[winners[0]]


async def test_work_done_twice_is_fine_when_it_is_the_same(store: ObjectStore, source: BodySource) -> None:
    await store.put_once("key", b"goal" * 1000)
    await store.put_once("key", source)


@pytest.mark.parametrize("other", [b"goal" * 999, b"gaol" * 1000], ids=["other size", "other bytes"])
async def test_work_done_twice_conflicts_when_it_differs(store: ObjectStore, other: bytes) -> None:
    await store.put_once("key", b"goal" * 1000)
    with pytest.raises(Conflict, match="holds different data"):
        await store.put_once("key", other)
    assert await store.get("key") == b"goal" * 1000


async def test_only_replace_overwrites(store: ObjectStore) -> None:
    await store.replace("latest.json", b"1")
    await store.replace("latest.json", b"2", content_type="application/json")
    assert await store.get("latest.json") == b"2"
    assert (await store.head("latest.json")).content_type == "application/json"


async def test_a_lost_answer_is_not_taken_for_a_rival(endpoint: ObjectsEndpoint, source: BodySource) -> None:
    async with relayed(endpoint) as relay, ObjectStore(relay.endpoint, ObjectsSettings(retries=2)) as store:
        relay.lose_answer_to = b"PUT"
        await store.put_new("key", source)
        assert relay.lost == 1
        with pytest.raises(AlreadyExists):
            await store.put_new("key", b"rival")


async def test_what_is_damaged_on_the_way_is_refused(endpoint: ObjectsEndpoint, source: BodySource) -> None:
    async with relayed(endpoint) as relay, ObjectStore(relay.endpoint, AT_ONCE) as store:
        relay.damage = b"goalgoal"
        with pytest.raises(TouchlineError):
            await store.put_new("key", source)
        relay.damage = b""
        assert not await store.exists("key")


async def test_larger_files_go_up_in_parts_and_are_as_immutable(endpoint: ObjectsEndpoint, tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(os.urandom(21 * MEBIBYTE))
    async with ObjectStore(endpoint, ObjectsSettings(single_put_limit=ByteSize(5 * MEBIBYTE))) as store:
        await store.put_new("large", file, content_type="video/mp4")
        info = await store.head("large")
        assert info.etag.endswith("-2")
        assert info.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
        with pytest.raises(AlreadyExists):
            await store.put_new("large", file)
        await store.put_once("large", file)
        assert (await store.uploads.list()).uploads == ()


async def test_bytes_without_a_known_checksum_are_compared_themselves(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    await store.uploads.send_part(upload, 1, b"goal")
    await store.uploads.complete(upload, PartPlan(4, 5 * MEBIBYTE))
    assert (await store.head("key")).sha256 is None
    await store.put_once("key", b"goal")
    with pytest.raises(Conflict):
        await store.put_once("key", b"gaol")


async def test_a_key_used_as_a_folder_is_a_conflict(store: ObjectStore) -> None:
    await store.put_new("videos/1", b"below")
    with pytest.raises(Conflict, match="is taken"):
        await store.put_new("videos", b"above")


async def test_an_empty_object_is_an_object(store: ObjectStore) -> None:
    await store.put_new("empty", b"")
    assert await store.get("empty") == b""
    assert (await store.head("empty")).size_bytes == 0


@pytest.mark.parametrize("key", ["../a", "/a", "a//b", "a/", "a\nb", ""])
async def test_hostile_keys_reach_no_request(store: ObjectStore, key: str) -> None:
    for attempt in (
        store.put_new(key, b""),
        store.put_once(key, b""),
        store.replace(key, b""),
        store.get(key),
        store.head(key),
        store.exists(key),
        store.delete(key),
        store.delete_prefix(key),
        store.presign_get(key),
    ):
        with pytest.raises(InvalidInput):
            await attempt


@pytest.mark.parametrize("key", ["a b/c+d%20é#?&=.ts", "x~y*[z]'()", "percent%2Fslash"])
async def test_odd_but_harmless_keys_mean_the_same_everywhere(store: ObjectStore, tmp_path: Path, key: str) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"goal")
    await store.put_new(key, file)
    assert await store.get(key) == b"goal"
    assert (await store.head(key)).key == key
    assert [item.key for item in (await store.list("")).objects] == [key]
    await store.delete(key)
    assert not await store.exists(key)


# For a store that never answers; one that does may be slow on a busy machine.
IMPATIENT = ObjectsSettings(
    request_timeout=timedelta(milliseconds=300), connect_timeout=timedelta(milliseconds=300), retries=0
)
AT_ONCE = ObjectsSettings(retries=0)
UPLOAD = MultipartUpload(key="key", id="id", writer="writer")  # pyright: ignore[reportArgumentType]

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
        with pytest.raises(Misconfigured, match="rejected the access key") as failed:
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

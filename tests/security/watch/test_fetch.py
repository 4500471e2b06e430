"""Real servers that lead elsewhere, lie, never end or say nothing: a download ends, early, and knows why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from contextlib import AsyncExitStack
from ipaddress import ip_address
from pathlib import Path

import pytest

from touchline.watch.downloads.addresses import Address, Policy
from touchline.watch.downloads.fetch import Fetcher, FetchLimits, FetchRequest, Sizes, fetch_video
from touchline.watch.downloads.rules import (
    AccessForbidden,
    Blocked,
    Busy,
    CutOff,
    DownloadFailure,
    Gone,
    Malformed,
    NoAnswer,
    RefusedAddress,
    TooLarge,
    TooSlow,
    TooSmall,
)

from .servers import Bodies, Server, answering, forever, redirecting, self_signed, serving

SIZES = Sizes(smallest=100, largest=100_000)
QUICK = FetchLimits(connect_s=5, silence_s=0.2, total_s=20, redirects=3, least_bytes_per_second=10_000, window_s=0.1)
PATIENT = FetchLimits(redirects=3)
START = b"\0\0\0\x18ftypmp42" + bytes(500)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNK = b"1000\r\n" + bytes(0x1000) + b"\r\n"
PUBLIC, PRIVATE = ip_address("127.0.0.2"), ip_address("127.0.0.1")


def whole(content: bytes = START) -> Bodies:
    return answering(OK + b"Content-Length: %d\r\n\r\n" % len(content) + content)


def allowing(*servers: Server, limits: FetchLimits = PATIENT) -> Fetcher:
    return Fetcher(Policy(allow_hosts=frozenset(f"127.0.0.1:{each.port}" for each in servers)), limits)


async def fetched(fetcher: Fetcher, url: str, folder: Path) -> bytes:
    target = folder / "video.mp4"
    await fetch_video(fetcher, url, target, SIZES)
    return await asyncio.to_thread(target.read_bytes)


async def test_a_file_arrives_as_it_is(tmp_path: Path) -> None:
    async with serving(whole()) as server:
        assert await fetched(allowing(server), server.url(), tmp_path) == START


async def test_a_redirect_to_a_private_address_is_not_followed(tmp_path: Path) -> None:
    async with serving(whole()) as inside, serving(redirecting(inside.url())) as server:
        with pytest.raises(RefusedAddress):
            await fetched(allowing(server), server.url(), tmp_path)
        assert (server.visits, inside.visits) == (1, 0)


async def test_nor_one_to_a_name_that_leads_there(tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with serving(whole()) as inside, serving(redirecting(f"http://rebound.net:{inside.port}/")) as server:
        policy = Policy(ports=(inside.port,), allow_hosts=frozenset({f"127.0.0.1:{server.port}"}))
        with pytest.raises(RefusedAddress, match="private address"):
            await fetched(Fetcher(policy, resolve=resolve), server.url(), tmp_path)
        assert inside.visits == 0


async def test_redirects_between_allowed_servers_are_followed_as_far_as_agreed(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serving(whole()))]
        for _ in range(PATIENT.redirects + 1):
            servers.append(await stack.enter_async_context(serving(redirecting(servers[-1].url()))))
        assert await fetched(allowing(*servers), servers[-2].url(), tmp_path) == START
        with pytest.raises(RefusedAddress, match="too many"):
            await fetched(allowing(*servers), servers[-1].url(), tmp_path)


async def test_a_redirect_in_a_circle_ends(tmp_path: Path) -> None:
    async with serving(redirecting("/v.mp4")) as server:
        with pytest.raises(RefusedAddress, match="too many"):
            await fetched(allowing(server), server.url(), tmp_path)
        assert server.visits == PATIENT.redirects + 1


class Changing:
    """A name server whose answer is another each time."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    async def __call__(self, host: str, port: int) -> list[str]:
        return [self.answers.pop(0)]


def judge(address: Address) -> bool:
    return address == PUBLIC


async def test_a_name_is_resolved_once_and_that_is_where_we_go(tmp_path: Path) -> None:
    async with serving(whole(), str(PUBLIC)) as public, serving(whole(START[::-1]), port=public.port) as inside:
        changing = Changing(str(PUBLIC), str(PRIVATE))
        fetcher = Fetcher(Policy(ports=(public.port,)), resolve=changing, judge=judge)
        assert await fetched(fetcher, f"http://rebinding.net:{public.port}/", tmp_path) == START
        assert (public.visits, inside.visits, changing.answers) == (1, 0, [str(PRIVATE)])


async def test_each_hop_is_resolved_and_checked_anew(tmp_path: Path) -> None:
    async with serving(redirecting("/again"), str(PUBLIC)) as public, serving(whole(), port=public.port) as inside:
        changing = Changing(str(PUBLIC), str(PRIVATE))
        with pytest.raises(RefusedAddress, match="private address"):
            await fetched(
                Fetcher(Policy(ports=(public.port,)), resolve=changing, judge=judge),
                f"http://rebinding.net:{public.port}/",
                tmp_path,
            )
        assert (public.visits, inside.visits) == (1, 0)


@pytest.mark.parametrize(
    ("bodies", "failure"),
    [
        pytest.param(answering(OK + b"Content-Length: 10000000000\r\n\r\n" + START), TooLarge, id="10 GB declared"),
        pytest.param(forever(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"200\r\n" + START[:512] + b"\r\n", CHUNK),
                     TooLarge, id="endless chunks"),
        pytest.param(forever(OK + b"\r\n" + START, bytes(4096)), TooLarge, id="endless body without a length"),
        pytest.param(answering(OK + b"Content-Length: 5000\r\n\r\n" + START), CutOff, id="less than declared"),
        pytest.param(answering(OK + b"Transfer-Encoding: chunked\r\n\r\nFFFF\r\n" + START), CutOff, id="a cut chunk"),
        pytest.param(answering(OK + b"Content-Length: 12\r\n\r\n" + START[:12]), TooSmall, id="a beginning only"),
        pytest.param(answering(OK + b"Content-Length: 0\r\n\r\n"), TooSmall, id="empty"),
        pytest.param(answering(OK + b"\r\n"), TooSmall, id="nothing"),
        pytest.param(forever(OK + b"Content-Type: video/mp4\r\n\r\n", b"<!doctype html><p>Sign in"), Malformed,
                     id="HTML"),
        pytest.param(answering(OK + b"Content-Encoding: gzip\r\nContent-Length: 600\r\n\r\n" + START), Malformed,
                     id="packed"),
        pytest.param(answering(b"HTTP/1.1 206 Partial Content\r\n\r\n" + START), Malformed, id="a part"),
        pytest.param(answering(b"HTTP/1.1 204 No Content\r\n\r\n"), Malformed, id="no content"),
        pytest.param(answering(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), RefusedAddress, id="to nowhere"),
        pytest.param(answering(b"220 smtp.example.com ESMTP\r\n"), NoAnswer, id="another protocol"),
        pytest.param(answering(OK + b"Content-Length: -5\r\n\r\n"), NoAnswer, id="a negative length"),
        pytest.param(answering(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), NoAnswer, id="two lengths"),
        pytest.param(answering(OK, *[b"X-%d: %s\r\n" % (n, b"y" * 1000) for n in range(400)]), NoAnswer,
                     id="endless head"),
        pytest.param(answering(), NoAnswer, id="hangs up"),
        pytest.param(answering(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), AccessForbidden, id="403"),
        pytest.param(answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), Gone, id="404"),
        pytest.param(answering(b"HTTP/1.1 429 Slow\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"), Busy, id="429"),
        pytest.param(answering(b"HTTP/1.1 451 No\r\nContent-Length: 0\r\n\r\n"), Blocked, id="451"),
        pytest.param(answering(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), NoAnswer, id="503"),
    ],
)  # fmt: skip
async def test_what_is_no_whole_video_ends_with_its_own_failure(
    bodies: Bodies, failure: type[DownloadFailure], tmp_path: Path
) -> None:
    async with serving(bodies) as server:
        with pytest.raises(DownloadFailure) as caught:
            await fetched(allowing(server), server.url(), tmp_path)
        assert type(caught.value) is failure
        assert server.sent < 20_000_000  # what the system's buffers take, and no more


async def test_more_than_declared_is_not_read(tmp_path: Path) -> None:
    async with serving(answering(OK + b"Content-Length: 512\r\n\r\n" + START + bytes(50_000))) as server:
        assert await fetched(allowing(server), server.url(), tmp_path) == START


async def silent() -> AsyncIterable[bytes]:
    await asyncio.Event().wait()
    yield b""


@pytest.mark.parametrize(
    ("bodies", "limits"),
    [
        pytest.param(silent, QUICK, id="no answer at all"),
        pytest.param(forever(OK + b"\r\n" + START, b"", 0.01), QUICK, id="a body that stops"),
        pytest.param(forever(OK + b"\r\n" + START, b"x", 0.01), QUICK, id="a byte now and then"),
        pytest.param(forever(OK, b"X: y\r\n", 0.01), FetchLimits(total_s=0.3), id="a header now and then"),
        pytest.param(forever(OK + b"\r\n" + START, b"x", 0.01), FetchLimits(total_s=0.3), id="no end in time"),
    ],
)
async def test_who_is_slow_is_left(bodies: Bodies, limits: FetchLimits, tmp_path: Path) -> None:
    async with serving(bodies) as server:
        with pytest.raises(TooSlow):
            await fetched(allowing(server, limits=limits), server.url(), tmp_path)


async def test_a_server_that_nobody_vouches_for_gets_no_request(tmp_path: Path) -> None:
    async with serving(whole(), tls=self_signed(tmp_path, "localhost")) as server:
        fetcher = Fetcher(Policy(allow_hosts=frozenset({"localhost"})))
        with pytest.raises(NoAnswer, match="certificate verify failed"):
            await fetched(fetcher, f"https://localhost:{server.port}/", tmp_path)
        assert server.sent == 0


async def test_nobody_there(tmp_path: Path) -> None:
    async with serving(whole()) as server:
        pass
    with pytest.raises(NoAnswer):
        await fetched(allowing(server), server.url(), tmp_path)


async def test_a_small_document_is_bounded_as_well() -> None:
    async with serving(forever(OK + b"\r\n", b'{"a":' * 1000)) as server:
        with pytest.raises(TooLarge):
            await allowing(server).read(FetchRequest(server.url("/tweet-result")), 10_000)


async def test_a_proxy_of_the_environment_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(whole(START[::-1])) as proxy, serving(whole()) as server:
        monkeypatch.setenv("http_proxy", proxy.url(""))
        assert await fetched(allowing(server), server.url(), tmp_path) == START
        assert proxy.visits == 0

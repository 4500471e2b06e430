from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import typer

from touchline.apps.demonstration import Handover, hand_over, owner_of

LINK = "http://127.0.0.1:4000/sign-in?next=%2Fwatch%2F1#token=tll_secret"
ME = os.geteuid()
SOON = 30.0
# What the desktop starts: notes what others can see of it, then goes where it was sent.
BROWSER = f"""#!{sys.executable}
import http.client, pathlib, sys, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(url.hostname, url.port)
connection.request("GET", url.path)
seen = pathlib.Path("/proc/self/cmdline").read_text()
where = connection.getresponse().headers["Location"]
pathlib.Path(__file__).with_name("visit").write_text(f"{{seen}}\\n{{where}}")
"""


async def visit(handover: Handover, within_s: float, *paths: str) -> tuple[bool, list[httpx.Response]]:
    """Whether it was given away, and the answers to these paths; an empty one is what the browser was told."""
    answers: list[httpx.Response] = []

    def browse(url: str) -> None:
        parts = urlsplit(url)
        urls = [parts._replace(path=path or parts.path).geturl() for path in paths]
        answers.extend(httpx.get(url, trust_env=False) for url in urls)

    return await handover.run(browse, within_s), answers


async def test_the_browser_of_this_user_is_sent_on_once() -> None:
    given, [first, again] = await visit(Handover(LINK, ME), SOON, "", "")
    assert given
    assert (first.status_code, first.headers["Location"]) == (303, LINK)
    assert first.headers["Cache-Control"] == "no-store"
    assert again.status_code == 404
    assert LINK not in again.text


@pytest.mark.parametrize(("user_id", "path", "status"), [(ME + 1, "", 403), (ME, "/guessed", 404), (ME, "/", 404)])
async def test_nobody_else_is(user_id: int, path: str, status: int) -> None:
    given, [answer] = await visit(Handover(LINK, user_id), 0.01, path)
    assert not given
    assert answer.status_code == status
    assert "secret" not in f"{answer.text} {answer.headers}"


async def test_the_list_of_processes_does_not_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "xdg-open"
    program.write_text(BROWSER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert await hand_over(LINK, partial(typer.launch, wait=True), SOON)
    seen, where = (tmp_path / "visit").read_text().split("\n")
    assert where == LINK
    assert "http://127.0.0.1:" in seen
    assert "secret" not in seen


async def test_a_browser_that_says_nothing_stops_nothing() -> None:
    """Some connect before they know what to ask for."""
    opened: list[asyncio.StreamWriter] = []
    loop = asyncio.get_running_loop()

    def connect(url: str) -> None:
        port = urlsplit(url).port
        _, writer = asyncio.run_coroutine_threadsafe(asyncio.open_connection("127.0.0.1", port), loop).result()
        opened.append(writer)

    assert not await Handover(LINK, ME).run(connect, 0.01)
    opened[0].close()


async def test_whose_connection_it_is() -> None:
    found: list[int | None] = []

    async def look(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client, server = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        found.extend([owner_of(client, server), owner_of((client[0], 1), server)])
        writer.close()

    async with await asyncio.start_server(look, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b""
        writer.close()
    assert found == [ME, None]

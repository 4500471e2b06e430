"""More connections than a process may have open files by default, from people who say nothing or not enough: everybody
else is answered. What happens at the limit of connections itself is in
tests/integration/platform/test_http_server.py."""

from __future__ import annotations

import resource
import socket
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from touchline.platform.files import MAX_OPEN_FILES

from .product import TIMEOUT_S, USUAL_FILES, Product

CROWD = USUAL_FILES + 76
BEGUN = {
    "nothing": b"",
    "half a head": b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "half a body": b"POST /api/graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{",
}
REFUSALS = ("connections are refused", "connections cannot be accepted")


@pytest.fixture
def files() -> Generator[None]:
    """This process needs as many of them as it makes connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, CROWD + 500)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("begun", BEGUN.values(), ids=list(BEGUN))
def test_a_crowd_keeps_nobody_out(product: Product, begun: bytes) -> None:
    address = urlsplit(product.url)
    log = product.installation.folder.log("control")
    before = log.stat().st_size
    with ExitStack() as stack:
        for _ in range(CROWD):
            connection = stack.enter_context(socket.create_connection((address.hostname, address.port), TIMEOUT_S))
            connection.sendall(begun)
        assert httpx.get(f"{product.url}/health/ready", timeout=TIMEOUT_S).status_code == httpx.codes.OK
        assert product.graphql("{ __typename }") == {"__typename": "Query"}
    with log.open("rb") as file:
        file.seek(before)
        written = file.read().decode()
    assert sum(written.count(refusal) for refusal in REFUSALS) <= 1


def test_every_part_may_open_as_many_files_as_the_system_allows(product: Product) -> None:
    """Whoever ran `up` had fewer."""
    limits = {part.name: limit_of_files(part.pid) for part in product.installation.state.parts if part.pid}
    assert {"control", "worker", "node", "postgres"} <= limits.keys()
    assert {name: soft for name, (soft, hard) in limits.items() if soft < min(hard, MAX_OPEN_FILES)} == {}


def limit_of_files(process_id: int) -> tuple[int, int]:
    """Of a process of any user, the soft and the hard one."""
    lines = Path(f"/proc/{process_id}/limits").read_text(encoding="ascii").splitlines()
    [line] = [line for line in lines if line.startswith("Max open files")]
    soft, hard, _ = line.removeprefix("Max open files").split()
    return int(soft), int(hard)

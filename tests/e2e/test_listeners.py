"""Every door of the running product, tried by another user of the machine who has no secret.

A port that no line here is about fails the test: whoever opens a new one says here why nobody can do anything by it.
The roles that watch football run beside the product, as on a machine of their own; their feed is nowhere.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial

import httpx
import pytest

from tests.security.rpc_cases import services
from tests.support.listeners import (
    STACK_DOORS,
    WEED_SIDES,
    answered,
    check_listeners,
    get,
    is_closed,
    let_in,
    open_sockets,
    post,
    watch_knocks,
)
from tests.support.stranger import CLOSED
from tests.support.wait import eventually
from touchline.platform.stack import objects
from touchline.platform.stack.folder import read_ports

from .product import RTMP_PORT, SRT_PORT, Product

SCRAM = 10
NOWHERE = {
    "TOUCHLINE_FEED_URL": "http://127.0.0.1:9",
    "TOUCHLINE_FEED_KEY": "no key of anybody",
}
BUCKET = objects.BUCKET
DELETE_ALL = f"<Delete><Object><Key>{objects.PROBE_KEY}</Key></Object></Delete>"

# What the store's own parts would do for anybody if they let them: it erased all media, and gave out tokens to write.
WEED_PATHS = (
    "/", "/status", f"/col/delete?collection={BUCKET}", "/dir/assign", "/dir/lookup?volumeId=1", "/dir/status",
    "/vol/grow?count=1", "/vol/vacuum", "/submit", "/cluster/status", "/cluster/healthz", "/ui/index.html", "/metrics",
    "/debug/pprof/", "/buckets/", "/stats/disk",
)  # fmt: skip


@pytest.fixture(scope="module")
def ports(product: Product) -> Generator[dict[str, int]]:
    """Of all roles. They are asked for their health until they answer, by the supervisor's own paths."""
    found = {**read_ports(product.installation.folder.ports), "rtmp": RTMP_PORT}
    with ExitStack() as stack:
        for role, path in (("browser", "/health"), ("watch", "/health/live")):
            stack.enter_context(_running(product, role))
            eventually(partial(_answers, found[role], path), 60.0)
        yield found


@contextmanager
def _running(product: Product, role: str) -> Generator[None]:
    process = product.installation.start("run", role, environment=NOWHERE)
    try:
        yield
    finally:
        process.terminate()
        process.communicate()


def _answers(port: int, path: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5).is_success
    except httpx.TransportError:
        return False


def test_nobody_listens_who_is_not_known_here(product: Product, ports: dict[str, int]) -> None:
    """SRT where the machine has its library: who calls there says a key first, or hears nothing but a number."""
    has_srt = any(url.startswith("srt:") for url in product.graphql("{ publishUrls }")["publishUrls"])
    srt = {SRT_PORT: "srt"} if has_srt else {}
    check_listeners(product.installation, srt | {ports[name]: name for name in STACK_DOORS})


def test_the_roles_that_watch_football_do_nothing_for_strangers(ports: dict[str, int]) -> None:
    assert let_in(watch_knocks(ports)) == []


def test_the_internal_rpc_wants_proof_of_the_cluster_secret(ports: dict[str, int]) -> None:
    methods = [f"/{service.full_name}/{method.name}" for service in services() for method in service.methods]
    knocks = [{"way": "grpc", "port": ports["rpc"], "method": method} for method in methods]
    assert {answer for _, answer in answered(knocks)} == {"UNAUTHENTICATED"}


def test_the_parts_of_the_object_store_hang_up(ports: dict[str, int]) -> None:
    plain = [get(ports[side], path) for side in WEED_SIDES for path in WEED_PATHS]
    plain += [post(ports[side], path) for side in WEED_SIDES for path in WEED_PATHS]
    every = [ports[name] for side in WEED_SIDES for name in (side, f"{side}_grpc")] + [ports["objects_grpc"]]
    secure = [{"way": way, "port": port} for port in every for way in ("tls", "http2")]
    assert [knock for knock, answer in answered(plain) if not is_closed(answer)] == []
    assert [knock for knock, answer in answered(secure) if answer != CLOSED] == []


def test_the_object_store_wants_a_signature(product: Product, ports: dict[str, int]) -> None:
    port = ports["objects"]
    reads = [get(port, path) for path in ("/", f"/{BUCKET}", f"/{BUCKET}/{objects.PROBE_KEY}", f"/{BUCKET}?uploads")]
    writes = [
        post(port, f"/{BUCKET}?delete", DELETE_ALL),
        post(port, f"/{BUCKET}/new?uploads"),
        post(port, "/", "Action=CreateAccessKey&Version=2010-05-08"),
        post(port, "/", "Action=AssumeRole&Version=2011-06-15"),
        {**get(port, f"/{BUCKET}/new"), "method": "PUT", "body": "bytes"},
        {**get(port, f"/{BUCKET}"), "method": "DELETE"},
        {**get(port, "/another"), "method": "PUT"},
    ]
    assert [knock for knock, answer in answered(reads + writes) if not is_closed(answer)] == []


def test_the_databases_want_a_password(ports: dict[str, int]) -> None:
    users = ("postgres", "touchline_owner", "touchline_app", "touchline_worker", "touchline_readonly", "nobody")
    asked = [{"way": "postgres", "port": ports["postgres"], "user": user} for user in users]
    assert [answer for _, answer in answered(asked)] == [SCRAM] * len(users)
    queries = [
        get(ports["clickhouse"], "/?query=SELECT+1"),
        post(ports["clickhouse"], "/", "DROP DATABASE touchline"),
        post(ports["clickhouse"], "/", "SELECT 1", **{"X-ClickHouse-User": "touchline", "X-ClickHouse-Key": ""}),
    ]
    assert [knock for knock, answer in answered(queries) if not is_closed(answer)] == []


def test_no_route_of_the_gateway_does_anything(product: Product, ports: dict[str, int]) -> None:
    """All that it has, by its own description. What answers says only that it lives, or lets people sign in."""
    open_to_all = {
        ("get", "/health/live"),
        ("get", "/health/ready"),
        ("get", "/metrics"),
        ("post", "/api/auth/sign-out"),
    }
    described = httpx.get(f"{product.url}/api/openapi.json", timeout=60).json()["paths"]
    routes = [(method, path) for path, methods in described.items() for method in methods]
    assert len(routes) > len(open_to_all)
    tried = [(method, path) for method, path in routes if (method, path) not in open_to_all]
    knocks = [{**post(ports["gateway"], path), "method": method.upper()} for method, path in tried]
    assert [knock for knock, answer in answered(knocks) if not is_closed(answer)] == []
    asked = httpx.post(
        f"{product.url}/api/graphql", json={"query": "{ vodAssets { edges { node { id } } } }"}, timeout=60
    )
    assert "data" not in asked.json() or asked.json()["data"] is None


def test_a_node_sends_nothing_without_a_token(ports: dict[str, int]) -> None:
    """Links are rights: whoever has none learns not even which videos it holds."""
    tried = ("/", "/media/", "/media/x/y/z", f"/media/{'A' * 98}/{'0' * 32}/index.m3u8", "/media/../../etc/passwd")
    knocks = [get(ports["node"], path) for path in tried]
    knocks += [post(ports["node"], path) for path in (*tried, "/health/ready")]
    assert [knock for knock, answer in answered(knocks) if not is_closed(answer)] == []


def test_a_publisher_without_a_key_is_hung_up_on(ports: dict[str, int]) -> None:
    """Neither the handshake nor a page's request gets anything from it; a wrong key is tried in test_live."""
    knocks = [get(ports["rtmp"], path) for path in ("/", "/live", "/metrics")]
    knocks += [post(ports["rtmp"], "/live"), {"way": "http2", "port": ports["rtmp"]}]
    assert [knock for knock, answer in answered(knocks) if not is_closed(answer)] == []


@pytest.mark.parametrize("door", ["gateway", "worker", "node", "clickhouse", "temporal_http"])
@pytest.mark.parametrize("path", ["/health/live", "/metrics", "/ping", "/", "/api/v1/namespaces/touchline"])
def test_a_name_that_is_not_ours_is_refused(ports: dict[str, int], door: str, path: str) -> None:
    """A page whose own name leads to this machine all of a sudden reads nothing."""
    names = ("evil.example", f"evil.example:{ports[door]}", "localhost.evil.example", "127.0.0.1.evil.example")
    knocks = [get(ports[door], path, Host=name) for name in names]
    assert [knock for knock, answer in answered(knocks) if not is_closed(answer)] == []


@pytest.mark.parametrize(
    ("door", "path"),
    [
        ("worker", "/metrics"),
        ("node", "/metrics"),
        ("node", "/media/token/hash/index.m3u8"),
        ("clickhouse", "/ping"),
        ("temporal_http", "/api/v1/namespaces/touchline/workflows/any/terminate"),
        ("gateway", "/api/graphql"),
        ("gateway", "/api/auth/password"),
        ("gateway", "/api/auth/sign-out"),
    ],
)
def test_a_page_of_another_site_is_refused(ports: dict[str, int], door: str, path: str) -> None:
    knock = post(ports[door], path, **{"Origin": "https://evil.example", "Content-Type": "text/plain"})
    [(_, answer)] = answered([knock])
    assert is_closed(answer)


def test_no_socket_is_open_to_others(product: Product) -> None:
    assert open_sockets(product.installation) == []

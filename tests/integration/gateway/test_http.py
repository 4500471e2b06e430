"""The HTTP surface as a client meets it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.integration.gateway.graphql.site import Plan, clients_over, gateway_parts, no_analytics, nobody, nowhere
from touchline.apps.gateway import gateway_server
from touchline.gateway.auth.rules import COMMAND_LINE, NewToken, User
from touchline.gateway.composition import Check, GatewayComposition, MeasureReads, WebPage, build_sources
from touchline.gateway.rest.app import build_app
from touchline.gateway.rest.callers import CurrentPrincipal
from touchline.gateway.settings import GatewaySettings
from touchline.kernel import Defect, Role, Scope
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.audit.service import Audit
from touchline.platform.postgres.database import Wakeups
from touchline.serve.storage.queries import StorageReads

from .conftest import PASSWORD, SETTINGS, World

PLAIN = GatewaySettings(port=4000)
HTTPS = GatewaySettings(port=4000, public_url="https://video.example.org")
ORIGIN = {"Origin": "http://127.0.0.1:4000"}


@dataclass(frozen=True, slots=True)
class Site:
    world: World
    app: FastAPI
    client: httpx.AsyncClient

    async def link(self, user: User) -> str:
        issued = await self.world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
        return issued.secret

    async def sign_in(self, user: User) -> httpx.Response:
        return await self.client.post("/api/auth/link", json={"token": await self.link(user)})

    async def api_token(self, role: Role, *scopes: Scope) -> dict[str, str]:
        user = await self.world.user(role)
        new = NewToken("test", frozenset(scopes))
        issued = await self.world.auth.administration.tokens.issue(COMMAND_LINE, user.tenant_id, user.id, new)
        return bearer(issued.text)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def serving(
    world: World,
    settings: GatewaySettings = PLAIN,
    checks: dict[str, Check] | None = None,
    peer: str = "127.0.0.1",
    plan: Plan | None = None,
) -> AsyncGenerator[Site]:
    """With nothing behind it: what is asked here, the gateway knows by itself."""
    plan = plan or Plan(gateway=settings, checks=checks or {})
    async with gateway(world, plan) as parts:
        app = build_app(parts)
        async with client_of(app, settings, peer) as client:
            yield Site(world, app, client)


@asynccontextmanager
async def gateway(world: World, plan: Plan) -> AsyncGenerator[GatewayComposition]:
    deaf = Wakeups(world.postgres.app_url, [])
    async with nobody() as rpc, nowhere() as objects, no_analytics() as analytics:
        measure = MeasureReads(SessionAnalytics(analytics), Audit(analytics))
        stored = StorageReads(world.database, timedelta(days=30))
        sources = build_sources(clients_over(rpc), world.database, measure, stored)
        yield gateway_parts(world, objects, plan, sources, deaf)


def client_of(app: Any, settings: GatewaySettings, peer: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(peer, 50000))
    return httpx.AsyncClient(transport=transport, base_url=settings.base_url)


@pytest.fixture
async def site(world: World) -> AsyncGenerator[Site]:
    async with serving(world) as site:
        yield site


def is_problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (response.status_code, body["status"], body["code"]) == (status, status, code)
    assert body["type"] == f"urn:touchline:problem:{code}"
    assert body["title"]
    assert body["next"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return body


# --- signing in


async def test_a_link_signs_in_and_the_token_says_who(site: Site) -> None:
    user = await site.world.user(Role.EDITOR)
    response = await site.sign_in(user)
    body = response.json()
    assert response.status_code == 200
    assert body["user"] == {"id": str(user.id), "email": user.email, "name": user.name, "role": "editor"}
    assert body["tenant"] == {"id": str(site.world.ours.id), "slug": "ours", "name": "Ours"}
    me = await site.client.get("/api/auth/me", headers=bearer(body["access_token"]))
    assert me.json() == {"user": body["user"], "tenant": body["tenant"], "scopes": None}
    again = await site.client.post("/api/auth/link", json={"token": await site.link(user)})
    assert again.status_code == 200


async def test_the_session_secret_is_in_a_cookie_that_no_script_reads(site: Site) -> None:
    response = await site.sign_in(await site.world.user())
    cookie, device = response.headers.get_list("set-cookie")
    assert re.match(r"touchline-device=[\w-]{107}; HttpOnly; Max-Age=31536000; Path=/; SameSite=strict$", device)
    assert re.match(r"touchline-session=tls_[\w-]{43}; HttpOnly; Max-Age=604800; Path=/; SameSite=strict$", cookie)
    assert "tls_" not in response.text
    assert response.headers["cache-control"] == "no-store"


async def test_over_https_the_cookie_is_bound_to_the_host(world: World) -> None:
    async with serving(world, HTTPS) as site:
        response = await site.sign_in(await world.user())
        assert response.headers["set-cookie"].startswith("__Host-touchline-session=")
        assert "; Secure" in response.headers["set-cookie"]
        assert "max-age" in response.headers["strict-transport-security"]
        refreshed = await site.client.post("/api/auth/refresh", headers={"Origin": "https://video.example.org"})
        assert refreshed.status_code == 200


async def test_refreshing_and_signing_out(site: Site) -> None:
    first = await site.sign_in(await site.world.user())
    second = await site.client.post("/api/auth/refresh", headers=ORIGIN)
    assert second.status_code == 200
    assert second.headers["set-cookie"] != first.headers["set-cookie"]
    out = await site.client.post("/api/auth/sign-out", headers=ORIGIN)
    assert (out.status_code, out.content) == (204, b"")
    assert 'touchline-session=""' in out.headers["set-cookie"]
    is_problem(await site.client.post("/api/auth/refresh", headers=ORIGIN), 401, "unauthenticated")


async def test_a_session_that_is_over_takes_its_cookie_along(site: Site) -> None:
    await site.sign_in(await site.world.user())
    site.world.clock.advance(SETTINGS.session_idle)
    response = await site.client.post("/api/auth/refresh", headers=ORIGIN)
    assert "expired" in is_problem(response, 401, "session_over")["detail"]
    assert 'touchline-session=""' in response.headers["set-cookie"]
    assert list(site.client.cookies) == ["touchline-device"], "by which this browser is known the next time"


async def test_a_password_signs_in_and_too_many_do_not(site: Site) -> None:
    user = await site.world.user(email="ada@example.org")
    await site.world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    right, wrong = ({"email": "ada@example.org", "password": password} for password in (PASSWORD, "wrong"))
    assert (await site.client.post("/api/auth/password", json=right)).status_code == 200
    for _ in range(SETTINGS.attempts_per_email):
        body = is_problem(await site.client.post("/api/auth/password", json=wrong), 401, "unauthenticated")
        assert body["detail"] == "the e-mail address or the password is wrong"
    refused = await site.client.post("/api/auth/password", json=right)
    assert is_problem(refused, 429, "rate_limited")["retryable"]
    assert 0 < int(refused.headers["Retry-After"]) <= SETTINGS.attempt_window.total_seconds()


async def test_an_address_that_a_client_makes_up_does_not_sidestep_the_limit(world: World) -> None:
    """By the server as it is started: alone, it would believe every client on this machine."""
    async with gateway(world, Plan(gateway=PLAIN)) as parts:
        config = gateway_server(parts).config
        config.load()
        async with client_of(config.loaded_app, PLAIN, "127.0.0.1") as client:
            tries = [
                await client.post(
                    "/api/auth/password",
                    json={"email": f"user{number}@example.org", "password": "wrong"},
                    headers={"X-Forwarded-For": f"192.0.2.{number}"},
                )
                for number in range(SETTINGS.attempts_per_address + 1)
            ]
    assert {one.status_code for one in tries[:-1]} == {401}
    is_problem(tries[-1], 429, "rate_limited")


@pytest.mark.parametrize("path", ["link", "password", "refresh", "sign-out"])
async def test_other_sites_cannot_act_with_our_cookies(site: Site, path: str) -> None:
    await site.sign_in(await site.world.user())
    foreign = ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"})
    for headers in (*foreign, {"Origin": "http://127.0.0.1:4001"}, {"Sec-Fetch-Site": "same-site"}):
        response = await site.client.post(f"/api/auth/{path}", headers=headers, json={"token": "x"})
        is_problem(response, 403, "forbidden")
    assert (await site.client.post("/api/auth/refresh", headers=ORIGIN)).status_code == 200


# --- who asks


async def test_an_api_token_names_its_user_and_scopes(site: Site) -> None:
    headers = await site.api_token(Role.EDITOR, Scope.WRITE, Scope.READ)
    me = await site.client.get("/api/auth/me", headers=headers)
    assert me.json()["scopes"] == ["read", "write"]
    assert me.json()["user"]["role"] == "editor"


async def test_without_a_valid_token_nobody_is_known(site: Site) -> None:
    for headers in ({}, bearer("x"), bearer("tl_x"), {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}):
        response = await site.client.get("/api/auth/me", headers=headers)
        is_problem(response, 401, "unauthenticated")
        assert response.headers["www-authenticate"] == "Bearer"


async def test_routers_that_come_later_know_who_asks(site: Site) -> None:
    async def whoami(principal: CurrentPrincipal) -> str:
        principal.require(Scope.ADMIN)
        return principal.role

    site.app.get("/whoami")(whoami)
    admin, viewer = await site.api_token(Role.ADMIN, Scope.ADMIN), await site.api_token(Role.VIEWER, Scope.READ)
    assert (await site.client.get("/whoami", headers=admin)).json() == "admin"
    is_problem(await site.client.get("/whoami", headers=viewer), 403, "forbidden")


# --- problems


async def test_what_is_not_there_is_a_problem_too(site: Site) -> None:
    is_problem(await site.client.get("/nowhere"), 404, "not_found")
    is_problem(await site.client.get("/api/auth/link"), 405, "invalid_input")


async def test_malformed_requests_name_the_field_and_repeat_nothing(site: Site) -> None:
    secret = {"email": ["ada"], "password": "x" * 2000}
    body = is_problem(await site.client.post("/api/auth/password", json=secret), 400, "invalid_input")
    assert body["field"] == "email"
    assert {error["field"] for error in body["errors"]} == {"email", "password"}
    assert "xxx" not in str(body)
    is_problem(await site.client.post("/api/auth/link", content=b"{nonsense"), 400, "invalid_input")
    broken = await site.client.post(
        "/api/auth/link", content=b"{nonsense", headers={"Content-Type": "application/json"}
    )
    is_problem(broken, 400, "invalid_input")


async def test_our_own_mistakes_are_told_without_their_insides(site: Site) -> None:
    async def crash() -> None:
        raise RuntimeError("postgresql://touchline_app:hunter2@db")

    async def defect() -> None:
        raise Defect("inside", why="hunter2")

    site.app.get("/crash")(crash)
    site.app.get("/defect")(defect)
    for path in ("/crash", "/defect"):
        response = await site.client.get(path)
        is_problem(response, 500, "internal")
        assert "hunter2" not in response.text
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_bodies_are_limited_with_and_without_their_length(world: World) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000

    async with serving(world, PLAIN.model_copy(update={"max_body": 50_000})) as site:
        declared = await site.client.post("/api/auth/link", content=b"x" * 50_001)
        streamed = await site.client.post("/api/auth/link", content=endless())
        for response in (declared, streamed):
            is_problem(response, 413, "limit_exceeded")


async def test_every_answer_has_an_id_and_the_safe_headers(site: Site) -> None:
    given = await site.client.get("/health/live", headers={"X-Request-Id": "from-the-proxy.1"})
    assert given.headers["x-request-id"] == "from-the-proxy.1"
    for path, headers in (("/health/live", {"X-Request-Id": "no spaces\there"}), ("/nowhere", {})):
        response = await site.client.get(path, headers=headers)
        assert re.fullmatch(r"[0-9a-f]{32}", response.headers["x-request-id"])
        assert response.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cross-origin-opener-policy"] == "same-origin"


async def test_the_description_lists_every_route_and_its_problems(site: Site) -> None:
    paths = (await site.client.get("/api/openapi.json")).json()["paths"]
    assert {"/api/auth/link", "/api/auth/me", "/health/ready", "/metrics"} <= set(paths)
    responses = paths["/api/auth/link"]["post"]["responses"]
    assert set(responses) == {"200", "default"}
    assert "application/problem+json" in responses["default"]["content"]


# --- health and metrics


async def test_ready_names_the_part_that_is_down(world: World) -> None:
    async def up() -> None: ...

    async def down() -> None:
        raise ConnectionError("password=hunter2")

    async def hanging() -> None:
        await asyncio.Event().wait()

    quick = PLAIN.model_copy(update={"check_timeout": SETTINGS.refresh_grace / 100})
    async with serving(world, quick, {"postgres": up, "objects": down, "temporal": hanging}) as site:
        body = is_problem(await site.client.get("/health/ready"), 503, "unavailable")
        assert body["parts"] == {"postgres": "up", "objects": "down", "temporal": "down"}
        assert body["detail"] == "down: objects, temporal"
        assert "hunter2" not in str(body)
        assert (await site.client.get("/health/live")).json() == {"status": "live"}
    async with serving(world, PLAIN, {"postgres": up}) as site:
        ready = await site.client.get("/health/ready")
        assert (ready.status_code, ready.json()) == (200, {"status": "ready", "parts": {"postgres": "up"}})


async def test_metrics_are_for_this_machine_and_for_operators(world: World) -> None:
    async with serving(world) as here:
        await here.client.get("/some/stranger's/path")
        text = (await here.client.get("/metrics")).text
        assert 'touchline_http_requests_total{method="GET",route="unmatched",status="404"}' in text
        assert "stranger" not in text
        is_problem(await here.client.get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"}), 401, "unauthenticated")
        rebound = await here.client.get("/metrics", headers={"Host": "rebound.example:4000"})
        assert is_problem(rebound, 403, "forbidden")["title"] == "unknown host name"
        assert rebound.headers["X-Content-Type-Options"] == "nosniff"
    async with serving(world, peer="192.0.2.1") as elsewhere:
        is_problem(await elsewhere.client.get("/metrics"), 401, "unauthenticated")
        admin = await elsewhere.api_token(Role.ADMIN, Scope.READ)
        operator = await elsewhere.api_token(Role.OPERATOR, Scope.READ)
        is_problem(await elsewhere.client.get("/metrics", headers=admin), 403, "forbidden")
        counted = await elsewhere.client.get("/metrics", headers=operator)
        assert 'route="/metrics"' in counted.text
        assert counted.headers["content-type"].startswith("text/plain")


# --- the page


async def test_a_visitor_of_an_unknown_address_gets_the_page_and_a_program_a_problem(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text("<title>Touchline</title>")
    plan = Plan(gateway=PLAIN, page=WebPage(tmp_path, "http://127.0.0.1:8333"))
    async with serving(world, plan=plan) as site:
        visited = await site.client.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
        assert (visited.status_code, visited.text) == (404, "<title>Touchline</title>")
        is_problem(await site.client.get("/nowhere"), 404, "not_found")


async def test_a_page_that_was_not_built_says_so(site: Site) -> None:
    for path in ("/", "/sign-in", "/watch/abcdefgh01234567"):
        response = await site.client.get(path)
        assert (response.status_code, response.headers["cache-control"]) == (404, "no-store")
        assert "make web" in response.text

from __future__ import annotations

import gzip
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from touchline.gateway.rest import callers
from touchline.gateway.settings import GatewaySettings
from touchline.gateway.web_page import build_page, content_policy, read_page

SETTINGS = GatewaySettings(port=4000)
STORE = "http://127.0.0.1:8333"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Touchline</title>")
    (tmp_path / "favicon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "index-B4x8.js").write_text("console.log(1)\n" * 100)
    (tmp_path.parent / "secret.txt").write_text("secret")
    return tmp_path


def client(folder: Path | None) -> httpx.AsyncClient:
    app, page = FastAPI(redirect_slashes=False), build_page(folder, STORE, SETTINGS)
    callers.install(app, page.missing)
    app.include_router(page.router)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:4000")


@pytest.mark.parametrize(
    "path",
    ["/", "/sign-in", "/matches?day=2026-11-15", "/search", "/watch/abcdefgh01234567?t=1500", "/jobs", "/jobs/1"],
)
async def test_every_view_is_the_document(folder: Path, path: str) -> None:
    async with client(folder) as browser:
        response = await browser.get(path)
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["cache-control"] == "no-cache"
        assert "<title>Touchline</title>" in response.text
        again = await browser.get(path, headers={"If-None-Match": response.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert (await browser.head(path)).headers["etag"] == response.headers["etag"]


async def test_files_with_a_hash_are_kept_for_a_year_and_come_compressed(folder: Path) -> None:
    async with client(folder) as browser:
        script = await browser.get("/assets/index-B4x8.js", headers={"Accept-Encoding": "gzip"})
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert script.headers["content-type"].startswith("text/javascript")
        assert (script.headers["content-encoding"], script.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert script.text == "console.log(1)\n" * 100
        plain = await browser.get("/assets/index-B4x8.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        icon = await browser.get("/favicon.svg")
        assert (icon.headers["content-type"], icon.headers["cache-control"]) == ("image/svg+xml", "no-cache")


@pytest.mark.parametrize(
    "path",
    [
        "/assets/missing.js",
        "/assets/../../secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/secret.txt",
        "/assets/",
        "/index.html",
    ],
)
async def test_only_what_was_built_can_be_asked_for(folder: Path, path: str) -> None:
    async with client(folder) as browser:
        response = await browser.get(path)
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


VISIT = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/nowhere", "/matches/", "/clip/1", "/index.html", "/%00", "/watch"])
async def test_who_visits_an_address_that_there_is_not_gets_the_page_that_says_so(folder: Path, path: str) -> None:
    async with client(folder) as browser:
        response = await browser.get(path, headers=VISIT)
        assert (response.status_code, response.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "script-src 'self'" in response.headers["content-security-policy"]
        assert "<title>Touchline</title>" in response.text
        assert (await browser.head(path, headers=VISIT)).status_code == 404
        for headers in ({"Accept": "application/json"}, {"Accept": "*/*"}):
            program = await browser.get(path, headers=headers)
            assert (program.status_code, program.json()["code"]) == (404, "not_found")
        assert (await browser.post(path, headers=VISIT)).headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/api/nowhere", "/assets/missing.js", "/media/nowhere", "/health/nowhere"])
async def test_the_addresses_of_programs_stay_theirs(folder: Path, path: str) -> None:
    async with client(folder) as browser:
        response = await browser.get(path, headers=VISIT)
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


async def test_a_page_that_was_not_built_says_what_to_do() -> None:
    async with client(None) as browser:
        for path in ("/", "/sign-in"):
            response = await browser.get(path)
            assert response.status_code == 404
            assert response.headers["content-type"] == "text/plain; charset=utf-8"
            assert "make web" in response.text


def test_the_policy_allows_what_the_page_needs_and_no_more() -> None:
    policy = dict(part.split(" ", 1) for part in content_policy(STORE, SETTINGS).split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert set(policy["connect-src"].split()) == {
        "'self'",
        STORE,
        "ws://127.0.0.1:4000",
        "ws://localhost:4000",
    }
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in content_policy(STORE, SETTINGS)
    assert content_policy(f"{STORE}/with/a/path", SETTINGS) == content_policy(STORE, SETTINGS)
    https = GatewaySettings(port=4000, public_url="https://video.example.org")
    assert "wss://video.example.org" in content_policy(STORE, https)


def test_what_is_compressed_is_the_same(folder: Path) -> None:
    for file in read_page(folder).values():
        assert file.compressed is None or gzip.decompress(file.compressed) == file.content

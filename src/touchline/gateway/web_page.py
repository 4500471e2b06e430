"""The web page: its files, read once at start, and the addresses that serve them.

Invariant: only files that were there when the process started are served; no path from outside reaches the disk. The
document is revalidated every time and runs only our own scripts; files with a hash in their name are cached for a year.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

import touchline
from touchline.gateway.settings import GatewaySettings
from touchline.kernel import NotFound

# --- Files.

INDEX = "index.html"
PLAYER = "player.html"  # alone, for share links and frames of other sites
ASSETS = "assets/"  # the names in here carry a hash of what is in them
LARGEST_PAGE_BYTES = 50 * 1024**2
COMPRESSED = ("text/", "application/json", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class PageFile:
    content: bytes
    compressed: bytes | None
    content_type: str
    etag: str


def find_page() -> Path | None:
    """Inside the wheel, or where a checkout builds it; None when it was not built."""
    package = Path(touchline.__file__).parent
    for folder in (package / "web", package.parents[1] / "web" / "dist"):
        if (folder / INDEX).is_file():
            return folder
    return None


def read_page(folder: Path) -> Mapping[str, PageFile]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    if sum(path.stat().st_size for path in files.values()) > LARGEST_PAGE_BYTES:
        raise ValueError(f"{folder} does not hold the built page: it has more than {LARGEST_PAGE_BYTES} bytes")
    return {name: _read(path) for name, path in files.items()}


def _read(path: Path) -> PageFile:
    content = path.read_bytes()
    content_type = guess_type(path.name)[0] or "application/octet-stream"
    compressed = gzip.compress(content, mtime=0) if content_type.startswith(COMPRESSED) else None
    etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    charset = "; charset=utf-8" if content_type.startswith("text/") else ""
    return PageFile(content, compressed, content_type + charset, etag)


# --- Addresses.

VIEWS = (
    "/",
    "/sign-in",
    "/matches",
    "/search",
    "/watch/{rest:path}",
    "/jobs",
    "/jobs/{rest:path}",
    "/sessions",
    "/sessions/{rest:path}",
    "/storage",
    "/storage/{rest:path}",
)
# A worker has the policy of its own file: this one computes checksums of uploads, in WebAssembly.
WORKER = "md5.worker-"
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"
IMMUTABLE = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
NOT_BUILT = """The web page is not part of this installation.

In a checkout, run `make web` and start again. The released package includes the page.
The API works without it: /api/openapi.json describes it.
"""


@dataclass(frozen=True, slots=True)
class PlayerPage:
    """The page that only plays. It may be framed by the sites that are named, and by nobody else."""

    file: PageFile | None  # None: the page was not built

    def answer(self, origins: Sequence[str] = (), status: int = 200) -> Response:
        if self.file is None:
            return PlainTextResponse(NOT_BUILT, 404)
        policy = _policy([*PLAYER_SOURCES, f"frame-ancestors {' '.join(origins) or NOBODY}"])
        headers = {"Cache-Control": ASK_AGAIN, "Content-Security-Policy": policy}
        if origins:
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return Response(self.file.content, status, {"Content-Type": self.file.content_type, **headers})


@dataclass(frozen=True, slots=True)
class BuiltPage:
    router: APIRouter
    player: PlayerPage
    missing: Callable[[Request], Response] | None  # for people at an address that there is not: the page says so


def build_page(folder: Path | None, upload_url: str, settings: GatewaySettings) -> BuiltPage:
    """`upload_url` is where browsers send the parts of an upload: the object store as they reach it."""
    router = APIRouter(include_in_schema=False)
    if folder is None:
        for view in VIEWS:
            router.add_api_route(view, _not_built, methods=["GET", "HEAD"])
        return BuiltPage(router, PlayerPage(None), None)
    files = read_page(folder)
    policy = content_policy(upload_url, settings)

    async def document(request: Request) -> Response:
        return _answer(request, files[INDEX], {"Cache-Control": ASK_AGAIN, "Content-Security-Policy": policy})

    def missing(request: Request) -> Response:
        headers = {"Content-Type": files[INDEX].content_type, "Content-Security-Policy": policy}
        return Response(files[INDEX].content, 404, headers)

    async def file(request: Request) -> Response:
        return _file(request, files)

    for view in VIEWS:
        router.add_api_route(view, document, methods=["GET", "HEAD"])
    router.add_api_route("/assets/{name:path}", file, methods=["GET", "HEAD"])
    for name in files:
        if "/" not in name and name not in {INDEX, PLAYER}:
            router.add_api_route(f"/{name}", file, methods=["GET", "HEAD"])
    return BuiltPage(router, PlayerPage(files.get(PLAYER)), missing)


NOBODY = "'none'"
# The player hands video to the browser as blobs, and caption tracks that are empty at first as data.
SOURCES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "media-src 'self' blob: data:",
    "worker-src 'self'",
    "base-uri 'none'",
)
PLAYER_SOURCES = (*SOURCES, "connect-src 'self'", "form-action 'none'")


def content_policy(upload_url: str, settings: GatewaySettings) -> str:
    store = urlsplit(upload_url)
    named = (origin for origin in settings.origins if "[" not in origin)  # a policy has no words for IPv6
    live = sorted(origin.replace("http", "ws", 1) for origin in named)
    connect = " ".join(["connect-src 'self'", f"{store.scheme}://{store.netloc}", *live])
    return _policy([*SOURCES, connect, "form-action 'self'", f"frame-ancestors {NOBODY}"])


def _policy(directives: Sequence[str]) -> str:
    return "; ".join(directives)


async def _not_built() -> Response:
    return PlainTextResponse(NOT_BUILT, 404)


def _file(request: Request, files: Mapping[str, PageFile]) -> Response:
    name = request.url.path.removeprefix("/")
    if name not in files:
        raise NotFound("there is no such file", hint="Reload the page: it may have been updated.")
    headers = {"Cache-Control": IMMUTABLE if name.startswith(ASSETS) else ASK_AGAIN}
    if WORKER in name:
        headers["Content-Security-Policy"] = WORKER_POLICY
    return _answer(request, files[name], headers)


def _answer(request: Request, file: PageFile, headers: dict[str, str]) -> Response:
    headers |= {"ETag": file.etag, "Content-Type": file.content_type, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.compressed, headers=headers | {"Content-Encoding": "gzip"})
    return Response(file.content, headers=headers)

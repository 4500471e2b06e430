"""The network's pages: search behind a login wall, single posts, and what their script loads while one scrolls."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from touchline.world.context import World
from touchline.world.days.model import Post, Service, Trouble
from touchline.world.reading import TooLarge, read_form
from touchline.world.troubles import answer_in_trouble

from .account import COOKIE, Account, safe_target
from .clips import posts_by_id
from .documents import post_document
from .pages import login_page, post_page, search_page
from .timeline import Found, Search, begin, find, is_removed, is_shown

FILES = Path(__file__).parent / "page"
SCRIPTS = {"social.js": "text/javascript", "social.css": "text/css"}
MEDIA = "/media"


def routes(world: World, account: Account, media: str = MEDIA) -> list[BaseRoute]:
    """`media`: where the video CDN is, seen from the same server."""
    network = _Network(world, account, media, posts_by_id(world.day))
    return [
        Route("/", network.home),
        Route("/search", network.search),
        Route("/i/flow/login", network.login, methods=["GET", "POST"]),
        Route("/i/api/search.json", network.found),
        Route("/i/api/posts/{id:str}.json", network.one),
        Route("/assets/{name:str}", network.asset),
        Route("/{handle:str}/status/{id:str}", network.post),
        Route("/{handle:str}/status/{id:str}/video/{number:int}", network.post),
    ]


@dataclass(frozen=True, slots=True)
class _Network:
    world: World
    account: Account
    media: str
    posts: dict[str, Post] = field(repr=False)

    async def home(self, request: Request) -> Response:
        return RedirectResponse(f"{_root(request)}/search")

    async def search(self, request: Request) -> Response:
        trouble = answer_in_trouble(self.world, Service.SEARCH)
        if isinstance(trouble, Response):
            return trouble
        if not self._is_signed_in(request):
            target = f"{request.url.path}?{request.url.query}"
            return RedirectResponse(f"{_root(request)}/i/flow/login?{urlencode({'redirect_after_login': target})}", 302)
        return search_page(_root(request), request.query_params.get("q", ""), request.query_params.get("f", ""))

    async def found(self, request: Request) -> Response:
        """A page of results, as the script asks for it."""
        trouble = answer_in_trouble(self.world, Service.SEARCH)
        if isinstance(trouble, Response):
            return trouble
        if not self._is_signed_in(request):
            return _refusal(401, 32, "Could not authenticate you.")
        if trouble is Trouble.ERRORS:
            return _refusal(500, 131, "Internal error")
        found = Found((), None) if trouble is Trouble.EMPTY else find(self.world, self._wanted(request))
        posts = [self._document(request, post) for post in found.posts]
        return JSONResponse({"posts": posts, "cursor": found.cursor})

    def _wanted(self, request: Request) -> Search:
        asked = request.query_params
        now_ms = self.world.clock.day_ms()
        return begin(asked.get("q", ""), asked.get("f", ""), asked.get("cursor", ""), now_ms)

    async def post(self, request: Request) -> Response:
        """Single posts are shown to everybody."""
        trouble = answer_in_trouble(self.world, Service.SEARCH)
        if isinstance(trouble, Response):
            return trouble
        status = 200 if self._shown(request) else 404
        return post_page(_root(request), request.path_params["id"], status)

    async def one(self, request: Request) -> Response:
        post = self.posts.get(request.path_params["id"])
        if self._shown(request) and post:
            return JSONResponse({"posts": [self._document(request, post)], "cursor": None})
        if post and is_removed(post, self.world.clock.day_ms()):
            return _refusal(404, 144, "This post was deleted by its author.")
        return _refusal(404, 144, "Hmm... this page does not exist. Try searching for something else.")

    def _shown(self, request: Request) -> bool:
        post = self.posts.get(request.path_params["id"])
        return post is not None and is_shown(post, self.world.clock.day_ms())

    async def login(self, request: Request) -> Response:
        root = _root(request)
        target = safe_target(request.query_params.get("redirect_after_login", ""), root)
        if request.method == "GET":
            return login_page(root, target)
        try:
            form = await read_form(request)
        except TooLarge:
            return Response("Payload Too Large", 413)
        if not self.account.admits(form.get("text", ""), form.get("password", "")):
            return login_page(root, target, error="Wrong username or password.")
        answer = RedirectResponse(target, 303)
        token = self.account.token(self._expired_since_ms())
        answer.set_cookie(COOKIE, token, max_age=31_536_000, httponly=True, samesite="lax")
        return answer

    def _is_signed_in(self, request: Request) -> bool:
        """While sessions have expired, only those that began since then; afterwards all again, so that a day goes on
        without a person who signs in."""
        since = self._expired_since_ms()
        spans = (fault.from_ms for fault in self.world.day.faults if fault.trouble is Trouble.LOGIN)
        valid = [since] if since is not None else [None, *spans]
        return request.cookies.get(COOKIE, "") in [self.account.token(each) for each in valid]

    def _expired_since_ms(self) -> int | None:
        fault = self.world.fault(Service.SEARCH)
        return fault.from_ms if fault and fault.trouble is Trouble.LOGIN else None

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SCRIPTS:
            return Response("Not Found", 404)
        return FileResponse(FILES / name, media_type=SCRIPTS[name], headers={"Cache-Control": "no-cache"})

    def _document(self, request: Request, post: Post) -> dict[str, Any]:
        return post_document(self.world, post, f"{_outer(request)}{self.media}")


def _root(request: Request) -> str:
    """Where the network is mounted."""
    return quote(request.scope.get("root_path", ""))


def _outer(request: Request) -> str:
    return _root(request).rpartition("/")[0]


def _refusal(status: int, code: int, message: str) -> Response:
    return JSONResponse({"errors": [{"code": code, "message": message}]}, status)

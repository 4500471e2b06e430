"""The network's website: sign-in, the search page that scrolls, the page of one post, and the JSON behind them.

Invariant: whatever somebody typed or posted is text, never markup; the policy lets only our own files run. The session
cookie follows from the account, so that a restarted server still knows it.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from touchline_world.days.model import Post, Service, Trouble
from touchline_world.http import BodyTooLarge, fault_response, read_form
from touchline_world.world import World

from .documents import post_document, posts_by_id
from .search import SearchPage, SearchRequest, Tab, begin_search, find_posts, is_removed, is_shown

COOKIE = "auth_token"


@dataclass(frozen=True, slots=True)
class NetworkAccount:
    user: str
    password: str

    def token(self, expired_since_ms: int | None = None) -> str:
        """Of a session that began while others had expired, since then; or at any other time."""
        session = f"{self.user}:{expired_since_ms or 0}".encode()
        return hmac.new(self.password.encode(), session, hashlib.sha1).hexdigest()

    def admits(self, user: str, password: str) -> bool:
        given = NetworkAccount(user.strip().removeprefix("@").casefold(), password)
        wanted = NetworkAccount(self.user.casefold(), self.password)
        return hmac.compare_digest(given.token(), wanted.token())


def safe_target(target: str, root: str) -> str:
    """Where to go after signing in: only to a page of the network itself."""
    parts = urlsplit(target)
    inside = not parts.scheme and not parts.netloc and target.startswith(f"{root}/") and "\\" not in target
    return target if inside else f"{root}/search"


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

_FOLDER = Path(__file__).parent / "page"
_TABS = ((Tab.TOP, "Top"), (Tab.LIVE, "Latest"), (Tab.VIDEO, "Videos"))


def _template(name: str) -> Template:
    return Template((_FOLDER / name).read_text("utf-8"))


_FRAME, _SEARCH, _POST, _LOGIN = (_template(f"{name}.html") for name in ("frame", "search", "post", "login"))


def search_page(root: str, query: str, tab: str) -> Response:
    chosen = tab if tab in set(Tab) else Tab.TOP
    column = _SEARCH.substitute(root=root, query=escape(query), tab=escape(chosen), tabs=_tabs(root, query, chosen))
    return HTMLResponse(_framed(root, f"{query} - Search", column), headers=HEADERS)


def post_page(root: str, post_id: str, status: int) -> Response:
    column = _POST.substitute(root=root, id=escape(quote(post_id, safe="")))
    return HTMLResponse(_framed(root, "Post", column), status, headers=HEADERS)


def login_page(root: str, target: str, error: str = "") -> Response:
    action = f"{root}/i/flow/login?{_query(redirect_after_login=target)}"
    alert = f'<p class="alert" role="alert" data-testid="toast">{escape(error)}</p>' if error else ""
    filled = _LOGIN.substitute(root=root, action=escape(action), alert=alert)
    return HTMLResponse(filled, 400 if error else 200, headers=HEADERS)


def _framed(root: str, title: str, column: str) -> str:
    return _FRAME.substitute(root=root, title=escape(title), column=column)


def _tabs(root: str, query: str, chosen: str) -> str:
    return "".join(
        f'<a role="tab" href="{escape(f"{root}/search?{_query(q=query, f=tab)}")}" '
        f'aria-selected="{str(tab == chosen).lower()}">{title}</a>'
        for tab, title in _TABS
    )


def _query(**values: str) -> str:
    return urlencode(values)


FILES = Path(__file__).parent / "page"
SCRIPTS = {"social.js": "text/javascript", "social.css": "text/css"}
MEDIA = "/media"


def routes(world: World, account: NetworkAccount, media: str = MEDIA) -> list[BaseRoute]:
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
    account: NetworkAccount
    media: str
    posts: dict[str, Post] = field(repr=False)

    async def home(self, request: Request) -> Response:
        return RedirectResponse(f"{_root(request)}/search")

    async def search(self, request: Request) -> Response:
        trouble = fault_response(self.world, Service.SEARCH)
        if isinstance(trouble, Response):
            return trouble
        if not self._is_signed_in(request):
            target = f"{request.url.path}?{request.url.query}"
            return RedirectResponse(f"{_root(request)}/i/flow/login?{urlencode({'redirect_after_login': target})}", 302)
        return search_page(_root(request), request.query_params.get("q", ""), request.query_params.get("f", ""))

    async def found(self, request: Request) -> Response:
        """A page of results, as the script asks for it."""
        trouble = fault_response(self.world, Service.SEARCH)
        if isinstance(trouble, Response):
            return trouble
        if not self._is_signed_in(request):
            return _refusal(401, 32, "Could not authenticate you.")
        if trouble is Trouble.ERRORS:
            return _refusal(500, 131, "Internal error")
        found = SearchPage((), None) if trouble is Trouble.EMPTY else find_posts(self.world, self._wanted(request))
        posts = [self._document(request, post) for post in found.posts]
        return JSONResponse({"posts": posts, "cursor": found.cursor})

    def _wanted(self, request: Request) -> SearchRequest:
        asked = request.query_params
        now_ms = self.world.clock.day_ms()
        return begin_search(asked.get("q", ""), asked.get("f", ""), asked.get("cursor", ""), now_ms)

    async def post(self, request: Request) -> Response:
        """Single posts are shown to everybody."""
        trouble = fault_response(self.world, Service.SEARCH)
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
        except BodyTooLarge:
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

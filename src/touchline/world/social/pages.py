"""The network's HTML: shells that a script fills, as on the real one, and the form to sign in.

Invariant: whatever somebody typed or posted is text, never markup; the policy lets only our own files run.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote, urlencode

from starlette.responses import HTMLResponse, Response

from .timeline import Tab

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

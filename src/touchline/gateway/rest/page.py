"""The page where people sign in: one file, no parts from elsewhere.

Invariant: only the script and the style that carry this answer's nonce run.
"""

from __future__ import annotations

import secrets
from importlib import resources

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from .auth import cookie_name
from .parts import Parts

router = APIRouter(include_in_schema=False)
_PAGE = resources.files(__package__ or "").joinpath("sign_in.html").read_text("utf-8")
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@router.get("/sign-in")
async def sign_in_page(request: Request, parts: Parts) -> HTMLResponse:
    nonce = secrets.token_urlsafe(16)
    # Scripts cannot see the cookie, so the page is told whether trying to go on with a session makes sense.
    session = "perhaps" if cookie_name(parts.settings) in request.cookies else "none"
    page = _PAGE.replace("{{nonce}}", nonce).replace("{{session}}", session)
    return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY.format(nonce=nonce)})

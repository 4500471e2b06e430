"""Secrets that are handed out once and recognized later: API tokens, sign-in links, session secrets.

Invariant: each has 256 random bits, so a plain SHA-256 of the whole text is all that is stored: there is nothing to
guess. The prefix says what it is, to people and to programs that search for leaked secrets.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from uuid import UUID

from .model import TokenId

API_TOKEN_PREFIX = "tl_"  # noqa: S105  a prefix, not a secret
LINK_PREFIX = "tll_"
SESSION_PREFIX = "tls_"

_BODY = r"[A-Za-z0-9_-]{43}"
_API_TOKEN = re.compile(rf"{API_TOKEN_PREFIX}([0-9a-f]{{32}})_{_BODY}", re.ASCII)
_LINK = re.compile(LINK_PREFIX + _BODY, re.ASCII)
_SESSION = re.compile(SESSION_PREFIX + _BODY, re.ASCII)


def new_api_token(token_id: TokenId) -> str:
    """The id is in the text, so that a found token can be looked up in a list and revoked."""
    return f"{API_TOKEN_PREFIX}{token_id.hex}_{secrets.token_urlsafe(32)}"


def new_link_secret() -> str:
    return LINK_PREFIX + secrets.token_urlsafe(32)


def new_session_secret() -> str:
    return SESSION_PREFIX + secrets.token_urlsafe(32)


def parse_api_token(text: str) -> TokenId | None:
    match = _API_TOKEN.fullmatch(text)
    return TokenId(UUID(hex=match[1])) if match else None


def is_link_secret(text: str) -> bool:
    return _LINK.fullmatch(text) is not None


def is_session_secret(text: str) -> bool:
    return _SESSION.fullmatch(text) is not None


def fingerprint(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()

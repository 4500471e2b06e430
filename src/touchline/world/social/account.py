"""The account that may search, and the cookie that shows it signed in.

Invariant: the cookie follows from the account, so that a server that was started again still knows it.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import urlsplit

COOKIE = "auth_token"


@dataclass(frozen=True, slots=True)
class Account:
    user: str
    password: str

    def token(self, expired_since_ms: int | None = None) -> str:
        """Of a session that began while others had expired, since then; or at any other time."""
        session = f"{self.user}:{expired_since_ms or 0}".encode()
        return hmac.new(self.password.encode(), session, hashlib.sha1).hexdigest()

    def admits(self, user: str, password: str) -> bool:
        given = Account(user.strip().removeprefix("@").casefold(), password)
        wanted = Account(self.user.casefold(), self.password)
        return hmac.compare_digest(given.token(), wanted.token())


def safe_target(target: str, root: str) -> str:
    """Where to go after signing in: only to a page of the network itself."""
    parts = urlsplit(target)
    inside = not parts.scheme and not parts.netloc and target.startswith(f"{root}/") and "\\" not in target
    return target if inside else f"{root}/search"

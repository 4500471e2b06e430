"""Credentials: API tokens, sign-in links, session secrets, passwords and device tokens.

Invariant: generated secrets have 256 random bits, so a plain SHA-256 of the whole text is all that is stored. The
prefix says what a secret is, to people and to secret scanners. Passwords go through scrypt, and an unknown user costs
as much as a wrong password. A device token names one browser and one e-mail; it grants nothing by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hmac import compare_digest
from uuid import UUID

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from touchline.gateway.auth.sessions.rules import email_subject
from touchline.kernel import Defect

from .rules import TokenId

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


# --- Passwords: scrypt with its costs stored in the hash, off the event loop, a few at a time.

AT_ONCE = 2  # each takes 16 MB and a core


@dataclass(frozen=True, slots=True)
class Cost:
    n: int = 2**14
    r: int = 8
    p: int = 5


class Passwords:
    def __init__(self, cost: Cost | None = None) -> None:
        self._cost = cost or Cost()
        self._turn = asyncio.Semaphore(AT_ONCE)
        # Nobody's password: what is compared when there is nothing to compare with.
        self._decoy = _encode(self._cost, secrets.token_bytes(16), secrets.token_bytes(32))

    async def hash(self, password: str) -> str:
        salt = secrets.token_bytes(16)
        async with self._turn:
            return _encode(self._cost, salt, await asyncio.to_thread(_derive, password, self._cost, salt))

    async def verify(self, password: str, stored: str | None) -> bool:
        cost, salt, expected = _decode(stored or self._decoy)
        async with self._turn:
            derived = await asyncio.to_thread(_derive, password, cost, salt)
        return compare_digest(derived, expected) and stored is not None


def _derive(password: str, cost: Cost, salt: bytes) -> bytes:
    memory = 128 * cost.r * (cost.n + cost.p + 2)  # what OpenSSL counts for these costs
    secret = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=cost.n, r=cost.r, p=cost.p, maxmem=memory, dklen=32)


def _encode(cost: Cost, salt: bytes, derived: bytes) -> str:
    return f"scrypt${cost.n}${cost.r}${cost.p}${b64encode(salt).decode()}${b64encode(derived).decode()}"


def _decode(stored: str) -> tuple[Cost, bytes, bytes]:
    kind, n, r, p, salt, derived = stored.split("$")
    if kind != "scrypt":
        raise Defect("a stored password has an unknown format", why=kind)
    return Cost(int(n), int(r), int(p)), b64decode(salt), b64decode(derived)


# --- Device tokens: browsers that somebody signed in from before. Their attempts are counted separately, so that
# strangers who guess at an account cannot lock its owner out.

_DEVICE_BYTES, _SUBJECT_BYTES, _SIGNATURE_BYTES = 16, 32, 32
LONGEST_DEVICE_TOKEN = 200


class DeviceTokens:
    def __init__(self, cluster_secret: str) -> None:
        derive = HKDF(hashes.SHA256(), length=32, salt=None, info=b"touchline known devices")
        self._key = derive.derive(cluster_secret.encode())

    def issue(self, email: str) -> str:
        body = secrets.token_bytes(_DEVICE_BYTES) + email_subject(email)
        return _base64(body + self._signature(body))

    def subject(self, token: str, email: str) -> bytes | None:
        """What attempts from this browser are counted by; None when it is not known for this e-mail."""
        if not token.isascii() or len(token) > LONGEST_DEVICE_TOKEN:
            return None
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        body, signature = raw[:-_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]
        is_whole = len(raw) == _DEVICE_BYTES + _SUBJECT_BYTES + _SIGNATURE_BYTES and _base64(raw) == token
        if not is_whole or not hmac.compare_digest(signature, self._signature(body)):
            return None
        is_theirs = hmac.compare_digest(body[_DEVICE_BYTES:], email_subject(email))
        return hmac.digest(self._key, b"attempts:" + body, "sha256") if is_theirs else None

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, b"device:" + body, "sha256")


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")

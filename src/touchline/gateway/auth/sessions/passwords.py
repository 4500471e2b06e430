"""Passwords: scrypt with its costs stored beside it, off the event loop, a few at a time.

Invariant: an unknown user costs as much as a wrong password, so that neither time nor answer tells which it was.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hmac import compare_digest

from touchline.kernel.errors import Defect

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
        raise Defect("a stored password has an unknown form", why=kind)
    return Cost(int(n), int(r), int(p)), b64decode(salt), b64decode(derived)

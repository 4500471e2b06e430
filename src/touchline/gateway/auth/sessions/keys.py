"""The keys that sign access tokens: made when needed, replaced in time, shared by all processes.

Invariant: private halves are stored sealed by a key derived from the cluster's secret, which is not in the database.
Old public halves verify until the last token they signed has expired.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Sequence
from datetime import datetime

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from touchline.gateway.auth.model import NOBODY
from touchline.gateway.auth.settings import AuthSettings
from touchline.kernel import Clock
from touchline.kernel.errors import Unauthenticated, Unavailable
from touchline.platform.postgres.database import Database

from . import rules
from .model import SigningKey, StoredKey
from .store import SessionStore

NONCE_BYTES = 12
MOST_TRIES = 5

logger = logging.getLogger(__name__)


class SigningKeys:
    def __init__(self, database: Database, cluster_secret: str, settings: AuthSettings, clock: Clock) -> None:
        self._database = database
        self._seal = Seal(cluster_secret)
        self._settings = settings
        self._clock = clock
        self._keys: Sequence[StoredKey] = ()
        self._reading = asyncio.Lock()
        self._reads = 0

    async def signing(self) -> SigningKey:
        """The newest key that signs now and that we can open; the next one is made when there is none."""
        now = self._clock.now()
        for _ in range(MOST_TRIES):
            if key := self._openable(now):
                return key
            await self._read(self._reads)
            if key := self._openable(now):
                return key
            await self._make(now)
        raise Unavailable("no key signs access tokens", why="processes with different secrets make keys in turn")

    async def verifying(self, kid: str) -> Ed25519PublicKey:
        """A key that we do not know may have been made by another process a moment ago, so we look again."""
        seen = self._reads
        if self._find(kid) is None:
            await self._read(seen)
        key = self._find(kid)
        if key is None:
            raise Unauthenticated("the access token is not valid", why="its key is not known, or no longer valid")
        return Ed25519PublicKey.from_public_bytes(key.public_key)

    def _find(self, kid: str) -> StoredKey | None:
        now = self._clock.now()
        valid = (key for key in self._keys if rules.still_verifies(key, self._settings, now))
        return next((key for key in valid if key.kid == kid), None)

    def _openable(self, now: datetime) -> SigningKey | None:
        opened = (self._seal.open(key) for key in rules.keys_that_sign(self._keys, now))
        return next((key for key in opened if key is not None), None)

    async def _read(self, seen: int) -> None:
        """Many ask at once and one reads, but nobody is content with a read that began before they asked."""
        async with self._reading:
            if self._reads != seen:
                return
            self._reads += 1
            async with self._database.transaction(NOBODY) as transaction:
                self._keys = await SessionStore(transaction.connection).keys()

    async def _make(self, now: datetime) -> None:
        number = max((key.number for key in self._keys), default=0) + 1
        key = self._seal.new_key(number, now, now + self._settings.key_lifetime)
        async with self._database.transaction(NOBODY) as transaction:
            await SessionStore(transaction.connection).add_key(key)
        logger.info("the next signing key takes over", extra={"number": number})


class Seal:
    """Opens and closes private keys. The key's id is bound in, so that rows cannot be swapped."""

    def __init__(self, cluster_secret: str) -> None:
        derive = HKDF(hashes.SHA256(), length=32, salt=None, info=b"touchline signing keys")
        self._cipher = AESGCM(derive.derive(cluster_secret.encode()))

    def new_key(self, number: int, created_at: datetime, signs_until: datetime) -> StoredKey:
        private = Ed25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        kid = hashlib.sha256(public).hexdigest()[:16]
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, private.private_bytes_raw(), kid.encode())
        return StoredKey(number, kid, public, created_at, signs_until, sealed)

    def open(self, key: StoredKey) -> SigningKey | None:
        """None when it was sealed with another secret."""
        nonce, sealed = key.sealed_key[:NONCE_BYTES], key.sealed_key[NONCE_BYTES:]
        try:
            private = self._cipher.decrypt(nonce, sealed, key.kid.encode())
        except InvalidTag:
            return None
        return SigningKey(key.kid, Ed25519PrivateKey.from_private_bytes(private))

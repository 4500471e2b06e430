"""Access tokens: JWTs signed with Ed25519, and the keys that sign them.

Invariant: one algorithm; issuer, audience and every claim we set are required; times are checked by the given clock.
Private keys are stored encrypted under a key derived from the cluster's secret, which is not in the database. A public
key verifies until the last token it signed has expired.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import jwt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ConfigDict, ValidationError

from touchline.gateway.auth.sessions.rules import AccessClaims, SessionId, SigningKey, StoredKey
from touchline.gateway.auth.sessions.store import SessionStore
from touchline.gateway.settings import AuthSettings
from touchline.kernel import Clock, Role, TenantId, Unauthenticated, Unavailable, UserId
from touchline.platform.postgres.database import Database

from .rules import WITHOUT_TENANT
from .sessions import rules

ALGORITHM = "EdDSA"
LONGEST_TOKEN = 4096
REQUIRED = ["iss", "aud", "sub", "tenant_id", "role", "sid", "iat", "nbf", "exp", "jti"]


class _Body(BaseModel):
    """The claims as they are written. Extra ones are none of our business."""

    model_config = ConfigDict(extra="ignore")

    sub: UUID
    tenant_id: UUID
    role: Role
    sid: UUID
    iat: int
    nbf: int
    exp: int


def sign(claims: AccessClaims, key: SigningKey, settings: AuthSettings) -> str:
    body: dict[str, Any] = {
        "iss": settings.issuer,
        "aud": settings.audience,
        "sub": str(claims.user_id),
        "tenant_id": str(claims.tenant_id),
        "role": claims.role.value,
        "sid": str(claims.session_id),
        "iat": int(claims.issued_at.timestamp()),
        "nbf": int(claims.issued_at.timestamp()),
        "exp": int(claims.expires_at.timestamp()),
        "jti": uuid4().hex,
    }
    return jwt.encode(body, key.private_key, ALGORITHM, headers={"kid": key.kid})


def key_id(token: str) -> str:
    """Which key the token claims to be signed with. Nothing of it is trusted yet."""
    if len(token) > LONGEST_TOKEN:
        raise _invalid("it is too long")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, RecursionError) as error:
        raise _invalid("it is not a JWT") from error
    kid = header.get("kid")
    if header.get("alg") != ALGORITHM or not isinstance(kid, str):
        raise _invalid(f"it is not signed by {ALGORITHM} with a named key")
    return kid


def read(token: str, key: Ed25519PublicKey, settings: AuthSettings) -> AccessClaims:
    """The claims of a token that this key signed for us. Whether it is current is a rule's business."""
    try:
        body = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            audience=settings.audience,
            issuer=settings.issuer,
            # The library reads its own clock, so its checks of times are off and ours (rules.require_current) are on.
            options={
                "require": REQUIRED,
                "strict_aud": True,
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
        claims = _Body.model_validate(body)
        return AccessClaims(
            tenant_id=TenantId(claims.tenant_id),
            user_id=UserId(claims.sub),
            role=claims.role,
            session_id=SessionId(claims.sid),
            issued_at=datetime.fromtimestamp(max(claims.iat, claims.nbf), UTC),
            expires_at=datetime.fromtimestamp(claims.exp, UTC),
        )
    except jwt.InvalidTokenError as error:
        raise _invalid(_REASONS.get(type(error), "its signature or claims are wrong")) from error
    except (ValidationError, OverflowError, ValueError, OSError) as error:
        raise _invalid("its claims are malformed") from error


_REASONS: dict[type[Exception], str] = {
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.InvalidIssuerError: "it is from another issuer",
    jwt.InvalidSignatureError: "its signature is wrong",
}


def _invalid(why: str) -> Unauthenticated:
    return Unauthenticated("the access token is not valid", why=why)


# --- Signing keys: created when needed, rotated in time, shared by all processes.

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
        raise Unavailable(
            "no key signs access tokens", why="processes with different secrets replace each other's keys"
        )

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
            async with self._database.transaction(WITHOUT_TENANT) as transaction:
                self._keys = await SessionStore(transaction.connection).keys()

    async def _make(self, now: datetime) -> None:
        number = max((key.number for key in self._keys), default=0) + 1
        key = self._seal.new_key(number, now, now + self._settings.key_lifetime)
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
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

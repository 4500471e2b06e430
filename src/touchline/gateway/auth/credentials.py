"""Credentials: API tokens, sign-in links, session secrets, passwords and device tokens.

Invariant: generated secrets have 256 random bits, so a plain SHA-256 of the whole text is all that is stored. The
prefix says what a secret is, to people and to secret scanners. Passwords go through scrypt, and an unknown user costs
as much as a wrong password. A device token names one browser and one e-mail; it grants nothing by itself.

Access tokens: JWTs signed with Ed25519, and the keys that sign them.

Invariant: one algorithm; issuer, audience and every claim we set are required; times are checked by the given clock.
Private keys are stored encrypted under a key derived from the cluster's secret, which is not in the database. A public
key verifies until the last token it signed has expired.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hmac import compare_digest
from typing import Any
from uuid import UUID, uuid4

import jwt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import BaseModel, ConfigDict, ValidationError

from touchline.gateway.settings import AuthSettings
from touchline.kernel import Clock, Defect, Role, TenantId, Unauthenticated, Unavailable, UserId
from touchline.platform.postgres.database import Database

from .rules import WITHOUT_TENANT, TokenId
from .sessions import rules
from .store import SessionStore

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


def sign(claims: rules.AccessClaims, key: rules.SigningKey, settings: AuthSettings) -> str:
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


def read(token: str, key: Ed25519PublicKey, settings: AuthSettings) -> rules.AccessClaims:
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
        return rules.AccessClaims(
            tenant_id=TenantId(claims.tenant_id),
            user_id=UserId(claims.sub),
            role=claims.role,
            session_id=rules.SessionId(claims.sid),
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
        self._keys: Sequence[rules.StoredKey] = ()
        self._reading = asyncio.Lock()
        self._reads = 0

    async def signing(self) -> rules.SigningKey:
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

    def _find(self, kid: str) -> rules.StoredKey | None:
        now = self._clock.now()
        valid = (key for key in self._keys if rules.still_verifies(key, self._settings, now))
        return next((key for key in valid if key.kid == kid), None)

    def _openable(self, now: datetime) -> rules.SigningKey | None:
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

    def new_key(self, number: int, created_at: datetime, signs_until: datetime) -> rules.StoredKey:
        private = Ed25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        kid = hashlib.sha256(public).hexdigest()[:16]
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, private.private_bytes_raw(), kid.encode())
        return rules.StoredKey(number, kid, public, created_at, signs_until, sealed)

    def open(self, key: rules.StoredKey) -> rules.SigningKey | None:
        """None when it was sealed with another secret."""
        nonce, sealed = key.sealed_key[:NONCE_BYTES], key.sealed_key[NONCE_BYTES:]
        try:
            private = self._cipher.decrypt(nonce, sealed, key.kid.encode())
        except InvalidTag:
            return None
        return rules.SigningKey(key.kid, Ed25519PrivateKey.from_private_bytes(private))


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
        body = secrets.token_bytes(_DEVICE_BYTES) + rules.email_subject(email)
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
        is_theirs = hmac.compare_digest(body[_DEVICE_BYTES:], rules.email_subject(email))
        return hmac.digest(self._key, b"attempts:" + body, "sha256") if is_theirs else None

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, b"device:" + body, "sha256")


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")

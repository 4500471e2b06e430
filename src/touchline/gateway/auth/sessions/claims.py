"""Access tokens: JWTs signed with Ed25519.

Invariant: one algorithm; issuer, audience and every claim we make are required; times are checked by the given clock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, ValidationError

from touchline.gateway.auth.settings import AuthSettings
from touchline.kernel import Role, TenantId, UserId
from touchline.kernel.errors import Unauthenticated

from .model import AccessClaims, SessionId, SigningKey

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

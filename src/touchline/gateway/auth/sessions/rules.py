"""Sessions and signing keys: lifetimes, detection of stolen secrets, limits on attempts. Pure: the time comes in.

Invariant: secrets never show in a repr.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NewType
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from touchline.gateway.auth.rules import Tenant, User
from touchline.gateway.settings import AuthSettings
from touchline.kernel import InvalidInput, RateLimited, Role, SessionOver, TenantId, Unauthenticated, UserId, backoff

# --- Types.

SessionId = NewType("SessionId", UUID)
LinkId = NewType("LinkId", UUID)


class SignInMethod(StrEnum):
    LINK = "link"
    PASSWORD = "password"  # noqa: S105  a word, not a secret


class SessionEnding(StrEnum):
    """Why a session ended before its time."""

    SIGNED_OUT = "signed_out"
    SECRET_REUSED = "secret_reused"  # noqa: S105
    USER_DISABLED = "user_disabled"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105


@dataclass(frozen=True, slots=True)
class UserSession:
    tenant_id: TenantId
    id: SessionId
    user_id: UserId
    method: SignInMethod
    opened_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    revision: int
    ended_because: SessionEnding | None = None


@dataclass(frozen=True, slots=True)
class SecretState:
    """What is known of one of a session's secrets."""

    superseded_at: datetime | None = None  # a newer one was shown
    rotated_at: datetime | None = None  # it was answered with a newer one
    seen_at: datetime | None = None  # it was shown for the first time


@dataclass(frozen=True, slots=True)
class AccessClaims:
    """What an access token says."""

    tenant_id: TenantId
    user_id: UserId
    role: Role
    session_id: SessionId
    issued_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Handed to the person who signed in. Without a session secret: the one they have was just replaced."""

    user: User
    tenant: Tenant
    session: UserSession
    issued_at: datetime
    access_expires_at: datetime
    access_token: str = field(repr=False)
    session_secret: str | None = field(repr=False)
    device: str | None = field(default=None, repr=False)  # by which this browser is known the next time


@dataclass(frozen=True, slots=True)
class StoredKey:
    number: int
    kid: str
    public_key: bytes
    created_at: datetime
    signs_until: datetime
    sealed_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SigningKey:
    kid: str
    private_key: Ed25519PrivateKey = field(repr=False)


# --- Rules.

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1024
SHORTEST_WAIT = timedelta(seconds=1)
SUBSCRIBER_PREFIX = 64  # one IPv6 customer has at least this network to take addresses from


class Refresh(StrEnum):
    """What becomes of a session whose secret was presented."""

    ROTATE = "rotate"  # the current secret, or one whose successor never arrived: answer with a new one
    REPEAT = "repeat"  # just answered with a new one, which another tab may have: no new secret, but no alarm
    REUSED = "reused"  # a newer one was shown long ago: two people hold this session, so it ends
    OVER = "over"


WHY_OVER: dict[SessionEnding | None, str] = {
    SessionEnding.SIGNED_OUT: "you signed out",
    SessionEnding.SECRET_REUSED: "the session cookie was used in two places, so the session "
    "was ended to protect your account",
    SessionEnding.USER_DISABLED: "your account was disabled",
    SessionEnding.PASSWORD_CHANGED: "your password was changed",
    None: "the session expired",
}


def refresh(session: UserSession, secret: SecretState, grace: timedelta, now: datetime) -> Refresh:
    """A secret stays good until its successor was shown, and a little longer: the answer that brought the successor may
    have got lost on its way. Once a successor was shown, nobody has a reason to show this one."""
    if session.ended_at is not None or session.expires_at <= now:
        return Refresh.OVER
    if secret.superseded_at is not None:
        return Refresh.REPEAT if now - secret.superseded_at < grace else Refresh.REUSED
    is_repeated = secret.rotated_at is not None and now - secret.rotated_at < grace
    return Refresh.REPEAT if is_repeated else Refresh.ROTATE


def session_over(because: SessionEnding | None) -> SessionOver:
    return SessionOver("your session has ended", why=WHY_OVER[because])


def session_expiry(opened_at: datetime, settings: AuthSettings, now: datetime) -> datetime:
    """Every use moves the end, up to the longest that a session may last."""
    return min(opened_at + settings.session_lifetime, now + settings.session_idle)


def require_admission(user: User | None, tenant: Tenant | None) -> tuple[User, Tenant]:
    if user is None or tenant is None or user.disabled_at is not None:
        hint = "Ask an administrator of your tenant."
        raise Unauthenticated("you cannot sign in", why="your account is disabled", hint=hint)
    if tenant.suspended_at is not None:
        hint = "Ask your administrator."
        raise Unauthenticated("you cannot sign in", why="your tenant is suspended", hint=hint)
    return user, tenant


def require_current(claims: AccessClaims, leeway: timedelta, now: datetime) -> None:
    if claims.expires_at + leeway <= now:
        raise Unauthenticated("the access token is not valid", why="it has expired")
    if claims.issued_at - leeway > now:
        raise Unauthenticated("the access token is not valid", why="it is not valid yet")


@dataclass(frozen=True, slots=True)
class Attempts:
    """Of one subject in the current window: an e-mail, a network address or a known browser."""

    count: int
    window_ends_at: datetime
    last_at: datetime | None = None


def after_attempt(known: Attempts, window: timedelta, now: datetime) -> Attempts:
    if known.window_ends_at <= now:
        return Attempts(1, now + window, now)
    return Attempts(known.count + 1, known.window_ends_at, now)


def waiting_time(known: Attempts, free: int, longest: timedelta, now: datetime) -> timedelta:
    """How long the next attempt has to wait: not at all at first, then twice as long each time, up to the longest.

    Nobody is locked out, and an attempt that comes too early does not count."""
    if known.window_ends_at <= now or known.count < free or known.last_at is None:
        return timedelta(0)
    delay = backoff(SHORTEST_WAIT, known.count - free, longest)
    return max(known.last_at + delay - now, timedelta(0))


def require_no_wait(wait: timedelta) -> None:
    if wait > timedelta(0):
        seconds = -(-wait // timedelta(seconds=1))
        why = f"wait {seconds} s before the next attempt"
        hint = "Check the e-mail address and the password, or ask an administrator for a sign-in link."
        raise RateLimited("too many attempts to sign in", why=why, hint=hint, retry_after=timedelta(seconds=seconds))


def valid_password(text: str) -> str:
    """Length is what counts; rules about digits and signs make passwords worse."""
    if not SHORTEST_PASSWORD <= len(text) <= LONGEST_PASSWORD:
        raise InvalidInput(
            "this password cannot be used", field="password", why=f"it needs at least {SHORTEST_PASSWORD} characters"
        )
    return text


def email_subject(email: str) -> bytes:
    return hashlib.sha256(b"email:" + email.strip().lower().encode("utf-8", "replace")).digest()


def address_subject(address: str) -> bytes:
    """Text that is no address (a socket's peer has none) counts as one place."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return hashlib.sha256(b"address:none").digest()
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or ip_network((parsed, SUBSCRIBER_PREFIX), strict=False).network_address
    return hashlib.sha256(b"address:" + parsed.packed).digest()


def keys_that_sign(keys: Sequence[StoredKey], now: datetime) -> list[StoredKey]:
    """Newest first: a process that cannot open the newest one, having another secret, takes its own."""
    return sorted((key for key in keys if now < key.signs_until), key=lambda key: key.number, reverse=True)


def still_verifies(key: StoredKey, settings: AuthSettings, now: datetime) -> bool:
    return now < key.signs_until + verifies_after(settings)


def verifies_after(settings: AuthSettings) -> timedelta:
    """How long a key that no longer signs is needed: until the last token that it may have signed has expired."""
    return settings.access_lifetime + 2 * settings.leeway

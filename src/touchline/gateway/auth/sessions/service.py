"""Signing in by link or password, refreshing and signing out.

Invariant: a link opens one session, once; a session secret that comes back after a newer one was used ends its session,
and no session ends without a recorded reason and actor. A wrong password and an unknown user get the same answer.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from touchline.contracts.events.access import SessionEnded, SessionOpened, UserLinkIssued
from touchline.gateway.auth import credentials, rules as access_rules
from touchline.gateway.auth.store import (
    REMOVE_ATTEMPTS,
    REMOVE_KEYS,
    REMOVE_LINKS,
    REMOVE_SESSIONS,
    AccessStore,
    SessionStore,
)
from touchline.gateway.metrics import SIGN_INS
from touchline.gateway.settings import AuthSettings
from touchline.kernel import Clock, Principal, TenantId, UserId, errors, uuid7
from touchline.platform.postgres.database import Database, Transaction

from . import rules

# --- Ending sessions early.


async def end_session(
    transaction: Transaction, session_id: rules.SessionId, because: rules.SessionEnding, by: str, now: datetime
) -> None:
    if ended := await SessionStore(transaction.connection).end_session(session_id, because, now):
        _announce(transaction, ended, because, by)


async def end_sessions(
    transaction: Transaction, user_id: UserId, because: rules.SessionEnding, by: str, now: datetime
) -> None:
    """All sessions of one user."""
    for ended in await SessionStore(transaction.connection).end_sessions_of(user_id, because, now):
        _announce(transaction, ended, because, by)


def _announce(transaction: Transaction, session: rules.UserSession, because: rules.SessionEnding, by: str) -> None:
    payload = SessionEnded(session_id=session.id, user_id=session.user_id, by=by, because=because)
    transaction.announce(payload, revision=session.revision)


# --- Signing in, refreshing, signing out.

logger = logging.getLogger(__name__)
NO_USER = UserId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class PasswordAttempt:
    email: str
    address: str
    password: str = field(repr=False)
    device: str = field(default="", repr=False)  # what an earlier sign-in left in this browser


@dataclass(frozen=True, slots=True)
class _Open:
    """A session as it stands in the transaction, before its access token is signed."""

    user: access_rules.User
    tenant: access_rules.Tenant
    session: rules.UserSession
    secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class SessionSecrets:
    """What is made of the cluster's secret."""

    keys: credentials.SigningKeys
    devices: credentials.DeviceTokens


class SessionService:
    def __init__(
        self,
        database: Database,
        secrets: SessionSecrets,
        passwords: credentials.Passwords,
        settings: AuthSettings,
        clock: Clock,
    ) -> None:
        self._database = database
        self._keys = secrets.keys
        self._devices = secrets.devices
        self._passwords = passwords
        self._settings = settings
        self._clock = clock

    async def sign_in_by_link(self, secret: str) -> rules.SignedIn:
        with _counted(rules.SignInMethod.LINK):
            # The key comes first: when there is none, the link must not be used up.
            key = await self._keys.signing()
            async with self._database.transaction(access_rules.WITHOUT_TENANT) as transaction:
                user_id = await self._use_link(transaction, secret)
                opened = await self._open(transaction, user_id, rules.SignInMethod.LINK)
            return self._on_device(self._signed_in(opened, key))

    async def sign_in_by_password(self, attempt: PasswordAttempt) -> rules.SignedIn:
        with _counted(rules.SignInMethod.PASSWORD):
            subject = await self._count_attempt(attempt)
            place, stored = await self._stored_password(attempt.email)
            # No connection is held meanwhile: this takes long by intention.
            if not await self._passwords.verify(attempt.password, stored) or place is None:
                raise _wrong_password()
            key = await self._keys.signing()
            tenant_id, user_id = place
            async with self._database.transaction(tenant_id) as transaction:
                opened = await self._open(transaction, user_id, rules.SignInMethod.PASSWORD)
                # Asked again now that the user is locked: the password may have been changed meanwhile.
                if await AccessStore(transaction.connection).password_hash(user_id) != stored:
                    raise _wrong_password()
                await SessionStore(transaction.connection).forget_attempts(subject)
            return self._on_device(self._signed_in(opened, key))

    async def refresh(self, secret: str) -> rules.SignedIn:
        """A new access token, and a new session secret to be used from then on."""
        key = await self._keys.signing()
        async with self._database.transaction(access_rules.WITHOUT_TENANT) as transaction:
            opened = await self._refresh(transaction, secret)
        if isinstance(opened, errors.TouchlineError):  # raised here, so that the end of a session stays written
            raise opened
        return self._signed_in(opened, key)

    async def sign_out(self, secret: str) -> None:
        """Ends the session, if there is one: whoever wants to be gone is gone."""
        async with self._database.transaction(access_rules.WITHOUT_TENANT) as transaction:
            session = await self._lock(transaction, secret)
            if session is not None:
                await end_session(
                    transaction, session.id, rules.SessionEnding.SIGNED_OUT, str(session.user_id), self._clock.now()
                )

    async def describe(self, principal: Principal) -> tuple[access_rules.User, access_rules.Tenant]:
        async with self._database.transaction(principal) as transaction:
            store = AccessStore(transaction.connection)
            user = await store.user(principal.user_id)
            return rules.require_admission(user, await store.tenant(principal.tenant_id))

    async def _use_link(self, transaction: Transaction, secret: str) -> UserId:
        store = SessionStore(transaction.connection)
        place = await store.find_link(credentials.fingerprint(secret)) if credentials.is_link_secret(secret) else None
        if place is not None:
            tenant_id, link_id = place
            await transaction.enter_tenant(tenant_id)
            if user_id := await store.use_link(link_id, self._clock.now()):
                return user_id
        hint = "Create a new link with `touchline users link EMAIL`."
        raise errors.Unauthenticated(
            "the sign-in link is not valid", why="it was used already, or has expired", hint=hint
        )

    async def _count_attempt(self, attempt: PasswordAttempt) -> bytes:
        """Counted before anything else and in its own transaction: a failure must not undo it. Answers by what.

        A browser that this person signed in from before is counted by itself: strangers cannot make it wait."""
        now, settings = self._clock.now(), self._settings
        device = self._devices.subject(attempt.device, attempt.email)
        subject = device or rules.email_subject(attempt.email)
        limits = {subject: settings.attempts_per_email}
        if device is None:
            limits[rules.address_subject(attempt.address)] = settings.attempts_per_address
        async with self._database.transaction(access_rules.WITHOUT_TENANT) as transaction:
            store = SessionStore(transaction.connection)
            known = {each: await store.attempts(each, now) for each in limits}
            waits = [rules.waiting_time(known[each], limits[each], settings.longest_wait, now) for each in limits]
            rules.require_no_wait(max(waits))
            for each, attempts in known.items():
                await store.count_attempt(each, rules.after_attempt(attempts, settings.attempt_window, now))
        return subject

    async def _stored_password(self, email: str) -> tuple[tuple[TenantId, UserId] | None, str | None]:
        """By the same statements for somebody whom nobody knows."""
        if not access_rules.is_email(email):
            return None, None
        async with self._database.transaction(access_rules.WITHOUT_TENANT) as transaction:
            store = AccessStore(transaction.connection)
            place = await store.find_user(email)
            tenant_id, user_id = place or (access_rules.WITHOUT_TENANT, NO_USER)
            await transaction.enter_tenant(tenant_id)
            return place, await store.password_hash(user_id)

    async def _open(self, transaction: Transaction, user_id: UserId, method: rules.SignInMethod) -> _Open:
        """The user is locked, so that nobody is disabled and signed in at the same time."""
        access, store = AccessStore(transaction.connection), SessionStore(transaction.connection)
        tenant = await access.tenant(transaction.tenant_id)
        user, tenant = rules.require_admission(await access.user_locked(user_id), tenant)
        now = self._clock.now()
        expires_at = rules.session_expiry(now, self._settings, now)
        session = rules.UserSession(
            tenant.id, rules.SessionId(uuid7(now)), user.id, method, now, expires_at, ended_at=None, revision=1
        )
        secret = credentials.new_session_secret()
        await store.add_session(session)
        await store.add_secret(session, credentials.fingerprint(secret))
        transaction.announce(
            SessionOpened(session_id=session.id, user_id=user.id, by=str(user.id), method=method),
            revision=session.revision,
        )
        return _Open(user, tenant, session, secret)

    async def _lock(self, transaction: Transaction, secret: str) -> rules.UserSession | None:
        store = SessionStore(transaction.connection)
        place = (
            await store.find_session(credentials.fingerprint(secret)) if credentials.is_session_secret(secret) else None
        )
        if place is None:
            return None
        tenant_id, session_id = place
        await transaction.enter_tenant(tenant_id)
        return await store.session_locked(session_id)

    async def _refresh(self, transaction: Transaction, secret: str) -> _Open | errors.SessionOver:
        access, store = AccessStore(transaction.connection), SessionStore(transaction.connection)
        session = await self._lock(transaction, secret)
        if session is None:
            return errors.SessionOver("your session has ended", why="the session is unknown")
        now, shown = self._clock.now(), credentials.fingerprint(secret)
        known = await store.secret(session.id, shown)
        decision = rules.refresh(session, known, self._settings.refresh_grace, now)
        if decision is rules.Refresh.REUSED:
            logger.warning("a superseded session secret came back", extra={"session_id": session.id})
            await end_session(
                transaction, session.id, rules.SessionEnding.SECRET_REUSED, access_rules.INSTALLATION.name, now
            )
            return rules.session_over(rules.SessionEnding.SECRET_REUSED)
        if decision is rules.Refresh.OVER:
            return rules.session_over(session.ended_because)
        tenant = await access.tenant(session.tenant_id)
        user, tenant = rules.require_admission(await access.user(session.user_id), tenant)
        if known.seen_at is None and known.superseded_at is None:
            await store.secret_seen(session.id, shown, now)
        if decision is rules.Refresh.REPEAT:
            return _Open(user, tenant, session, secret=None)
        fresh = credentials.new_session_secret()
        session = replace(session, expires_at=rules.session_expiry(session.opened_at, self._settings, now))
        await store.rotate_secret(session, shown, credentials.fingerprint(fresh), now)
        return _Open(user, tenant, session, fresh)

    def _on_device(self, signed_in: rules.SignedIn) -> rules.SignedIn:
        return replace(signed_in, device=self._devices.issue(signed_in.user.email))

    def _signed_in(self, opened: _Open, key: rules.SigningKey) -> rules.SignedIn:
        now = self._clock.now()
        session = opened.session
        said = rules.AccessClaims(
            tenant_id=session.tenant_id,
            user_id=session.user_id,
            role=opened.user.role,
            session_id=session.id,
            issued_at=now,
            expires_at=min(now + self._settings.access_lifetime, session.expires_at),
        )
        token = credentials.sign(said, key, self._settings)
        return rules.SignedIn(opened.user, opened.tenant, session, now, said.expires_at, token, opened.secret)


def _wrong_password() -> errors.Unauthenticated:
    hint = "Check both, then try again. If you have no password, ask your administrator for a sign-in link."
    return errors.Unauthenticated("you cannot sign in", why="the e-mail address or the password is wrong", hint=hint)


@contextmanager
def _counted(method: rules.SignInMethod) -> Generator[None]:
    try:
        yield
    except errors.Unauthenticated:
        SIGN_INS.labels(method, "refused").inc()
        raise
    except errors.RateLimited:
        SIGN_INS.labels(method, "limited").inc()
        raise
    SIGN_INS.labels(method, "accepted").inc()


# --- Sign-in links: whoever holds one signs in as its user, once, until it expires. The secret is in the fragment of
# the URL, which browsers do not send: it reaches no log.

SIGN_IN_PAGE = "/sign-in"


class Links:
    def __init__(self, database: Database, settings: AuthSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def issue(self, actor: access_rules.Actor, tenant_id: TenantId, user_id: UserId) -> access_rules.IssuedLink:
        access_rules.require_hold(actor, tenant_id, user_id)
        async with self._database.transaction(tenant_id) as transaction:
            user = access_rules.existing_user(await AccessStore(transaction.connection).user_locked(user_id))
            access_rules.require_role_within_reach(actor, user.role)
            return await add_link(transaction, actor, user, self._settings.link_lifetime, self._clock)


async def add_link(
    transaction: Transaction, actor: access_rules.Actor, user: access_rules.User, lifetime: timedelta, clock: Clock
) -> access_rules.IssuedLink:
    access_rules.require_enabled(user)
    now = clock.now()
    link = access_rules.IssuedLink(user, now + lifetime, credentials.new_link_secret())
    store = SessionStore(transaction.connection)
    await store.add_link(link, rules.LinkId(uuid7(now)), credentials.fingerprint(link.secret), now)
    payload = UserLinkIssued(user_id=user.id, by=actor.name, expires_at=link.expires_at)
    transaction.announce(payload, revision=user.revision)
    return link


def link_url(base_url: str, link: access_rules.IssuedLink, then: str = "") -> str:
    """`then` is the view of the page that is shown to whoever has signed in."""
    query = f"?{urlencode({'next': then})}" if then else ""
    return f"{base_url}{SIGN_IN_PAGE}{query}#token={link.secret}"


# --- Removal of ended sessions, used links, retired keys and old attempts. Their events stay in the log. Bounded, and
# harmless when it runs twice or on two machines.

MOST_PER_PASS = 1000  # of each kind


@dataclass(frozen=True, slots=True)
class RemovedSessions:
    links: int
    sessions: int
    keys: int
    attempts: int

    @property
    def more(self) -> bool:
        """A limit was reached: come back soon."""
        return max(self.links, self.sessions, self.attempts) == MOST_PER_PASS


async def remove_ended_sessions(database: Database, settings: AuthSettings, clock: Clock) -> RemovedSessions:
    now = clock.now()
    before = now - settings.keep_ended
    async with database.system("remove ended sessions") as transaction:
        sessions = SessionStore(transaction.connection)
        links = await sessions.remove(REMOVE_LINKS, before, MOST_PER_PASS)
        ended = await sessions.remove(REMOVE_SESSIONS, before, MOST_PER_PASS)
    # These have no tenant, and are nobody's business but the application's.
    async with database.transaction(access_rules.WITHOUT_TENANT) as transaction:
        sessions = SessionStore(transaction.connection)
        keys = await sessions.remove(REMOVE_KEYS, before - rules.verifies_after(settings), MOST_PER_PASS)
        attempts = await sessions.remove(REMOVE_ATTEMPTS, now, MOST_PER_PASS)
    return RemovedSessions(links, ended, keys, attempts)

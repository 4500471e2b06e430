"""All SQL of sign-in links, sessions, signing keys and attempts.

Invariant: a link is used once, whoever comes at the same time. A session is locked before its secrets change.
"""

# ruff: noqa: S105, S608  statements, not secrets; what is put into them is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.gateway.auth.rules import IssuedLink
from touchline.kernel import TenantId, UserId
from touchline.platform.postgres.database import fetch_all, fetch_one

from .rules import Attempts, LinkId, SecretState, SessionEnding, SessionId, SignInMethod, StoredKey, UserSession

_SESSION: LiteralString = "tenant_id, id, user_id, method, opened_at, expires_at, ended_at, revision, ended_because"

# --- links

ADD_LINK: LiteralString = """
INSERT INTO access.sign_in_links (tenant_id, id, user_id, secret_hash, created_at, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(user_id)s, %(hash)s, %(now)s, %(expires_at)s)
"""
FIND_LINK: LiteralString = "SELECT tenant_id, id FROM access.find_sign_in_link(%(hash)s)"
USE_LINK: LiteralString = """
UPDATE access.sign_in_links SET used_at = %(now)s
 WHERE id = %(id)s AND used_at IS NULL AND expires_at > %(now)s
RETURNING user_id AS value
"""

# --- sessions

ADD_SESSION: LiteralString = """
INSERT INTO access.sessions (tenant_id, id, user_id, method, opened_at, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(user_id)s, %(method)s, %(opened_at)s, %(expires_at)s)
"""
ADD_SECRET: LiteralString = """
INSERT INTO access.session_secrets (tenant_id, session_id, secret_hash) VALUES (%(tenant_id)s, %(id)s, %(hash)s)
"""
FIND_SESSION: LiteralString = "SELECT tenant_id, id FROM access.find_session(%(hash)s)"
SESSION_LOCKED: LiteralString = f"SELECT {_SESSION} FROM access.sessions WHERE id = %(id)s FOR UPDATE"
SECRET: LiteralString = """
SELECT superseded_at, rotated_at, seen_at FROM access.session_secrets
 WHERE session_id = %(id)s AND secret_hash = %(hash)s
"""
SECRET_SEEN: LiteralString = """
-- The first time: it has arrived, so nobody needs the others any more.
UPDATE access.session_secrets
   SET seen_at = CASE WHEN secret_hash = %(hash)s THEN %(now)s ELSE seen_at END,
       superseded_at = CASE WHEN secret_hash = %(hash)s THEN superseded_at ELSE %(now)s END
 WHERE session_id = %(id)s AND (secret_hash = %(hash)s OR superseded_at IS NULL)
"""
ROTATED: LiteralString = """
UPDATE access.session_secrets SET rotated_at = %(now)s WHERE session_id = %(id)s AND secret_hash = %(hash)s
"""
EXTEND_SESSION: LiteralString = "UPDATE access.sessions SET expires_at = %(expires_at)s WHERE id = %(id)s"
END_SESSION: LiteralString = f"""
UPDATE access.sessions SET ended_at = %(now)s, ended_because = %(because)s, revision = revision + 1
 WHERE id = %(id)s AND ended_at IS NULL
RETURNING {_SESSION}
"""
END_SESSIONS_OF: LiteralString = f"""
UPDATE access.sessions SET ended_at = %(now)s, ended_because = %(because)s, revision = revision + 1
 WHERE user_id = %(user_id)s AND ended_at IS NULL AND expires_at > %(now)s
RETURNING {_SESSION}
"""

# --- keys

KEYS: LiteralString = """
SELECT number, kid, public_key, sealed_key, created_at, signs_until
  FROM access.signing_keys ORDER BY number DESC LIMIT 100
"""
ADD_KEY: LiteralString = """
-- Of two processes that saw the same last number, one is refused, and finds the other's key when it looks again.
INSERT INTO access.signing_keys (number, kid, public_key, sealed_key, created_at, signs_until)
VALUES (%(number)s, %(kid)s, %(public_key)s, %(sealed_key)s, %(created_at)s, %(signs_until)s)
ON CONFLICT (number) DO NOTHING
"""

# --- attempts

ATTEMPTS: LiteralString = """
-- Locked: of two that come at once, the second one sees the first.
INSERT INTO access.sign_in_attempts AS a (subject, attempts, window_ends_at) VALUES (%(subject)s, 0, %(now)s)
ON CONFLICT (subject) DO UPDATE SET attempts = a.attempts
RETURNING attempts AS count, window_ends_at, last_at
"""
COUNT_ATTEMPT: LiteralString = """
UPDATE access.sign_in_attempts
   SET attempts = %(count)s, window_ends_at = %(window_ends_at)s, last_at = %(last_at)s
 WHERE subject = %(subject)s
"""
FORGET_ATTEMPTS: LiteralString = "DELETE FROM access.sign_in_attempts WHERE subject = %(subject)s"

# --- what is over, oldest first

REMOVE_LINKS: LiteralString = """
DELETE FROM access.sign_in_links WHERE (tenant_id, id) IN (
  SELECT tenant_id, id FROM access.sign_in_links WHERE expires_at < %(before)s ORDER BY expires_at LIMIT %(limit)s)
"""
REMOVE_SESSIONS: LiteralString = """
DELETE FROM access.sessions WHERE (tenant_id, id) IN (
  SELECT tenant_id, id FROM access.sessions WHERE expires_at < %(before)s ORDER BY expires_at LIMIT %(limit)s)
"""
REMOVE_KEYS: LiteralString = "DELETE FROM access.signing_keys WHERE signs_until < %(before)s"
REMOVE_ATTEMPTS: LiteralString = """
DELETE FROM access.sign_in_attempts WHERE subject IN (
  SELECT subject FROM access.sign_in_attempts
   WHERE window_ends_at < %(before)s ORDER BY window_ends_at LIMIT %(limit)s)
"""


class SessionStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def add_link(self, link: IssuedLink, link_id: LinkId, secret_hash: bytes, now: datetime) -> None:
        row = {"tenant_id": link.user.tenant_id, "id": link_id, "user_id": link.user.id, "hash": secret_hash}
        await self._connection.execute(ADD_LINK, row | {"now": now, "expires_at": link.expires_at})

    async def find_link(self, secret_hash: bytes) -> tuple[TenantId, LinkId] | None:
        return await fetch_one(self._connection, _link_place, FIND_LINK, hash=secret_hash)

    async def use_link(self, link_id: LinkId, now: datetime) -> UserId | None:
        """None when it was used before or is too old."""
        return await fetch_one(self._connection, _value, USE_LINK, id=link_id, now=now)

    async def add_session(self, session: UserSession) -> None:
        await self._connection.execute(ADD_SESSION, asdict(session))

    async def add_secret(self, session: UserSession, secret_hash: bytes) -> None:
        row = {"tenant_id": session.tenant_id, "id": session.id, "hash": secret_hash}
        await self._connection.execute(ADD_SECRET, row)

    async def find_session(self, secret_hash: bytes) -> tuple[TenantId, SessionId] | None:
        return await fetch_one(self._connection, _session_place, FIND_SESSION, hash=secret_hash)

    async def session_locked(self, session_id: SessionId) -> UserSession | None:
        """Two that refresh at once take turns, and the second one sees what the first one did."""
        return await fetch_one(self._connection, _session, SESSION_LOCKED, id=session_id)

    async def secret(self, session_id: SessionId, secret_hash: bytes) -> SecretState:
        found = await fetch_one(self._connection, SecretState, SECRET, id=session_id, hash=secret_hash)
        return found or SecretState()

    async def secret_seen(self, session_id: SessionId, secret_hash: bytes, now: datetime) -> None:
        await self._connection.execute(SECRET_SEEN, {"id": session_id, "hash": secret_hash, "now": now})

    async def rotate_secret(self, session: UserSession, shown: bytes, fresh: bytes, now: datetime) -> None:
        """One more secret of a locked session, and its new end. The one that was shown stays good for now."""
        await self._connection.execute(ROTATED, {"id": session.id, "hash": shown, "now": now})
        await self.add_secret(session, fresh)
        await self._connection.execute(EXTEND_SESSION, {"id": session.id, "expires_at": session.expires_at})

    async def end_session(self, session_id: SessionId, because: SessionEnding, now: datetime) -> UserSession | None:
        return await fetch_one(self._connection, _session, END_SESSION, id=session_id, because=because, now=now)

    async def end_sessions_of(self, user_id: UserId, because: SessionEnding, now: datetime) -> Sequence[UserSession]:
        values = {"user_id": user_id, "because": because, "now": now}
        return await fetch_all(self._connection, _session, END_SESSIONS_OF, **values)

    async def keys(self) -> Sequence[StoredKey]:
        return await fetch_all(self._connection, StoredKey, KEYS)

    async def add_key(self, key: StoredKey) -> None:
        await self._connection.execute(ADD_KEY, asdict(key))

    async def attempts(self, subject: bytes, now: datetime) -> Attempts:
        """Until the transaction ends nobody else counts. Subjects are taken in one order: e-mail, then address."""
        [found] = await fetch_all(self._connection, Attempts, ATTEMPTS, subject=subject, now=now)
        return found

    async def count_attempt(self, subject: bytes, counted: Attempts) -> None:
        await self._connection.execute(COUNT_ATTEMPT, {"subject": subject, **asdict(counted)})

    async def forget_attempts(self, subject: bytes) -> None:
        await self._connection.execute(FORGET_ATTEMPTS, {"subject": subject})

    async def remove(self, statement: LiteralString, before: datetime, limit: int) -> int:
        cursor = await self._connection.execute(statement, {"before": before, "limit": limit})
        return cursor.rowcount


def _session(*, method: str, ended_because: str | None, **columns: Any) -> UserSession:
    return UserSession(
        method=SignInMethod(method), ended_because=SessionEnding(ended_because) if ended_because else None, **columns
    )


def _link_place(*, tenant_id: UUID, id: UUID) -> tuple[TenantId, LinkId]:  # noqa: A002  the column's name
    return TenantId(tenant_id), LinkId(id)


def _session_place(*, tenant_id: UUID, id: UUID) -> tuple[TenantId, SessionId]:  # noqa: A002
    return TenantId(tenant_id), SessionId(id)


def _value(*, value: Any) -> Any:
    return value

"""Removes what is long over: links, sessions, keys, counted attempts. Their events stay in the log.

Invariant: bounded, and as good when it runs twice or on two machines.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.gateway.auth.model import NOBODY
from touchline.gateway.auth.settings import AuthSettings
from touchline.kernel import Clock
from touchline.platform.postgres.database import Database

from . import rules, store
from .store import SessionStore

MOST_PER_PASS = 1000  # of each kind


@dataclass(frozen=True, slots=True)
class Removed:
    links: int
    sessions: int
    keys: int
    attempts: int

    @property
    def more(self) -> bool:
        """A limit was reached: come back soon."""
        return max(self.links, self.sessions, self.attempts) == MOST_PER_PASS


async def upkeep(database: Database, settings: AuthSettings, clock: Clock) -> Removed:
    now = clock.now()
    before = now - settings.keep_ended
    async with database.system("remove ended sessions") as transaction:
        sessions = SessionStore(transaction.connection)
        links = await sessions.remove(store.REMOVE_LINKS, before, MOST_PER_PASS)
        ended = await sessions.remove(store.REMOVE_SESSIONS, before, MOST_PER_PASS)
    # These have no tenant, and are nobody's business but the application's.
    async with database.transaction(NOBODY) as transaction:
        sessions = SessionStore(transaction.connection)
        keys = await sessions.remove(store.REMOVE_KEYS, before - rules.verifies_after(settings), MOST_PER_PASS)
        attempts = await sessions.remove(store.REMOVE_ATTEMPTS, now, MOST_PER_PASS)
    return Removed(links, ended, keys, attempts)

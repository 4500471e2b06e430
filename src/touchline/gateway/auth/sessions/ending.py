"""How sessions end before their time: never without saying why and by whom."""

from __future__ import annotations

from datetime import datetime

from touchline.contracts.events.access import SessionEnded
from touchline.kernel import UserId
from touchline.platform.postgres.database import Transaction

from .model import Ending, Session, SessionId
from .store import SessionStore


async def end_session(transaction: Transaction, session_id: SessionId, because: Ending, by: str, now: datetime) -> None:
    if ended := await SessionStore(transaction.connection).end_session(session_id, because, now):
        _announce(transaction, ended, because, by)


async def end_sessions(transaction: Transaction, user_id: UserId, because: Ending, by: str, now: datetime) -> None:
    """All sessions of one user."""
    for ended in await SessionStore(transaction.connection).end_sessions_of(user_id, because, now):
        _announce(transaction, ended, because, by)


def _announce(transaction: Transaction, session: Session, because: Ending, by: str) -> None:
    payload = SessionEnded(session_id=session.id, user_id=session.user_id, by=by, because=because)
    transaction.announce(payload, revision=session.revision)

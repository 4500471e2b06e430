"""Whether the search works, for `touchline status` and the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from touchline.platform.postgres.database import Transaction, fetch_one

STATE: LiteralString = """
SELECT checked_at, works, found, took_ms, failure, worked_at, failures
  FROM watch.search_checks
 WHERE tenant_id = (SELECT platform.current_tenant())
"""


@dataclass(frozen=True, slots=True)
class SearchState:
    checked_at: datetime
    works: bool
    found: int
    took_ms: int
    failure: str | None
    worked_at: datetime | None
    failures: int  # looks in a row


async def search_state(transaction: Transaction) -> SearchState | None:
    """None: nobody has looked yet."""
    return await fetch_one(transaction.connection, SearchState, STATE)

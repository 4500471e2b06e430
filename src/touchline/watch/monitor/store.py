"""What starting a search needs to know of a goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from touchline.platform.postgres.database import Transaction, fetch_all
from touchline.watch.model import GoalRef

FACTS: LiteralString = """
SELECT g.event_id, g.generation, g.fixture_id, g.player_name, g.detail, g.minute, g.extra, g.team_id, g.team_name,
       CASE WHEN g.team_id = f.home_id THEN f.away_id ELSE f.home_id END AS other_team_id,
       CASE WHEN g.team_id = f.home_id THEN f.away_name ELSE f.home_name END AS other_team_name
  FROM watch.goals AS g JOIN watch.fixtures AS f ON f.tenant_id = g.tenant_id AND f.id = g.fixture_id
 WHERE g.tenant_id = %(tenant_id)s AND g.event_id = ANY (%(events)s) AND g.removed_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class SearchFacts:
    event_id: str
    generation: int
    fixture_id: int
    player_name: str | None
    detail: str
    minute: int
    extra: int | None
    team_id: int
    team_name: str
    other_team_id: int
    other_team_name: str

    @property
    def ref(self) -> GoalRef:
        return GoalRef(self.fixture_id, self.event_id, self.generation)

    @property
    def at(self) -> str:
        return f"{self.minute}+{self.extra}" if self.extra else str(self.minute)


async def search_facts(transaction: Transaction, goals: Sequence[GoalRef]) -> dict[GoalRef, SearchFacts]:
    rows = await fetch_all(
        transaction.connection,
        SearchFacts,
        FACTS,
        tenant_id=transaction.tenant_id,
        events=[goal.event_id for goal in goals],
    )
    return {row.ref: row for row in rows}

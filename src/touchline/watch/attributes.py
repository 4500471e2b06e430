"""Search attributes that make Temporal's own page useful: which team, player, match, goal and look a run is about.

Invariant: they are optional. A workflow never sets one unless whoever started it knows that the server has them: one
that it does not know fails each of the workflow's tasks, for ever.
"""

from __future__ import annotations

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from touchline.watch.discovery.workflow import TwitterInput

TEAM = SearchAttributeKey.for_keyword("Team")
PLAYER = SearchAttributeKey.for_keyword("Player")
FIXTURE = SearchAttributeKey.for_int("Fixture")
EVENT_ID = SearchAttributeKey.for_keyword("EventId")
MONITOR_ID = SearchAttributeKey.for_keyword("MonitorId")
KINDS = {
    TEAM.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    PLAYER.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    FIXTURE.name: IndexedValueType.INDEXED_VALUE_TYPE_INT,
    EVENT_ID.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    MONITOR_ID.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
}
SCHEDULED_START = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")  # the server's own


def of_search(given: TwitterInput, run_id: str | None = None) -> TypedSearchAttributes:
    """`run_id`: of the look at its match that started it; one that a person starts has none."""
    pairs = [
        SearchAttributePair(TEAM, given.team_name),
        SearchAttributePair(PLAYER, given.player_name),
        SearchAttributePair(FIXTURE, given.goal.fixture_id),
        SearchAttributePair(EVENT_ID, given.goal.name),
    ]
    return TypedSearchAttributes([*pairs, *([SearchAttributePair(MONITOR_ID, run_id)] if run_id else [])])

"""Search attributes that make Temporal's own page useful: which team, player, match, goal and look a run is about."""

from __future__ import annotations

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from .discovery.messages import TwitterInput

TEAM = SearchAttributeKey.for_text("Team")
PLAYER = SearchAttributeKey.for_text("Player")
FIXTURE = SearchAttributeKey.for_int("Fixture")
EVENT_ID = SearchAttributeKey.for_keyword("EventId")
MONITOR_ID = SearchAttributeKey.for_keyword("MonitorId")
ALL = (TEAM, PLAYER, FIXTURE, EVENT_ID, MONITOR_ID)
SCHEDULED_START = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")  # the server's own


def of_search(given: TwitterInput, run_id: str) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(TEAM, given.team_name),
            SearchAttributePair(PLAYER, given.player_name),
            SearchAttributePair(FIXTURE, given.goal.fixture_id),
            SearchAttributePair(EVENT_ID, given.goal.name),
            SearchAttributePair(MONITOR_ID, run_id),
        ]
    )

"""Whatever the workflows of the search call by name is there, with the time-outs and tries that were agreed on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from touchline.watch.aliases import workflow as alias_calls
from touchline.watch.aliases.activities import AliasActivities
from touchline.watch.discovery import workflow as discovery_calls
from touchline.watch.discovery.activities import DiscoveryActivities
from touchline.watch.downloads.workflow import REGISTER_DOWNLOAD
from touchline.watch.temporal import Call

AGREED = {
    "get_cached_team_aliases": (10, 2),
    "get_team_aliases": (60, 2),
    "save_team_aliases": (10, 2),
    "set_monitor_complete": (30, 5),
    "check_event_exists": (30, 3),
    "update_twitter_attempt": (30, 3),
    "get_twitter_search_data": (30, 3),
    "execute_twitter_search": (180, 3),
    "save_discovered_videos": (30, 3),
    "register_download": (30, 5),
}
OWN = [call for module in (alias_calls, discovery_calls) for call in vars(module).values() if isinstance(call, Call)]
CALLS = [*OWN, REGISTER_DOWNLOAD]


def names_of(part: type) -> set[str]:
    definitions = (getattr(each, "__temporal_activity_definition", None) for each in vars(part).values())
    return {definition.name for definition in definitions if definition}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_time_outs_and_tries(call: Call[Any]) -> None:
    assert (call.within.total_seconds(), call.attempts) == AGREED[call.name]


def test_every_call_has_an_activity() -> None:
    there = names_of(AliasActivities) | names_of(DiscoveryActivities)
    assert {call.name for call in CALLS} == there | {"register_download"}


def test_a_search_is_patient_and_shows_that_it_lives() -> None:
    search = discovery_calls.EXECUTE_TWITTER_SEARCH
    assert (search.first_pause, search.backoff) == (timedelta(seconds=10), 1.5)
    assert search.heartbeat == timedelta(seconds=60)

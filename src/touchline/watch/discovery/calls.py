"""How TwitterWorkflow calls its activities."""

from __future__ import annotations

from datetime import timedelta
from types import NoneType

from touchline.watch.calls import Call

from .messages import SearchData, Selection, Standing
from .model import FoundVideo

_SOON = timedelta(seconds=30)

SET_MONITOR_COMPLETE = Call("set_monitor_complete", Standing, _SOON, attempts=5, near=True)
CHECK_EVENT_EXISTS = Call("check_event_exists", Standing, _SOON, attempts=3, near=True)
SAVE_TEAM_ALIASES = Call("save_team_aliases", NoneType, timedelta(seconds=10), attempts=2, near=True)
UPDATE_TWITTER_ATTEMPT = Call("update_twitter_attempt", NoneType, _SOON, attempts=3, near=True)
GET_TWITTER_SEARCH_DATA = Call("get_twitter_search_data", SearchData, _SOON, attempts=3, near=True)
EXECUTE_TWITTER_SEARCH = Call(
    "execute_twitter_search",
    list[FoundVideo],
    timedelta(seconds=180),
    attempts=3,
    first_pause=timedelta(seconds=10),
    backoff=1.5,
    heartbeat=timedelta(seconds=60),
)
SAVE_DISCOVERED_VIDEOS = Call(
    "save_discovered_videos", Selection, _SOON, attempts=3, first_pause=timedelta(seconds=2), near=True
)

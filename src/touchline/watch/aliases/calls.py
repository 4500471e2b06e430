"""How workflows ask for the words of a team."""

from __future__ import annotations

from datetime import timedelta

from touchline.watch.calls import Call

from .model import CachedAliases

GET_CACHED_TEAM_ALIASES = Call("get_cached_team_aliases", CachedAliases, timedelta(seconds=10), attempts=2, near=True)
GET_TEAM_ALIASES = Call("get_team_aliases", list[str], timedelta(seconds=60), attempts=2)

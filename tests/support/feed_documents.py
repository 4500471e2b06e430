"""Documents of the football feed, whole and broken."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from touchline.watch.fixtures.feed_documents import Tracked

GOALS = Tracked(frozenset({"Goal"}), frozenset({"Normal Goal", "Penalty", "Own Goal"}))


def entry(minute: Any = 23, **changed: Any) -> dict[str, Any]:
    return {
        "time": {"elapsed": minute, "extra": None},
        "team": {"id": 40, "name": "Liverpool"},
        "player": {"id": 306, "name": "M. Salah"},
        "assist": {"id": None, "name": None},
        "type": "Goal",
        "detail": "Normal Goal",
        "comments": None,
        **changed,
    }


def document(fixture_id: Any = 5000, *entries: Any, status: Any = "1H", **changed: Any) -> dict[str, Any]:
    return {
        "fixture": {
            "id": fixture_id,
            "date": "2026-03-14T15:00:00+00:00",
            "timestamp": 1_773_500_400,
            "status": {"long": "First Half", "short": status, "elapsed": 24},
        },
        "league": {"id": 39, "name": "Premier League", "season": 2025},
        "teams": {
            "home": {"id": 40, "name": "Liverpool", "winner": True},
            "away": {"id": 42, "name": "Arsenal", "winner": False},
        },
        "goals": {"home": 1, "away": 0},
        "events": list(entries),
        "lineups": [{"startXI": []}],
        **changed,
    }


JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [2**63, -1, 10**30, 0, "", "  ", "x\x00y", "\ud800", "\uff11\uff12", "TBD", [], {}, [None], {"id": {}}]
    ),
    st.floats(),
    st.text(st.characters(), max_size=20),
    st.lists(st.none() | st.integers() | st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=3),
)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of everything inside."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, each in inside:
        yield (*path, name)
        yield from places(each, (*path, name))


def put(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(node)
    target = changed
    for name in path[:-1]:
        target = target[name]
    target[path[-1]] = value
    return changed


@st.composite
def broken(draw: st.DrawFn, whole: Any) -> Any:
    """The same with something else in one to four places."""
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(list(places(whole)) or [()]))
        whole = put(whole, path, draw(JUNK)) if path else draw(JUNK)
    return whole

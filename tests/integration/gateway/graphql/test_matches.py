"""Matches over GraphQL: days, goals with what is known of them, videos that play, and what happens live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support import matches
from tests.support.matches import COMPLETE, SEARCHING, Statement, event_id, fixture_changed, goal_changed
from touchline.contracts.events.watch import GoalVideoDropped
from touchline.contracts.registry import Upload
from touchline.kernel import Role, Unavailable
from touchline.watch.fixtures.store import FeedCheckStore

from .documents import PLAYBACK
from .site import Person, Site
from .subscriber import listening, opened
from .test_calls import cost_of

NAMED = "query ($query: String!) { searchMatches(query: $query) { id } }"
OLD = datetime(2026, 11, 1, tzinfo=UTC)
FEED = "{ footballFeed { isEnabled answeredAt failure why hint nextTryAt } }"
DAYS = "{ matchDays { day matches live goals covered } }"
VIDEOS = "videos { artifactHash rank verified popularity vod { title playbackId status posterUrl } }"
GOAL_FIELDS = f"""
eventId matchId playerName isOwnGoal isPenalty minute extraMinute homeScore awayScore state words whySummary
why {{ code words count }} telemetry {{ attempts found downloaded validated archived failures {{ code count }}
firstVideoSeconds }} {VIDEOS}
"""
DAY = f"""
query ($day: Date!, $page: PageInput) {{ matchesConnection(day: $day, page: $page) {{
  totalCount pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }}
  edges {{ node {{ id status elapsed home {{ name goals }} goals {{ {GOAL_FIELDS} }}
    telemetry {{ goals covered coverage firstVideoP50Seconds firstVideoP95Seconds topFailure {{ words count }} }}
  }} }}
}} }}
"""
GOAL = f"query ($id: String!) {{ goal(eventId: $id) {{ {GOAL_FIELDS} }} }}"
MATCH = "query ($id: ID!) { match(id: $id) { home { name goals } goals { eventId } } }"
LIVE = """
subscription ($after: String) { liveMatches(after: $after) {
  cursor matchId eventId what attempt movedTo artifactHash replacedBy
} }
"""
REPLACE = """
UPDATE watch.videos SET state = 'replaced', rank = NULL, replaced_by = %(new)s WHERE artifact_hash = %(old)s
"""
TODAY = "2026-11-15"


async def write(site: Site, person: Person, *statements: Statement) -> None:
    async with site.world.database.transaction(person.principal) as transaction:
        await matches.write(transaction, *statements)


async def watched(site: Site, person: Person, fixture_id: int = 100, title: str = "Saka") -> tuple[str, Upload]:
    """A match with one goal that has one video, which plays."""
    tenant, named = person.principal.tenant_id, event_id(fixture_id)
    upload = await site.ready(person, title)
    await write(
        site,
        person,
        matches.match(tenant, fixture_id, home_goals=1),
        matches.goal(tenant, fixture_id, named, **COMPLETE),
        matches.video(tenant, named, upload.artifact_hash),
    )
    return named, upload


async def shown(site: Site, person: Person, **variables: Any) -> list[dict[str, Any]]:
    found = (await site.data(person, DAY, day=TODAY, **variables))["matchesConnection"]
    return [edge["node"] for edge in found["edges"]]


async def test_a_goal_is_shown_with_its_videos_and_how_it_went(site: Site) -> None:
    ada = await site.person()
    _, upload = await watched(site, ada)
    [match] = await shown(site, ada)
    [goal] = match["goals"]
    assert (match["home"], match["status"]) == ({"name": "Arsenal", "goals": 1}, "1H")
    assert (goal["playerName"], goal["minute"], goal["state"]) == ("B. Saka", 23, "complete")
    assert (goal["words"], goal["why"]) == ("Complete, 1 video", [])
    [video] = goal["videos"]
    assert (video["rank"], video["verified"], video["vod"]["title"]) == (1, True, "Saka")
    assert (video["vod"]["status"], video["vod"]["playbackId"]) == ("ready", upload.playback_id)
    assert (await site.client.get(video["vod"]["posterUrl"])).status_code == 200
    assert match["telemetry"] == {
        "goals": 1,
        "covered": 1,
        "coverage": 1.0,
        "firstVideoP50Seconds": 60.0,
        "firstVideoP95Seconds": 60.0,
        "topFailure": None,
    }
    assert (await site.data(ada, DAYS))["matchDays"] == [
        {"day": TODAY, "matches": 1, "live": 1, "goals": 1, "covered": 1}
    ]


async def test_matches_are_found_by_team_and_scorer(site: Site) -> None:
    ada, eve = await site.person(), await site.person(Role.ADMIN, site.world.theirs)
    tenant, gone = ada.principal.tenant_id, event_id(100, player_id=7)
    await watched(site, ada)
    annulled = matches.goal(tenant, 100, gone, player_name="G. Jesus")
    await write(site, ada, annulled, matches.remove(tenant, gone), matches.match(tenant, 101, kick_off=OLD))

    async def found(person: Person, query: str) -> list[str]:
        return [one["id"] for one in (await site.data(person, NAMED, query=query))["searchMatches"]]

    assert await found(ada, "arse") == ["100", "101"]  # the newest first
    assert await found(ada, "saka LIVERPOOL") == ["100"]
    assert await found(ada, "jesus") == await found(ada, "chelsea") == await found(eve, "arsenal") == []


async def test_whether_the_feed_answers_is_told(site: Site) -> None:
    ada, eve = await site.person(Role.VIEWER), await site.person(Role.ADMIN, site.world.theirs)
    never = {"isEnabled": False, "answeredAt": None, "failure": None, "why": None, "hint": None, "nextTryAt": None}
    assert (await site.data(ada, FEED))["footballFeed"] == never
    at = datetime(2026, 11, 15, 12, tzinfo=UTC)
    async with site.needs.world.database.transaction(ada.principal.tenant_id) as transaction:
        store, away = FeedCheckStore(transaction), Unavailable("the football feed cannot be reached", why="refused")
        await store.answered(at)
        await store.failed(at + timedelta(hours=1), away, at + timedelta(hours=1, seconds=8))
    failed = never | {"failure": away.what, "why": "refused", "answeredAt": "2026-11-15T12:00:00+00:00"}
    told = (await site.data(ada, FEED))["footballFeed"]
    assert told == failed | {"nextTryAt": "2026-11-15T13:00:08+00:00"}
    assert (await site.data(eve, FEED))["footballFeed"] == never  # another tenant's


async def test_a_goal_without_a_video_says_why(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    tenant, named = ada.principal.tenant_id, event_id(100)
    rejected = [matches.found(tenant, named, number, "rejected", "not_football") for number in range(3)]
    others = [matches.found(tenant, named, 3 + number, "rejected", f"another_minute: 4{number}") for number in range(2)]
    failed = matches.found(tenant, named, 5, "failed", "forbidden: 403")
    nothing = COMPLETE | {"outcome": "nothing_found", "first_archived_at": None}
    goal = matches.goal(tenant, 100, named, **nothing)
    await write(site, ada, matches.match(tenant, 100), goal, *rejected, *others, failed)
    [match] = await shown(site, ada)
    [one] = match["goals"]
    assert one["words"] == "No video"
    assert one["whySummary"] == "Not football \u00d73, clock shows another minute \u00d72, download failed: 403"
    assert one["telemetry"] == {
        "attempts": 10,
        "found": 6,
        "downloaded": 5,
        "validated": 5,
        "archived": 0,
        "failures": [
            {"code": "not_football", "count": 3},
            {"code": "another_minute", "count": 2},
            {"code": "forbidden", "count": 1},
        ],
        "firstVideoSeconds": None,
    }
    assert match["telemetry"]["coverage"] == 0
    assert match["telemetry"]["topFailure"] == {"words": "not football", "count": 3}


async def test_a_goal_that_was_taken_away_is_not_there_and_one_that_moved_is_found_by_both_ids(site: Site) -> None:
    ada = await site.person()
    tenant, (old, upload) = ada.principal.tenant_id, await watched(site, ada)
    new, annulled = event_id(100, player_id=9), event_id(100, player_id=7)
    await write(
        site,
        ada,
        matches.goal(tenant, 100, annulled, minute=70, home_score=2),
        matches.remove(tenant, annulled),
        matches.goal(tenant, 100, new, player_id=9, player_name="G. Jesus", **COMPLETE),
        matches.remove(tenant, old, "reattributed", new),
        Statement("UPDATE watch.videos SET event_id = %(new)s WHERE event_id = %(old)s", {"new": new, "old": old}),
    )
    [match] = await shown(site, ada)
    assert [goal["eventId"] for goal in match["goals"]] == [new]
    for named in (old, new):
        goal = (await site.data(ada, GOAL, id=named))["goal"]
        assert (goal["eventId"], goal["playerName"]) == (new, "G. Jesus")
        assert [video["artifactHash"] for video in goal["videos"]] == [upload.artifact_hash]
    for nothing in (annulled, event_id(101), "", "x" * 300):
        assert (await site.data(ada, GOAL, id=nothing))["goal"] is None


async def test_days_end_at_midnight_utc_and_come_by_pages(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    tenant = ada.principal.tenant_id
    times = ["2026-11-14T23:59:59Z", "2026-11-15T00:00:00Z", "2026-11-15T15:00:00Z", "2026-11-15T23:59:59Z"]
    more = [*times, "2026-11-16T00:00:00Z"]
    await write(site, ada, *(matches.match(tenant, number, kick_off=at, status="NS") for number, at in enumerate(more)))
    assert [one["id"] for one in await shown(site, ada)] == ["1", "2", "3"]
    first = (await site.data(ada, DAY, day=TODAY, page={"first": 2}))["matchesConnection"]
    assert (first["totalCount"], first["pageInfo"]["hasNextPage"]) == (3, True)
    rest = await shown(site, ada, page={"first": 2, "after": first["pageInfo"]["endCursor"]})
    assert [one["id"] for one in rest] == ["3"]
    last = await shown(site, ada, page={"last": 2})
    assert [one["id"] for one in last] == ["2", "3"]
    assert [one["day"] for one in (await site.data(ada, DAYS))["matchDays"]] == ["2026-11-16", TODAY, "2026-11-14"]


async def test_a_day_costs_the_same_however_much_happened(separate_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site = separate_site
    ada = await site.person()
    await watched(site, ada, 100)
    one = await cost_of(site, ada, monkeypatch, DAY, day=TODAY)
    for fixture_id in (101, 102):
        await watched(site, ada, fixture_id)
    assert await cost_of(site, ada, monkeypatch, DAY, day=TODAY) == one
    assert one.calls == {"GetUploads": 1, "GetArtifactStates": 1}


async def test_another_tenants_football_does_not_exist(site: Site) -> None:
    ada, eve = await site.person(Role.VIEWER), await site.person(Role.ADMIN, site.world.theirs)
    named, _ = await watched(site, eve)
    assert (await site.data(ada, DAYS))["matchDays"] == []
    assert await shown(site, ada) == []
    assert (await site.data(ada, GOAL, id=named))["goal"] is None
    assert (await site.data(ada, MATCH, id="100"))["match"] is None
    assert (await site.data(eve, MATCH, id="100"))["match"]["goals"] == [{"eventId": named}]


async def test_a_replaced_video_leads_to_the_better_copy(site: Site) -> None:
    ada = await site.person()
    tenant, (named, old) = ada.principal.tenant_id, await watched(site, ada)
    address = site.media.links.manifest(tenant, old.playback_id, old.artifact_hash).url
    better = await site.ready(ada, "Saka, better")
    await write(
        site,
        ada,
        matches.video(tenant, named, better.artifact_hash, rank=2),
        Statement(REPLACE, {"new": better.artifact_hash, "old": old.artifact_hash}),
    )
    await site.data(ada, "mutation ($h: String!) { deleteVod(artifactHash: $h) { __typename } }", h=old.artifact_hash)
    await site.settle()
    site.media.places.forget_all()
    played = (await site.data(ada, PLAYBACK, id=old.playback_id))["playback"]
    assert (played["__typename"], played["artifactHash"]) == ("Playback", better.artifact_hash)
    led = await site.client.get(address)
    assert (led.status_code, led.headers["cache-control"]) == (302, "no-store")
    assert better.artifact_hash in led.headers["location"]
    assert (await site.client.get(led.headers["location"])).status_code == 200
    assert (await site.client.get(address.replace("index.m3u8", "v0/segment-1.m4s"))).status_code == 404
    eve = await site.person(Role.ADMIN, site.world.theirs)
    assert (await site.data(eve, PLAYBACK, id=old.playback_id))["playback"]["__typename"] == "NotFoundError"
    await write(site, ada, Statement("UPDATE watch.videos SET state = 'dropped', rank = NULL WHERE rank = 2", {}))
    assert (await site.client.get(address)).status_code == 404


async def test_matches_are_followed_live(site: Site) -> None:
    ada, eve = await site.person(Role.VIEWER), await site.person(Role.VIEWER, site.world.theirs)
    named = event_id(100)
    dropped = GoalVideoDropped(
        artifact_hash="a" * 32, event_id=named, generation=1, fixture_id=100, why="replaced", replaced_by="b" * 32
    )
    told = [
        fixture_changed(100, 1),
        goal_changed(named, "searching", attempt=4),
        dropped,
        goal_changed(named, "removed"),
    ]
    async with listening(site.app) as address, opened(address) as browser:
        await browser.hello(ada.token)
        await browser.subscribe(query=LIVE)
        for person, payloads in ((eve, [goal_changed(event_id(7), "seen")]), (ada, told)):
            async with site.world.database.transaction(person.principal) as transaction:
                for payload in payloads:
                    transaction.announce(payload)
        await site.settle()
        events = [(await browser.hear())["payload"]["data"]["liveMatches"] for _ in told]
        assert [(one["matchId"], one["eventId"], one["what"], one["attempt"]) for one in events] == [
            ("100", None, "changed", None),
            ("100", named, "searching", 4),
            ("100", named, "video_dropped", None),
            ("100", named, "removed", None),
        ]
        assert (events[2]["artifactHash"], events[2]["replacedBy"]) == ("a" * 32, "b" * 32)
        await browser.subscribe(after=events[2]["cursor"], query=LIVE, name="2")
        assert (await browser.hear())["payload"]["data"]["liveMatches"] == events[3]


async def test_a_search_says_how_far_it_is(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    tenant = ada.principal.tenant_id
    named = {name: event_id(100, player_id=number) for number, name in enumerate(("searching", "seen", "unknown"))}
    await write(
        site,
        ada,
        matches.match(tenant, 100),
        matches.goal(tenant, 100, named["searching"], minute=10, **SEARCHING, search_failure="login_expired: sign in"),
        matches.goal(tenant, 100, named["seen"], minute=20),
        matches.goal(tenant, 100, named["unknown"], minute=30, player_id=None, player_name=None),
    )
    [match] = await shown(site, ada)
    assert [(goal["state"], goal["words"], goal["whySummary"]) for goal in match["goals"]] == [
        ("searching", "Searching, attempt 4 of 10", "Search unavailable: login expired"),
        ("seen", "Seen 1 of 3", ""),
        ("unidentified", "Scorer not identified", ""),
    ]

"""One goal over plain HTTP: its document, its stream of events, its videos."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.support import matches
from tests.support.matches import COMPLETE, SEARCHING, Statement, event_id, goal_changed
from touchline.contracts.events import Payload
from touchline.gateway.settings import GatewaySettings, GraphqlSettings
from touchline.kernel import Role

from .site import Needs, Person, Plan, Site, running_site
from .subscriber import listening
from .test_matches import watched, write

NAMED = event_id(100)


@dataclass(frozen=True, slots=True)
class Told:
    name: str
    position: int
    data: dict[str, Any]


class Stream:
    """What a client hears, told apart."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines: AsyncIterator[str] = response.aiter_lines()

    async def block(self) -> list[str]:
        """Up to the next empty line; nothing when the stream has ended."""
        lines: list[str] = []
        async for line in self._lines:
            if not line:
                return lines
            lines.append(line)
        return lines

    async def told(self) -> Told | None:
        """The next event, whatever keeps the connection alive in between."""
        while block := await self.block():
            fields = dict(line.split(": ", 1) for line in block)
            if "event" in fields:
                return Told(fields["event"], int(fields["id"]), json.loads(fields["data"]))
        return None

    async def alive(self) -> None:
        while await self.block() != [": alive"]:
            pass


@asynccontextmanager
async def heard(address: str, person: Person, named: str = NAMED, after: int | None = None) -> AsyncGenerator[Stream]:
    headers = person.headers | ({} if after is None else {"Last-Event-ID": str(after)})
    async with (
        httpx.AsyncClient(base_url=f"http://{address}", timeout=60, trust_env=False) as client,
        client.stream("GET", f"/goals/{named}/events", headers=headers) as response,
    ):
        yield Stream(response)


async def searched(site: Site, person: Person) -> None:
    """A goal that is being searched for."""
    tenant = person.principal.tenant_id
    await write(site, person, matches.match(tenant, 100), matches.goal(tenant, 100, NAMED, **SEARCHING))


async def happens(site: Site, person: Person, payload: Payload, *statements: Statement) -> None:
    async with site.world.database.transaction(person.principal) as transaction:
        await matches.write(transaction, *statements)
        transaction.announce(payload)
    await site.settle()


ENDED = Statement(
    "UPDATE watch.goals SET download_complete = true, outcome = 'nothing_found' WHERE event_id = %(id)s", {"id": NAMED}
)


@pytest.fixture
async def quick(needs: Needs) -> AsyncGenerator[Site]:
    """A gateway that does not stay silent for long."""
    gateway = GatewaySettings(port=4000, heartbeat=timedelta(milliseconds=50))
    async with running_site(needs, Plan(gateway=gateway, graphql=GraphqlSettings(connections_per_tenant=2))) as site:
        yield site


async def test_the_document_has_the_fields_that_its_readers_know(site: Site) -> None:
    ada = await site.person()
    named, upload = await watched(site, ada)
    await write(site, ada, matches.found(ada.principal.tenant_id, named, 1, "rejected", "not_football"))
    body = (await site.client.get(f"/goals/{named}", headers=ada.headers)).json()
    assert (body["_event_id"], body["type"], body["time"]["elapsed"]) == (named, "Goal", 23)
    assert (body["_monitor_complete"], body["_download_complete"], body["_twitter_complete"]) == (True, True, True)
    assert (len(body["_monitor_workflows"]), len(body["_download_workflows"]), body["_twitter_count"]) == (3, 10, 10)
    assert (body["_twitter_aliases"], body["_twitter_attempt"], body["_removed"]) == (["Arsenal", "Gunners"], 10, False)
    assert body["_first_seen"].startswith("2026-11-15T20:23:00")
    [found] = body["_discovered_videos"]
    assert (found["state"], found["why"], found["query"]) == ("rejected", "not_football", "Saka Arsenal")
    [kept] = body["_s3_videos"]
    assert (kept["rank"], kept["artifact_hash"], kept["file_size"]) == (1, upload.artifact_hash, 4_200_000)
    assert (body["_state"], body["_words"]) == ("complete", "Complete, 1 video")
    led = await site.client.get(kept["url"], headers=ada.headers)
    assert led.status_code == 302
    assert (await site.client.get(led.headers["location"])).text.startswith("#EXTM3U")


async def test_what_is_not_there_is_not_found_and_what_moved_is_elsewhere(site: Site) -> None:
    ada, eve = await site.person(), await site.person(Role.ADMIN, site.world.theirs)
    tenant, (old, upload) = ada.principal.tenant_id, await watched(site, ada)
    new = event_id(100, player_id=9)
    await write(
        site,
        ada,
        matches.goal(tenant, 100, new, player_id=9, **COMPLETE),
        matches.remove(tenant, old, "reattributed", new),
    )
    for rest in ("", "/events"):
        moved = await site.client.get(f"/goals/{old}{rest}", headers=ada.headers)
        assert (moved.status_code, moved.headers["location"]) == (302, f"/goals/{new}{rest}")
        foreign, unknown = [
            await site.client.get(f"/goals/{named}{rest}", headers=eve.headers) for named in (new, event_id(5))
        ]
        assert (foreign.status_code, foreign.json()["code"]) == (404, "not_found")
        assert foreign.json()["title"] == unknown.json()["title"]
    assert (await site.client.get(f"/goals/{new}")).status_code == 401
    for wrong in (upload.artifact_hash, "no-hash"):
        video = await site.client.get(f"/goals/{new}/videos/{wrong}", headers=ada.headers)
        assert video.status_code == 404, "it belongs to the other goal still, or is no video at all"


async def test_a_goal_is_followed_to_its_end(quick: Site) -> None:
    ada = await quick.person()
    await searched(quick, ada)
    async with listening(quick.app) as address:
        async with heard(address, ada) as stream:
            assert stream.response.headers["content-type"] == "text/event-stream; charset=utf-8"
            first = await stream.told()
            assert first
            assert (first.name, first.data["_words"]) == ("goal", "Searching, attempt 4 of 10")
            await stream.alive()
            await happens(quick, ada, goal_changed(event_id(100, player_id=2), "seen"))
            further = Statement("UPDATE watch.goals SET twitter_attempt = 5", {})
            await happens(quick, ada, goal_changed(NAMED, "searching", attempt=5), further)
            told = await stream.told()
            assert told
            assert (told.name, told.data["goal"]["_twitter_attempt"]) == ("searching", 5)
        await happens(quick, ada, goal_changed(NAMED, "searched", attempt=5))
        await happens(quick, ada, goal_changed(NAMED, "complete", outcome="nothing_found"), ENDED)
        async with heard(address, ada, after=told.position) as stream:  # it was away meanwhile
            missed = [await stream.told(), await stream.told()]
            assert [one and one.name for one in missed] == ["searched", "complete"]
            assert await stream.told() is None
        assert missed[1]
        async with heard(address, ada, after=missed[1].position) as stream:
            assert stream.response.status_code == 204, "there is no more, and it need not come back"
        async with heard(address, ada) as stream:
            only = await stream.told()
            assert only
            assert (only.name, only.data["_download_complete"]) == ("goal", True)
            assert await stream.told() is None


async def test_a_goal_that_is_taken_away_ends_its_stream(quick: Site) -> None:
    ada = await quick.person()
    await searched(quick, ada)
    async with listening(quick.app) as address:
        async with heard(address, ada) as stream:
            assert await stream.told()
            annulled = matches.remove(ada.principal.tenant_id, NAMED)
            await happens(quick, ada, goal_changed(NAMED, "removed"), annulled)
            told = await stream.told()
            assert told
            assert (told.name, told.data["goal"]) == ("removed", None)
            assert await stream.told() is None
        async with heard(address, ada, after=told.position) as stream:
            assert stream.response.status_code == 404


async def test_streams_are_bounded_and_positions_that_nobody_knows_begin_anew(quick: Site) -> None:
    ada = await quick.person()
    await searched(quick, ada)
    async with listening(quick.app) as address, heard(address, ada, after=10**17) as one:
        first = await one.told()
        assert first
        assert first.name == "goal"
        async with heard(address, ada) as other:
            assert await other.told()
            async with heard(address, ada) as refused:
                assert refused.response.status_code == 429
        async with heard(address, replace(ada, token="tl_nobody")) as stranger:
            assert stranger.response.status_code == 401

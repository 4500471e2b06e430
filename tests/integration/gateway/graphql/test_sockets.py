"""Live events over a real connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from websockets.exceptions import InvalidStatus

from tests.support.wait import LOOK_AGAIN_S
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType, OriginalReturned, OriginalVanished
from touchline.contracts.events.streams import StreamEnded, StreamLive
from touchline.contracts.registry import NewStream
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.graphql import http
from touchline.gateway.graphql.feeds import CloseReason
from touchline.gateway.metrics import LIVE_CLOSINGS, LIVE_CONNECTIONS
from touchline.gateway.settings import GraphqlSettings
from touchline.kernel import Role, new_artifact_hash, new_internal_name
from touchline.serve.artifacts import transitions

from .documents import VOD
from .site import Needs, Person, Plan, Site, running_site
from .subscriber import LIVE, TIMEOUT_S, Socket, listening, opened

MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class LiveSite:
    site: Site
    address: str

    async def lifecycle(self, person: Person, *percents: int, artifact_type: ArtifactType = ArtifactType.UPLOAD) -> str:
        """As many events of one artifact, in one transaction."""
        artifact_hash = new_artifact_hash()
        async with self.site.world.database.transaction(person.principal) as transaction:
            for revision, percent in enumerate(percents, 1):
                event = ArtifactLifecycle(
                    artifact_hash=artifact_hash,
                    artifact_type=artifact_type,
                    internal_name=new_internal_name(),
                    user_id=person.principal.user_id,
                    status="processing",
                    progress_percent=percent,
                )
                transaction.announce(event, revision=revision)
        while await self.site.sequencer.step() > 0:
            pass
        return artifact_hash


@pytest.fixture
async def live(site: Site) -> AsyncGenerator[LiveSite]:
    async with listening(site.app) as address:
        yield LiveSite(site, address)


async def connected(socket: Socket, person: Person, after: str | None = None) -> None:
    await socket.hello(person.token)
    await socket.subscribe(after)


# --- what comes


async def test_an_upload_is_followed_from_its_first_moment(live: LiveSite) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await connected(browser, ada)
        upload = await live.site.upload(ada)
        await live.site.settle()
        registered, requested_or_uploading = await browser.events(2)
        assert (registered["stage"], registered["revision"], registered["title"]) == ("registered", 0, "A match")
        assert (requested_or_uploading["stage"], requested_or_uploading["revision"]) == ("uploading", 2)
        assert {registered["artifactHash"], requested_or_uploading["artifactHash"]} == {upload.artifact_hash}
        async with live.site.world.database.transaction(ada.principal) as transaction:
            await transitions.delete(transaction, upload.artifact_hash, live.site.world.clock.now())
        await live.site.settle()
        deleted = await browser.event()
        assert (deleted["stage"], deleted["sizeBytes"], deleted["error"]) == ("deleted", 1000.0, None)
        assert deleted["occurredAt"].endswith("+00:00")


async def test_a_new_title_is_told_with_the_revision_that_reads_have(live: LiveSite) -> None:
    site = live.site
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    upload = await site.ready(ada)
    async with opened(live.address) as browser, opened(live.address) as theirs, opened(live.address) as clips:
        await connected(browser, ada)
        await connected(theirs, eve)
        await clips.hello(ada.token)
        await clips.subscribe(query=LIVE.replace("liveVodLifecycle", "liveClipLifecycle"))
        for revision, player in ((1, "B. Saka"), (2, "J. Gómez"), (1, "B. Saka"), (2, "J. Gómez")):
            await site.label(ada, upload, player, revision)
        told = await browser.events(2)
        read = (await site.data(ada, VOD, hash=upload.artifact_hash))["vod"]
        assert [event["title"] for event in told] == [
            f"Arsenal 1-0 Liverpool, {who} 23'" for who in ("B. Saka", "J. Gómez")
        ]
        assert {(event["stage"], event["revision"], event["artifactHash"]) for event in told} == {
            ("renamed", 0, upload.artifact_hash)
        }
        assert told[0]["titleRevision"] < told[1]["titleRevision"] == read["titleRevision"]
        assert (read["title"], read["status"]) == (told[1]["title"], "ready")
        await live.lifecycle(ada, 11)
        await live.lifecycle(eve, 22)
        await live.lifecycle(ada, 33, artifact_type=ArtifactType.CLIP)
        after = [(await each.event())["progressPercent"] for each in (browser, theirs, clips)]
        assert after == [11, 22, 33]  # nobody was told anything else meanwhile


async def test_it_goes_on_behind_the_last_cursor_without_gap_or_repeat(live: LiveSite) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await connected(browser, ada)
        await live.lifecycle(ada, *range(1, 6))
        first = await browser.events(3)  # two more are on their way when the connection ends
    await live.lifecycle(ada, 6, 7)
    async with opened(live.address) as browser:
        await connected(browser, ada, first[-1]["cursor"])
        await live.lifecycle(ada, 8)
        rest = await browser.events(5)
    assert [event["progressPercent"] for event in first + rest] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len({event["cursor"] for event in first + rest}) == 8


async def test_what_happens_between_hello_and_subscribe_is_not_lost(live: LiveSite) -> None:
    """The page loads its list when it is connected: whatever the list does not show must come."""
    ada = await live.site.person()
    await live.lifecycle(ada, 1)
    async with opened(live.address) as browser:
        await browser.hello(ada.token)
        await live.lifecycle(ada, 2)
        await browser.subscribe()
        assert (await browser.event())["progressPercent"] == 2


async def test_other_tenants_and_other_kinds_are_not_seen(live: LiveSite) -> None:
    ada, eve = await live.site.person(), await live.site.person(tenant=live.site.world.theirs)
    async with opened(live.address) as ours, opened(live.address) as theirs:
        await connected(ours, ada)
        await connected(theirs, eve)
        await live.lifecycle(eve, 66)
        await live.lifecycle(ada, 33, artifact_type=ArtifactType.CLIP)
        await live.lifecycle(ada, 11)
        assert (await ours.event())["progressPercent"] == 11
        assert (await theirs.event())["progressPercent"] == 66


STREAM_EVENT = "cursor streamId what sessionId reason problem revision"


async def test_streams_are_followed_from_creation_to_refusal(live: LiveSite) -> None:
    site = live.site
    ada = await site.person()
    registry = site.serve.registry_client
    async with opened(live.address) as all_of_hers, opened(live.address) as one_of_hers:
        await all_of_hers.hello(ada.token)
        await all_of_hers.subscribe(query=f"subscription {{ liveStreams {{ {STREAM_EVENT} }} }}")
        await registry.create_stream(ada.principal, NewStream("other", "Another match"))
        stream = (await registry.create_stream(ada.principal, NewStream("one", "The derby"))).stream
        await one_of_hers.hello(ada.token)
        await one_of_hers.subscribe(
            query=f'subscription {{ liveStreams(streamId: "{stream.id}") {{ {STREAM_EVENT} }} }}'
        )
        session: dict[str, Any] = {"stream_id": stream.id, "session_id": UUID(int=7), "node_id": "node"}
        async with site.world.database.transaction(ada.principal) as transaction:
            transaction.announce(StreamLive(**session), revision=2)
            transaction.announce(StreamEnded(**session, reason="refused", problem="the codec is HEVC"), revision=3)
        await site.settle()
        heard = [await all_of_hers.event() for _ in range(4)]
        assert [event["what"] for event in heard] == ["created", "created", "live", "ended"]
        assert {event["streamId"] for event in heard[1:]} == {str(stream.id)}
        last = heard[-1]
        assert (last["reason"], last["problem"], last["sessionId"]) == (
            *("refused", "the codec is HEVC"),
            str(UUID(int=7)),
        )
        assert await one_of_hers.events(3) == heard[1:], "and nothing of the other one"


STORAGE = """
subscription ($hash: String, $after: String) {
  liveStorageEvents(artifactHash: $hash, after: $after) {
    cursor artifactHash artifactType type stage synced localCopies storageLocation isFrozen sizeBytes revision
    occurredAt
  }
}
"""


async def test_storage_is_followed_from_upload_to_loss_and_return(live: LiveSite) -> None:
    site = live.site
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    async with opened(live.address) as all_of_hers, opened(live.address) as theirs:
        for browser, person in ((all_of_hers, ada), (theirs, eve)):
            await browser.hello(person.token)
            await browser.subscribe(query=STORAGE)
        upload = await site.upload(ada)
        async with site.world.database.transaction(ada.principal) as transaction:
            completing = ArtifactStatus.COMPLETING
            await transitions.move(transaction, upload.artifact_hash, completing, (ArtifactStatus.UPLOADING,))
            stored = await transitions.store_original(transaction, upload.artifact_hash)
            assert stored is not None
            lost = {"artifact_hash": upload.artifact_hash, "original_key": stored.original_key}
            transaction.announce(OriginalVanished(**lost, missing_since=site.world.clock.now()), revision=90)
            transaction.announce(OriginalReturned(**lost), revision=91)
        await site.settle()
        told: list[dict[str, Any]] = []
        while not told or told[-1]["type"] != OriginalReturned.event_type:
            told.append(await all_of_hers.event())
        assert [(event["type"], event["synced"]) for event in told if event["type"] != "artifact.lifecycle"] == [
            ("artifact.original_stored", True),
            ("artifact.original_vanished", False),
            ("artifact.original_returned", True),
        ]
        assert {event["artifactHash"] for event in told} == {upload.artifact_hash}
        assert (told[0]["stage"], told[0]["synced"], told[0]["artifactType"]) == ("uploading", False, "upload")
        async with opened(live.address) as again:
            await again.hello(ada.token)
            await again.say(
                "subscribe",
                id="1",
                payload={"query": STORAGE, "variables": {"hash": upload.artifact_hash, "after": told[1]["cursor"]}},
            )
            assert await again.events(len(told) - 2) == told[2:]
        own = await live.lifecycle(eve, 1)
        assert (await theirs.event())["artifactHash"] == own  # of hers nothing was told


async def test_recordings_have_a_subscription_of_their_own(live: LiveSite) -> None:
    ada = await live.site.person()
    query = LIVE.replace("liveVodLifecycle", "liveDvrLifecycle").replace("artifactHash", "dvrHash artifactHash")
    async with opened(live.address) as browser:
        await browser.hello(ada.token)
        await browser.subscribe(query=query)
        await live.lifecycle(ada, 1)
        recording = await live.lifecycle(ada, 2, 3, artifact_type=ArtifactType.DVR)
        first, second = await browser.events(2)
        assert [first["progressPercent"], second["progressPercent"]] == [2, 3]
        assert {first["dvrHash"], first["artifactHash"]} == {recording}
    async with opened(live.address) as browser:
        await browser.hello(ada.token)
        await browser.subscribe(first["cursor"], query)
        assert await browser.event() == second


async def test_several_subscriptions_share_a_connection_and_end_one_by_one(live: LiveSite) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await connected(browser, ada)
        await browser.subscribe(name="2")
        await live.lifecycle(ada, 1)
        assert {(await browser.hear())["id"] for _ in range(2)} == {"1", "2"}
        await browser.say("complete", id="1")
        await browser.say("ping")
        assert (await browser.hear())["type"] == "pong"
        await live.lifecycle(ada, 2)
        assert (await browser.hear())["id"] == "2"


# --- cursors


async def test_a_wrong_cursor_ends_the_subscription_and_not_the_connection(live: LiveSite) -> None:
    ada, eve = await live.site.person(), await live.site.person(tenant=live.site.world.theirs)
    async with opened(live.address) as browser:
        await connected(browser, eve)
        await live.lifecycle(eve, 1)
        theirs = (await browser.event())["cursor"]
    async with opened(live.address) as browser:
        await browser.hello(ada.token)
        for cursor in (theirs, "nonsense", "1"):
            await browser.subscribe(cursor)
            assert await browser.refusal() == "invalid_input"
            assert (await browser.hear())["type"] == "complete"
        await browser.subscribe()
        await live.lifecycle(ada, 2)
        assert (await browser.event())["progressPercent"] == 2


async def test_a_cursor_that_the_log_no_longer_reaches(live: LiveSite) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await connected(browser, ada)
        await live.lifecycle(ada, 1, 2)
        old = (await browser.event())["cursor"]
    async with live.site.world.database.system("test: as if archived") as transaction:
        await transaction.connection.execute("UPDATE platform.event_head SET oldest = position + 1")
    async with opened(live.address) as browser:
        await connected(browser, ada, old)
        assert await browser.refusal() == "invalid_input"


# --- who is there


@pytest.mark.parametrize("payload", [{}, {"accessToken": "nonsense"}, {"accessToken": 5}, {"accessToken": None}])
async def test_without_a_token_nobody_is_let_in(live: LiveSite, payload: dict[str, Any]) -> None:
    async with opened(live.address) as browser:
        await browser.say("connection_init", payload=payload)
        assert await browser.closing() == CloseReason.NOT_SIGNED_IN.value


async def test_nothing_is_said_before_the_hello(live: LiveSite) -> None:
    async with opened(live.address) as browser:
        await browser.subscribe()
        assert (await browser.closing())[0] == 4401


async def test_a_session_lasts_as_long_as_its_token(needs: Needs) -> None:
    plan = Plan(graphql=GraphqlSettings(recheck_every=20 * MILLISECOND))
    async with running_site(needs, plan) as site, listening(site.app) as address:
        signed_in = await site.world.sign_in(await site.world.user())
        async with opened(address) as browser:
            await browser.hello(signed_in.access_token)
            await browser.subscribe()
            await browser.say("ping")
            assert (await browser.hear())["type"] == "pong"
            site.world.later(hours=1)
            assert await browser.closing() == CloseReason.NOT_SIGNED_IN.value
        async with opened(address) as browser:
            await browser.say("connection_init", payload={"accessToken": signed_in.access_token})
            assert await browser.closing() == CloseReason.NOT_SIGNED_IN.value


async def test_a_revoked_api_token_ends_its_connections(needs: Needs) -> None:
    plan = Plan(graphql=GraphqlSettings(recheck_every=20 * MILLISECOND))
    async with running_site(needs, plan) as site, listening(site.app) as address:
        ada = await site.person()
        tokens = site.world.auth.administration.tokens
        [token] = (await tokens.listed(COMMAND_LINE, ada.principal.tenant_id, ada.principal.user_id)).items
        async with opened(address) as browser:
            await connected(browser, ada)
            await tokens.revoke(COMMAND_LINE, ada.principal.tenant_id, token.id)
            assert await browser.closing() == CloseReason.NOT_SIGNED_IN.value


async def test_a_tenant_has_so_many_connections_and_no_more(needs: Needs) -> None:
    async with (
        running_site(needs, Plan(graphql=GraphqlSettings(connections_per_tenant=2))) as site,
        listening(site.app) as address,
    ):
        ada, eve = await site.person(Role.VIEWER), await site.person(Role.VIEWER, site.world.theirs)
        async with opened(address) as one, opened(address) as two, opened(address) as three:
            await one.hello(ada.token)
            await two.hello(ada.token)
            await three.say("connection_init", payload={"accessToken": ada.token})
            assert await three.closing() == CloseReason.TOO_MANY.value
            async with opened(address) as other:
                await other.hello(eve.token)
            before = connections()
            await one.connection.close()
            await until(lambda: connections() < before)
            async with opened(address) as next_one:
                await next_one.hello(ada.token)


async def test_who_stays_silent_is_closed(needs: Needs) -> None:
    plan = Plan(graphql=GraphqlSettings(hello_timeout=20 * MILLISECOND))
    async with running_site(needs, plan) as site, listening(site.app) as address, opened(address) as browser:
        assert (await browser.closing())[0] == 4408


async def test_a_crowd_of_the_silent_keeps_nobody_out(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has waited for longest without a word makes room; who said hello does not count."""
    monkeypatch.setattr(http, "MOST_SILENT", 2)
    ada = await live.site.person()
    async with opened(live.address) as known, AsyncExitStack() as stack:
        await known.hello(ada.token)
        crowd = [await stack.enter_async_context(opened(live.address)) for _ in range(4)]
        for first in crowd[:2]:
            async with asyncio.timeout(TIMEOUT_S):
                await first.connection.wait_closed()
        for still in (*crowd[2:], known):
            await still.say("ping")
            assert (await still.hear())["type"] == "pong"
        await crowd[3].hello(ada.token)


# --- what may be said


async def test_pages_of_other_sites_cannot_connect(live: LiveSite) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with opened(live.address, origin="https://evil.example"):
            pass
    assert refused.value.response.status_code == 403
    async with opened(live.address, origin=f"http://{live.address}") as browser:
        await browser.hello((await live.site.person()).token)


async def test_only_subscriptions_pass(live: LiveSite) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await browser.hello(ada.token)
        for query in ("{ me { email } }", 'mutation { deleteVod(artifactHash: "x") { __typename } }'):
            await browser.subscribe(query=query)
            assert await browser.refusal() == "invalid_input"
        await browser.subscribe(query=LIVE.replace("cursor", "cursor curser"))
        assert await browser.refusal() == "invalid_input"
        deep = "subscription { liveVodLifecycle { " + " ".join(f"a{n}: cursor" for n in range(50)) + " } }"
        await browser.subscribe(query=deep)
        assert await browser.refusal() == "limit_exceeded"


@pytest.mark.parametrize(
    "message",
    [
        "nonsense",
        "[]",
        "5",
        "null",
        '{"type": 5}',
        '{"type": "unheard of"}',
        '{"type": "subscribe", "id": "1", "payload": null}',
        '{"type": "subscribe", "id": ["1"], "payload": {"query": "x"}}',
        "[" * 50_000,
    ],
)
async def test_nonsense_ends_the_connection_and_nothing_else(
    live: LiveSite, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await browser.hello(ada.token)
        await browser.connection.send(message)
        assert (await browser.closing())[0] == 4400
    assert not [record for record in caplog.records if record.exc_info]


async def test_subscriptions_of_one_connection_are_limited(needs: Needs) -> None:
    plan = Plan(graphql=GraphqlSettings(subscriptions_per_connection=1))
    async with running_site(needs, plan) as site, listening(site.app) as address, opened(address) as browser:
        await connected(browser, await site.person())
        await browser.subscribe(name="2")
        assert (await browser.hear())["type"] == "error"


# --- who does not keep up


async def test_a_client_that_does_not_read_is_closed_and_can_go_on(needs: Needs) -> None:
    """Its queue and every buffer on the way are small, so that little is needed to fill them."""
    settings = GraphqlSettings(queue_events=4, queue_timeout=timedelta(seconds=2))
    async with running_site(needs, Plan(graphql=settings)) as site, listening(site.app, send_buffer=4096) as address:
        live, ada = LiveSite(site, address), await site.person()
        small = socket.socket()
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        small.setblocking(False)
        host, port = address.split(":")
        await asyncio.get_running_loop().sock_connect(small, (host, int(port)))
        async with opened(address, sock=small, max_queue=1, compression=None) as slow, opened(address) as quick:
            await connected(slow, ada)
            await connected(quick, ada)
            await live.lifecycle(ada, 0)
            begun = (await slow.event())["cursor"]
            assert (await quick.event())["progressPercent"] == 0
            taking = asyncio.ensure_future(quick.events(1000))
            before = closings(CloseReason.TOO_SLOW)
            await live.lifecycle(ada, *range(1, 1001))
            assert [event["progressPercent"] for event in await taking] == list(range(1, 1001))
            await until(lambda: closings(CloseReason.TOO_SLOW) > before)
            seen, closed = await slow.until_closed()
            assert closed == CloseReason.TOO_SLOW.value
            assert [event["progressPercent"] for event in seen] == list(range(1, len(seen) + 1))
        async with opened(address) as again:
            await connected(again, ada, begun)
            assert [event["progressPercent"] for event in await again.events(1000)] == list(range(1, 1001))


async def until(look: Callable[[], bool]) -> None:
    while not look():
        await asyncio.sleep(LOOK_AGAIN_S)


def connections() -> float:
    return LIVE_CONNECTIONS._value.get()


def closings(closing: CloseReason) -> float:
    return LIVE_CLOSINGS.labels(closing.name.lower())._value.get()


async def test_nothing_is_left_when_everybody_has_gone(live: LiveSite) -> None:
    ada = await live.site.person()
    async with opened(live.address) as browser:
        await connected(browser, ada)
        await live.lifecycle(ada, 1)
        await browser.event()
    await until(lambda: not connections())
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not names & {"live feed", "beside a live connection", "close a live connection"}


def test_reasons_fit_into_a_close_frame() -> None:
    assert all(len(closing.reason.encode()) <= 123 for closing in CloseReason)
    assert len({closing.code for closing in CloseReason}) == len(CloseReason)

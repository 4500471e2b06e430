"""Two tenants who know nothing of each other: one asks, the other has something to hide."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict

from tests.integration.gateway.conftest import SECRET
from tests.integration.gateway.graphql.processed import processed
from tests.integration.gateway.graphql.site import Needs, Person, Plan, Site, running_site
from tests.integration.gateway.graphql.subscriber import listening
from tests.support import matches
from tests.support.matches import event_id
from tests.support.measure import Measuring
from tests.support.postgres import PostgresServer
from tests.support.sessions import NOON, trace
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType
from touchline.contracts.events.streams import StreamEnded
from touchline.contracts.events.videos import JobChanged
from touchline.contracts.events.watch import GoalVideoDropped
from touchline.contracts.registry import NewClip, NewRecording, NewStream, Upload
from touchline.gateway.composition import DataSources
from touchline.gateway.graphql.clips import CLIP
from touchline.gateway.graphql.lifecycle import LIVE_CURSOR
from touchline.gateway.graphql.pages import Cursors, global_id
from touchline.gateway.graphql.serve import VOD, VOD_LIST, place_of
from touchline.gateway.settings import GraphqlSettings
from touchline.kernel import (
    ArtifactHash,
    NotFound,
    Role,
    Scope,
    new_artifact_hash,
    new_internal_name,
    new_playback_id,
    video_id,
)
from touchline.process.queue.alerts import QueueMonitor as QueueWatch
from touchline.process.queue.jobs import ClipGeneratePayload
from touchline.process.queue.service import JobAdministration, enqueue
from touchline.process.search.store import FIRST_PAGE as PLACE
from touchline.process.settings import AlertSettings
from touchline.serve.artifacts import transitions

from .matrix import Ids, Sides
from .subscription_cases import Stage

# The generated operations select everything and name it, so that unions cannot get in each other's way.
PLAN = Plan(graphql=GraphqlSettings(max_aliases=10_000, max_cost=1_000_000, max_tokens=100_000))
MARK = "a secret of the other tenant"
WORD = "typenameofanother"
# What stands in the other tenant's videos: the matrix asks for the first word.
SHOWN = f"typename {WORD}: {MARK}"
# The matrix itself lets the other tenant announce something while subscriptions are tried.
STIRRED = {("platform", "events"), ("platform", "event_inbox")}
# Whatever becomes of a request, it is noted when its token was last used.
NOTED = {("access", "api_tokens")}

ASKING = "{ vodsConnection { totalCount } }"

WALLED = """
SELECT n.nspname, c.relname
  FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
 WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%'
 ORDER BY 1, 2
"""
CONTENT = """
SELECT {name}, md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {table} AS t WHERE tenant_id = {tenant}
"""


@dataclass(frozen=True, slots=True)
class Tenants:
    site: Site
    ada: Person  # asks
    eve: Person  # has something to hide
    sides: Sides
    stage: Stage
    rows: Callable[[], Awaitable[Any]]  # all that the one who asks has in the database

    @property
    def sources(self) -> DataSources:
        """What the gateway asks."""
        return self.site.parts.graphql.sources


@asynccontextmanager
async def looking(site: Site, server: PostgresServer) -> AsyncGenerator[AsyncConnection]:
    """Past all walls. One for all looks: a new one would have to learn of every table first."""
    database = conninfo_to_dict(site.world.postgres.app_url)["dbname"]
    async with await AsyncConnection.connect(server.superuser(str(database)), autocommit=True) as connection:
        yield connection


@asynccontextmanager
async def two_tenants(needs: Needs, server: PostgresServer) -> AsyncGenerator[Tenants]:
    async with running_site(needs, PLAN) as site, listening(site.app) as address, looking(site, server) as connection:
        scopes = (Scope.READ, Scope.WRITE, Scope.ADMIN)
        ada = await site.person(Role.ADMIN, site.world.ours, *scopes)
        eve = await site.person(Role.ADMIN, site.world.theirs, *scopes)
        mine = await site.ready(ada, "A title of one's own")
        theirs = [await _owned(site, eve, mine, state) for state in ("uploading", "ready", "deleted")]
        await QueueWatch(site.world.database, AlertSettings(dead_letters=0), site.world.clock).run_pass()
        theirs = await _with_clips(site, eve, theirs)
        await site.settle()
        secrets = frozenset(value for ids in theirs for value in ids.values()) - {theirs[0]["own_media_token"]} | {
            MARK,
            WORD,
        }
        unknown = _ids(site, eve, _nothing_like(mine), uuid4().hex, f"{uuid4().hex}@example.org", "another secret")
        unknown |= {"stream_id": str(uuid4()), "dvr_hash": uuid4().hex}
        unknown |= {"job_id": str(uuid4()), "match_id": "999", "event_id": event_id(999), "session_id": "no|session"}
        unknown |= {"share_link_id": str(uuid4()), "tenant_id": str(uuid4())}
        watch = Watch(site, connection, eve, [ids["artifact_hash"] for ids in theirs])
        sides = Sides(theirs, unknown | {"own_media_token": theirs[0]["own_media_token"]}, secrets, watch.look)
        stage = Stage(address, ada.token, _stirring(site, ada, eve))
        yield Tenants(site, ada, eve, sides, stage, lambda: Watch(site, connection, ada, []).rows(NOTED))
        assert (await site.data(ada, ASKING))["vodsConnection"], "all the time she could ask"


async def _owned(site: Site, eve: Person, mine: Upload, state: str) -> Ids:
    key, email = uuid4().hex, f"{state}@theirs.example"
    await site.world.user(Role.EDITOR, site.world.theirs, email)
    make = site.upload if state == "uploading" else site.ready
    upload = await make(eve, f"{MARK}: {state}", key)
    await processed(site, eve, upload, [SHOWN, "#secret"])
    job_id = await _dead_job(site, eve, upload)
    if state == "deleted":
        async with site.world.database.transaction(eve.principal) as transaction:
            await transitions.delete(transaction, upload.artifact_hash, site.world.clock.now())
    token = site.media.links.manifest(site.world.ours.id, mine.playback_id, mine.artifact_hash).url.split("/")[2]
    football, measured = await _watched(site, eve, upload), await _measured(site, eve)
    shared = await _shared(site, eve, upload)
    owned = {"own_media_token": token, "job_id": job_id} | football | measured | shared
    return _ids(site, eve, upload, key, email) | owned


async def _watched(site: Site, eve: Person, upload: Upload) -> dict[str, str]:
    """A match with a goal whose video it is."""
    tenant, number = eve.principal.tenant_id, uuid4().int % 10**12
    named = event_id(number)
    async with site.world.database.transaction(eve.principal) as transaction:
        await matches.write(
            transaction,
            matches.match(tenant, number, home_name=MARK),
            matches.goal(tenant, number, named, player_name=MARK, **matches.SEARCHING),
            matches.found(tenant, named, 1, "failed", MARK),
            matches.video(tenant, named, upload.artifact_hash),
        )
    return {"match_id": str(number), "event_id": named}


async def _shared(site: Site, eve: Person, upload: Upload) -> dict[str, str]:
    """A share link of it, which is no id of anything."""
    playback = site.serve.playback_client
    try:
        link = (await playback.create_share_link(eve.principal, upload.artifact_hash)).link
    except NotFound:  # deleted
        return {"share_link_id": str(uuid4()), "tenant_id": str(eve.principal.tenant_id)}
    return {"share_link_id": str(link.id), "tenant_id": str(eve.principal.tenant_id)}


async def _measured(site: Site, eve: Person) -> dict[str, str]:
    """A session, and something that could not be read."""
    measuring, stream = Measuring(site.world.database, site.needs.analytics, eve.principal.tenant_id), uuid4().hex
    begun = trace(stream, NOON, "gateway_receive_stream_request", stream_id=stream, request_id=MARK)
    await measuring.deliver(stream, [begun | {"gateway": MARK}, {"type": "stream_trace", "data": MARK}])
    await measuring.fold()
    return {"session_id": f"{stream}|{MARK}"}


async def _dead_job(site: Site, eve: Person, upload: Upload) -> str:
    """Beside the one that waits: a clip that was cancelled for a reason that nobody else may read."""
    video, original = video_id(upload.artifact_hash), f"videos/original/{video_id(upload.artifact_hash)}/master.mp4"
    wanted = ClipGeneratePayload(video_id=video, s3_original_path=original, clip_id=uuid4(), t_start=0, t_end=1000)
    async with site.world.database.transaction(eve.principal) as transaction:
        job = await enqueue(transaction, wanted)
    assert job
    await JobAdministration(site.world.database).cancel(eve.principal, job.id, "eve", MARK)
    return str(job.id)


async def _with_clips(site: Site, eve: Person, theirs: Sequence[Ids]) -> list[Ids]:
    """A clip beside each upload, all of the one that plays; the last is deleted again."""
    source, registry = ArtifactHash(theirs[1]["artifact_hash"]), site.serve.registry_client
    hashes: list[ArtifactHash] = []
    for number in range(len(theirs)):
        new = NewClip(source, number, number + 1000, title=f"{MARK}: clip {number}", requested_params={"secret": MARK})
        hashes.append((await registry.create_clip(eve.principal, new)).clip.artifact_hash)
    await registry.delete_clip(eve.principal, hashes[-1])
    named = [{**ids, "clip_hash": clip, **await _streamed(site, eve)} for ids, clip in zip(theirs, hashes, strict=True)]
    return [named[0] | {"global_id": global_id(CLIP, hashes[0])}, *named[1:]]


async def _streamed(site: Site, eve: Person) -> dict[str, str]:
    """A stream, and a recording of it."""
    registry = site.serve.registry_client
    stream = (await registry.create_stream(eve.principal, NewStream(uuid4().hex, MARK, MARK))).stream
    recording = await registry.register_dvr(eve.principal, NewRecording(stream.id, MARK, MARK))
    return {"stream_id": str(stream.id), "dvr_hash": recording.artifact_hash}


def _ids(site: Site, eve: Person, upload: Upload, key: str, email: str, secret: str = SECRET) -> dict[str, str]:
    """All that an upload can be asked for by. Cursors of another secret look the same and lead nowhere."""
    cursors, tenant_id = Cursors(secret), eve.principal.tenant_id
    return {
        "artifact_hash": upload.artifact_hash,
        "playback_id": upload.playback_id,
        "internal_name": upload.internal_name,
        "global_id": global_id(VOD, upload.artifact_hash),
        "list_cursor": cursors.of(tenant_id, VOD_LIST).seal(place_of(upload)),
        "video_id": str(video_id(upload.artifact_hash)),
        "search_cursor": cursors.of(tenant_id, "search relevance { __typename }").seal(PLACE.to_bytes()),
        "live_cursor": cursors.of(tenant_id, LIVE_CURSOR).seal((1).to_bytes(8)),
        "idempotency_key": key,
        "email": email,
        "clip_hash": new_artifact_hash(),
    }


def _nothing_like(upload: Upload) -> Upload:
    fresh = {"artifact_hash": new_artifact_hash(), "playback_id": new_playback_id()}
    return replace(upload, **fresh, internal_name=new_internal_name())


def _stirring(site: Site, ada: Person, eve: Person) -> Callable[[], Awaitable[str]]:
    async def change(person: Person) -> str:
        event = ArtifactLifecycle(
            artifact_hash=new_artifact_hash(),
            artifact_type=ArtifactType.UPLOAD,
            internal_name=new_internal_name(),
            user_id=person.principal.user_id,
            status="processing",
            error_message=MARK if person is eve else None,
        )
        job = JobChanged(
            job_id=uuid4(),
            job_type="transcode",
            video_id=UUID(event.artifact_hash),
            status="failed",
            attempt=1,
            retry_count=0,
            error_message=event.error_message,
        )
        football = GoalVideoDropped(
            artifact_hash=event.artifact_hash,
            event_id=MARK if person is eve else event_id(1),
            generation=1,
            fixture_id=1,
            why="annulled",
        )
        problem = MARK if person is eve else ""
        stream = StreamEnded(stream_id=uuid4(), session_id=uuid4(), node_id="node", reason="refused", problem=problem)
        async with site.world.database.transaction(person.principal) as transaction:
            transaction.announce(job)
            transaction.announce(football)
            transaction.announce(stream)
            transaction.announce(event)
        return event.artifact_hash

    async def stir() -> str:
        await change(eve)
        changed = await change(ada)
        await site.sequencer.step()
        return changed

    return stir


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks at everything that a tenant has, past all walls."""

    site: Site
    connection: AsyncConnection
    person: Person
    hashes: list[str]

    async def look(self) -> Any:
        return [await self.rows(STIRRED), await self._objects()]

    async def rows(self, left_out: Collection[tuple[str, str]]) -> list[Any]:
        """One line for each table."""
        tables = await (await self.connection.execute(WALLED)).fetchall()
        parts = [
            sql.SQL(CONTENT).format(
                name=sql.Literal(f"{schema}.{table}"),
                table=sql.Identifier(schema, table),
                tenant=sql.Literal(self.person.principal.tenant_id),
            )
            for schema, table in tables
            if (schema, table) not in left_out
        ]
        return await (await self.connection.execute(sql.SQL(" UNION ALL ").join(parts))).fetchall()

    async def _objects(self) -> list[Any]:
        objects = self.site.needs.objects
        stored = [(one.key, one.etag) for one in (await objects.list("")).objects]
        sending = [(one.key, one.id) for one in (await objects.uploads.list()).uploads]
        names = [str(video_id(ArtifactHash(one))) for one in self.hashes] + self.hashes
        return [one for one in stored + sending if any(name in one[0] for name in names)]

"""The archive of a goal with everything real: tables, objects, and a Temporal server that runs the UploadWorkflow."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import md5
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from tests.support.histories import keep
from touchline.contracts.tenants import Owner
from touchline.kernel import ManualClock, TenantId, UserId
from touchline.media.fingerprint.formats import to_text
from touchline.media.fingerprint.model import Fingerprint
from touchline.platform.endpoints import Endpoints, PostgresEndpoint, TemporalEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.settings import TemporalSettings
from touchline.platform.temporal.client import connect, ensure_namespace
from touchline.watch.archive.activities import ArchiveActivities
from touchline.watch.archive.service import upload_id
from touchline.watch.archive.workflow import UploadInput, UploadWorkflow
from touchline.watch.context import WatchContext
from touchline.watch.model import FoundRef, GoalRef
from touchline.watch.settings import WatchSettings

RUNNER = SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules("touchline"))
KICK_OFF = datetime(2026, 3, 14, 15, tzinfo=UTC)
NOW = KICK_OFF + timedelta(minutes=30)
FIXTURE = """
INSERT INTO watch.fixtures (tenant_id, id, stage, status, kick_off, home_id, home_name, away_id, away_name, raw,
                            first_seen)
VALUES (platform.current_tenant(), %(id)s, 'active', '1H', %(kick_off)s, 40, 'Northport', 41, 'Göteryd', '{}', %(now)s)
ON CONFLICT DO NOTHING
"""
GOAL = """
INSERT INTO watch.goals (tenant_id, event_id, generation, fixture_id, team_id, team_name, player_id, player_name, type,
                         detail, minute, home_score, away_score, raw, sequence, first_seen)
VALUES (platform.current_tenant(), %(event_id)s, %(generation)s, %(fixture_id)s, 40, 'Northport', 1001, 'M. Sørensen',
        'Goal', 'Normal Goal', 23, 1, 0, '{}', 1, %(now)s)
"""
FOUND = """
INSERT INTO watch.found (tenant_id, event_id, generation, post_id, video_index, url, found_at, attempt, state,
                         incoming_key, md5, size_bytes, duration_ms, width, height, validated_at, validation, verified,
                         fingerprint)
VALUES (platform.current_tenant(), %(event_id)s, %(generation)s, %(post_id)s, 1, 'https://x.com/i/status/1', %(now)s, 1,
        'downloaded', %(key)s, %(md5)s, %(size_bytes)s, %(duration_ms)s, 640, 360, %(now)s, '{"clock": "22:31"}',
        %(verified)s, %(fingerprint)s)
"""
BATCH = """
INSERT INTO watch.upload_batches (tenant_id, event_id, generation, batch_id, videos, queued_at)
VALUES (platform.current_tenant(), %(event_id)s, %(generation)s, %(batch_id)s, %(videos)s, %(now)s)
"""
VIDEOS = """
SELECT artifact_hash, state, popularity, rank, size_bytes, verified, replaced_by, object_key, md5
  FROM watch.videos WHERE event_id = %(event_id)s AND generation = %(generation)s ORDER BY rank, artifact_hash
"""


def fingerprint(shows: str) -> str:
    """Each letter is a scene of a second that looks like no other."""
    hashes = [Random(f"{letter}{place}").getrandbits(64) | 1 for letter in shows for place in range(4)]
    return to_text(Fingerprint.of(hashes))


@dataclass(frozen=True, slots=True)
class Kept:
    artifact_hash: str
    state: str
    popularity: int
    rank: int | None
    size_bytes: int
    verified: bool
    replaced_by: str | None
    object_key: str
    md5: str


@dataclass(frozen=True, slots=True)
class Place:
    context: WatchContext
    client: Client
    clock: ManualClock
    settings: WatchSettings = field(default_factory=lambda: WatchSettings(search_attempts=1))
    posts: list[FoundRef] = field(default_factory=list[FoundRef])

    @property
    def activities(self) -> ArchiveActivities:
        return ArchiveActivities(self.context, self.settings, self.client)

    async def goal(self, player: int = 1001, generation: int = 1) -> GoalRef:
        goal = GoalRef(5000, f"5000_40_{player}_Goal_1", generation)
        await self.execute(FIXTURE, id=5000, kick_off=KICK_OFF, now=NOW)
        await self.execute(GOAL, **named(goal), fixture_id=5000, now=NOW)
        return goal

    async def found(self, goal: GoalRef, shows: str, *, size: int = 100, seconds: float = 10, **more: Any) -> FoundRef:
        """A post with a video that was downloaded, validated and fingerprinted."""
        ref = FoundRef(str(1_850_000_000_000_000_000 + len(self.posts)))
        self.posts.append(ref)
        data = more.pop("data", None) or Random(ref.post_id).randbytes(size)
        key = f"watch/incoming/{goal.folder}/{ref.post_id}-1.mp4"
        await self.context.objects.put_new(key, data)
        row = {
            "post_id": ref.post_id,
            "key": key,
            "md5": md5(data, usedforsecurity=False).hexdigest(),
            "size_bytes": len(data),
            "duration_ms": round(seconds * 1000),
            "verified": True,
            "fingerprint": fingerprint(shows),
            **more,
        }
        await self.execute(FOUND, **named(goal), now=NOW, **row)
        return ref

    async def queue(self, goal: GoalRef, *refs: FoundRef, batch_id: str = "") -> str:
        batch_id = batch_id or f"download-{uuid4().hex[:6]}"
        videos = Jsonb([{"post_id": ref.post_id, "video_index": ref.video_index} for ref in refs])
        await self.execute(BATCH, **named(goal), batch_id=batch_id, videos=videos, now=self.clock.now())
        self.clock.advance(timedelta(seconds=1))
        return batch_id

    async def archive(self, goal: GoalRef, *interceptors: Interceptor, recorded_as: str = "") -> int:
        """Runs the goal's workflow until it has been idle: how many batches it archived."""
        async with self.working(*interceptors) as queue:
            given = UploadInput(goal, idle_s=0.05, retry_s=0.05)
            archived = await self.client.execute_workflow(
                UploadWorkflow.run, given, id=upload_id(goal), task_queue=queue, run_timeout=timedelta(minutes=1)
            )
        if recorded_as:
            keep(await self.client.get_workflow_handle(upload_id(goal)).fetch_history(), recorded_as)
        return archived

    @asynccontextmanager
    async def working(self, *interceptors: Interceptor, queue: str = "") -> AsyncGenerator[str]:
        activities, queue = self.activities, queue or f"test-{uuid4().hex[:6]}"
        async with Worker(
            self.client,
            task_queue=queue,
            workflows=[UploadWorkflow],
            activities=every_activity(activities),
            interceptors=interceptors,
            workflow_runner=RUNNER,
        ):
            yield queue

    async def videos(self, goal: GoalRef, state: str | None = "kept") -> list[Kept]:
        rows = [Kept(*row) for row in await self.execute(VIDEOS, **named(goal))]
        return [row for row in rows if state in (None, row.state)]

    async def reported(self, event_type: str) -> list[dict[str, Any]]:
        query = "SELECT data FROM platform.event_inbox WHERE type = %(type)s ORDER BY sequence"
        async with self.context.database.system("test: read events") as transaction:
            rows = await (await transaction.connection.execute(query, {"type": event_type})).fetchall()
        return [data for (data,) in rows]

    async def keys(self, prefix: str) -> list[str]:
        return [each.key for each in (await self.context.objects.list(prefix)).objects]

    async def execute(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            cursor = await transaction.connection.execute(query.encode(), values)
            return await cursor.fetchall() if cursor.description else []


Happening = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Around(Interceptor):
    """Something happens before an activity runs; or it runs twice, since its first answer was lost."""

    before: Happening | None = None
    twice: bool = False

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Around(next, self)


class _Around(ActivityInboundInterceptor):
    def __init__(self, following: ActivityInboundInterceptor, around: Around) -> None:
        super().__init__(following)
        self._around = around

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        if self._around.before:
            await self._around.before(activity.info().activity_type)
        if self._around.twice:
            await super().execute_activity(input)
        return await super().execute_activity(input)


def every_activity(activities: ArchiveActivities) -> list[Any]:
    """By the names that Temporal knows them by."""
    methods = [getattr(activities, name) for name in dir(activities) if not name.startswith("_")]
    return [method for method in methods if hasattr(method, "__temporal_activity_definition")]


def named(goal: GoalRef) -> dict[str, Any]:
    return {"event_id": goal.event_id, "generation": goal.generation}


@pytest.fixture(scope="session")
async def temporal(endpoints: Endpoints) -> Client:
    endpoint: TemporalEndpoint = replace(endpoints.temporal, namespace=f"archive-{uuid4().hex[:6]}")
    client = await connect(endpoint, TemporalSettings())
    await ensure_namespace(client, TemporalSettings())
    return client


@pytest.fixture
async def place(postgres: PostgresEndpoint, objects: ObjectStore, temporal: Client) -> AsyncGenerator[Place]:
    clock = ManualClock(NOW)
    async with Database(postgres.app_url, clock=clock) as database:
        owner = Owner(TenantId(uuid4()), UserId(uuid4()))
        yield Place(WatchContext(database, objects, owner, clock), temporal, clock)

"""The consumers of the process plane through the real event log: intake, video labels, pipeline logs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.events import announce, new_tenant
from touchline.contracts.events import Event, Payload
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactRegistered,
    ArtifactRenamed,
    ArtifactType,
    ArtifactUndeleted,
    OriginalReturned,
    OriginalStored,
    OriginalVanished,
)
from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoLabeled
from touchline.kernel import SystemClock, TenantId, tracing, uuid7
from touchline.platform.events import store
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, PostgresLog, Sequencer
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Wakeups
from touchline.platform.settings import EventSettings
from touchline.process.intake import IntakeConsumer
from touchline.process.pipeline_logs import PipelineLogConsumer
from touchline.process.queue.jobs import FailureReason, Job, JobStatus, JobType
from touchline.process.queue.service import JobAdministration
from touchline.process.search.consumer import VideoLabelConsumer
from touchline.process.search.model import TextHit
from touchline.process.search.service import SearchRequest, VideoSearch

from .conftest import QueueHarness, original_path, until
from .test_worker import ReportProgress, ScriptedHandler, finish_at_once, has_status, running_worker

SETTINGS = EventSettings()
ADD_SEGMENT = """
INSERT INTO process.segments
  (tenant_id, id, video_id, text, normalized_text, text_hash, t_start, t_end, confidence, bounding_box)
VALUES (platform.current_tenant(), gen_random_uuid(), %(video_id)s, 'goal', 'goal', 'x', 0, 900, 1, '{}')
"""


def stored(video_id: UUID, **changes: object) -> OriginalStored:
    fields: dict[str, object] = {
        "artifact_hash": video_id.hex,
        "original_key": original_path(video_id),
        "size_bytes": 5_000_000,
        "content_type": "video/mp4",
        "user_id": uuid4(),
    }
    return OriginalStored.model_validate(fields | changes)


@pytest.fixture
def consumer(harness: QueueHarness, objects: ObjectStore) -> Consumer:
    wakeups = Wakeups(harness.database.url, [])
    archive = Archive(harness.database, objects, SETTINGS, SystemClock())
    return Consumer(harness.database, PostgresLog(harness.database, wakeups, archive), IntakeConsumer(), SETTINGS)


async def drain(harness: QueueHarness, consumer: Consumer) -> None:
    await Sequencer(harness.database, Wakeups(harness.database.url, []), SETTINGS).step()
    position = await consumer.position()
    while (reached := await consumer.step(position)) > position:
        position = reached


async def test_an_original_becomes_a_video_and_a_job_of_its_tenant(harness: QueueHarness, consumer: Consumer) -> None:
    video_id = uuid4()
    event = stored(video_id)
    with tracing("story"):
        await announce(harness.database, harness.tenant_id, event)
    await drain(harness, consumer)
    rows = await harness.execute(
        "SELECT video_id, owner_id, status, s3_original_path, size_bytes, content_type FROM process.videos"
    )
    assert rows == [(video_id, event.user_id, "uploaded", original_path(video_id), 5_000_000, "video/mp4")]
    [job] = await harness.queue().claim(list(JobType), 5)
    assert (job.tenant_id, job.job_type, job.trace) == (harness.tenant_id, JobType.TRANSCODE, "story")
    assert job.payload == {"video_id": str(video_id), "s3_original_path": original_path(video_id)}


async def test_the_same_event_again_enqueues_nothing_whatever_became_of_the_job(
    harness: QueueHarness, consumer: Consumer
) -> None:
    event = stored(uuid4())
    await announce(harness.database, harness.tenant_id, event, event)
    await drain(harness, consumer)
    [job] = await harness.queue().claim(list(JobType), 5)

    async def no_effects(transaction: object) -> None:
        """Only the completion."""

    await harness.queue().complete(job, {}, no_effects)
    await announce(harness.database, harness.tenant_id, event)
    await drain(harness, consumer)
    assert await harness.execute("SELECT count(*) FROM process.jobs") == [(1,)]
    assert await store.poison_events(harness.database) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"artifact_hash": "no hash"},
        {"original_key": "videos/original/somebody-elses/master.mp4"},
        {"original_key": "../secrets"},
    ],
)
async def test_what_makes_no_sense_is_set_aside_and_leaves_nothing(
    harness: QueueHarness, consumer: Consumer, changes: dict[str, object]
) -> None:
    good = uuid4()
    await announce(harness.database, harness.tenant_id, stored(uuid4(), **changes), stored(good))
    await drain(harness, consumer)
    assert [row[0] for row in await harness.execute("SELECT video_id FROM process.videos")] == [good]
    assert len(await store.poison_events(harness.database)) == 1


async def test_another_tenant_cannot_take_a_videos_id(harness: QueueHarness, consumer: Consumer) -> None:
    """Its objects would lie under the same keys."""
    video_id = uuid4()
    await announce(harness.database, harness.tenant_id, stored(video_id))
    await announce(harness.database, new_tenant(), stored(video_id))
    await drain(harness, consumer)
    [poison] = await store.poison_events(harness.database)
    assert "videos_id" in poison.error


async def test_a_deleted_artifact_is_searched_no_more(harness: QueueHarness, consumer: Consumer) -> None:
    video_id, other = uuid4(), uuid4()
    await announce(harness.database, harness.tenant_id, stored(video_id), stored(other))
    changed = {"artifact_type": ArtifactType.UPLOAD, "internal_name": "x", "user_id": None}
    processing = ArtifactLifecycle(artifact_hash=other.hex, status="processing", **changed)
    deleted = ArtifactLifecycle(artifact_hash=video_id.hex, status="deleted", **changed)
    await announce(harness.database, harness.tenant_id, processing, deleted, deleted)
    await announce(harness.database, new_tenant(), deleted.model_copy(update={"artifact_hash": other.hex}))
    await drain(harness, consumer)
    rows = await harness.execute("SELECT video_id FROM process.videos WHERE deleted_at IS NOT NULL")
    assert rows == [(video_id,)]


async def test_an_undeleted_artifact_is_searched_again(harness: QueueHarness, consumer: Consumer) -> None:
    """Also when its text was read while it was deleted; a stranger cannot bring it back."""
    video_id = uuid4()
    await announce(harness.database, harness.tenant_id, stored(video_id))
    changed = {"artifact_type": ArtifactType.UPLOAD, "internal_name": "x", "user_id": None}
    deleted = ArtifactLifecycle(artifact_hash=video_id.hex, status="deleted", **changed)
    undeleted = ArtifactUndeleted(artifact_hash=video_id.hex)
    await announce(harness.database, harness.tenant_id, deleted)
    await announce(harness.database, new_tenant(), undeleted)
    await drain(harness, consumer)
    await harness.execute(ADD_SEGMENT, video_id=video_id)
    search = VideoSearch(harness.database)
    assert (await search.page(harness.tenant_id, SearchRequest("goal"))).hits == ()
    await announce(harness.database, harness.tenant_id, undeleted, undeleted)
    await drain(harness, consumer)
    assert [hit.video_id for hit in (await search.page(harness.tenant_id, SearchRequest("goal"))).hits] == [video_id]


async def test_a_missing_original_shows_on_its_video(harness: QueueHarness, consumer: Consumer) -> None:
    video_id, now = uuid4(), SystemClock().now()
    place = {"artifact_hash": video_id.hex, "original_key": original_path(video_id)}
    missing = "SELECT original_missing_since FROM process.videos"
    await announce(harness.database, harness.tenant_id, stored(video_id), OriginalVanished(**place, missing_since=now))
    await drain(harness, consumer)
    assert await harness.execute(missing) == [(now,)]
    await announce(harness.database, new_tenant(), OriginalReturned(**place))
    await drain(harness, consumer)
    assert await harness.execute(missing) == [(now,)], "another tenant cannot say so"
    await announce(harness.database, harness.tenant_id, OriginalReturned(**place))
    await drain(harness, consumer)
    assert await harness.execute(missing) == [(None,)]


SAKA, GOMEZ = "Arsenal 1-0 Liverpool, B. Saka 23'", "Arsenal 1-0 Liverpool, J. Gómez 23'"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
GOAL: dict[str, Any] = {"event_id": "4200_1_2_Goal_1", "generation": 1, "fixture_id": 4200}


class LabelEvents:
    """One video, and what is told of it."""

    def __init__(self, harness: QueueHarness, tenant_id: TenantId) -> None:
        self.harness, self.tenant_id, self.video_id = harness, tenant_id, uuid4()

    def stored(self) -> Payload:
        key = original_path(self.video_id)
        return OriginalStored(artifact_hash=self.video_id.hex, original_key=key, size_bytes=1, content_type="video/mp4")

    def registered(self, title: str, kind: ArtifactType = ArtifactType.UPLOAD) -> Payload:
        names = {"playback_id": "p", "internal_name": "i", "user_id": None}
        return ArtifactRegistered(artifact_hash=self.video_id.hex, artifact_type=kind, title=title, **names)

    def renamed(self, title: str) -> Payload:
        return ArtifactRenamed(artifact_hash=self.video_id.hex, title=title)

    def labeled(self, title: str, player: str) -> Payload:
        teams: dict[str, Any] = {"home_team": "Arsenal", "away_team": "Liverpool", "player": player}
        return GoalVideoLabeled(artifact_hash=self.video_id.hex, title=title, **GOAL, **teams)

    def dropped(self) -> Payload:
        return GoalVideoDropped(artifact_hash=self.video_id.hex, why="annulled", **GOAL)

    def lifecycle(self, status: str) -> Payload:
        kind = {"artifact_type": ArtifactType.UPLOAD, "internal_name": "i", "user_id": None}
        return ArtifactLifecycle(artifact_hash=self.video_id.hex, status=status, **kind)

    async def happens(self, *told: tuple[Payload, int]) -> None:
        """Each consumer takes what it wants, each event in a transaction of its own."""
        for position, (payload, revision) in enumerate(told):
            event = Event(
                id=uuid4(),
                type=payload.event_type,
                version=1,
                tenant_id=self.tenant_id,
                key=payload.key,
                revision=revision,
                occurred_at=NOW,
                trace=None,
                data=payload.model_dump(mode="json"),
                position=position,
            )
            for handler in (IntakeConsumer(), VideoLabelConsumer()):
                if event.type in handler.types:
                    async with self.harness.database.transaction(self.tenant_id) as transaction:
                        await handler.handle(transaction, [event])

    async def hits(self, text: str) -> list[TextHit]:
        return list((await VideoSearch(self.harness.database).page(self.tenant_id, SearchRequest(text))).hits)

    async def found(self, text: str) -> set[UUID]:
        return {hit.video_id for hit in await self.hits(text)}


@pytest.fixture
def labels(harness: QueueHarness) -> LabelEvents:
    return LabelEvents(harness, harness.tenant_id)


async def test_a_corrected_goal_ends_right_in_any_order(harness: QueueHarness) -> None:
    for number, order in enumerate(permutations(range(4))):
        labels = LabelEvents(harness, new_tenant())
        events = [
            (labels.stored(), 1),
            (labels.registered(SAKA), 1),
            (labels.labeled(SAKA, "B. Saka"), 1),
            (labels.labeled(GOMEZ, "J. Gómez"), 3),
        ]
        await labels.happens(*(events[place] for place in order), events[number % 4])
        assert await labels.found("player:gomez") == {labels.video_id}, order
        assert await labels.found("player:saka") == await labels.found("saka") == set(), order
        [hit] = await labels.hits("gomez arsenal")
        assert (hit.text, hit.where, hit.box, hit.start_ms) == (GOMEZ, "match", None, 0), order
        assert [part.text for part in hit.fragments if part.matched] == ["Arsenal", "Gómez"]


async def test_a_match_is_found_by_its_teams_and_its_id(labels: LabelEvents) -> None:
    other = LabelEvents(labels.harness, labels.tenant_id)
    await labels.happens((labels.stored(), 1), (labels.labeled(SAKA, "B. Saka"), 1))
    await other.happens((other.stored(), 1), (other.registered("Arsenal training"), 1))
    asked = ("team:liverpool", "match:4200", 'match:"liverpool arsenal"', 'player:"b. saka"', "team:arsenal saka")
    assert [await labels.found(query) for query in asked] == [{labels.video_id}] * 5
    assert await labels.found("arsenal") == {labels.video_id, other.video_id}
    assert await labels.found("arsenal where:title") == {other.video_id}
    assert await labels.found("arsenal where:match") == {labels.video_id}
    assert await labels.found("arsenal where:picture") == await labels.found("player:liverpool") == set()
    assert await LabelEvents(labels.harness, new_tenant()).found("arsenal") == set()


async def test_an_annulled_goal_is_found_by_nothing_in_any_order(harness: QueueHarness) -> None:
    for order in permutations(range(4)):
        labels = LabelEvents(harness, new_tenant())
        events = [
            (labels.stored(), 1),
            (labels.labeled(SAKA, "B. Saka"), 1),
            (labels.labeled(GOMEZ, "J. Gómez"), 2),
            (labels.dropped(), 3),
        ]
        await labels.happens(*(events[place] for place in order))
        assert await labels.found("player:gomez") == await labels.found("gomez") == await labels.found("saka") == set()


async def test_a_title_waits_for_its_video_and_goes_and_comes_with_it(labels: LabelEvents) -> None:
    await labels.happens((labels.registered("Derby day"), 1))
    assert await labels.found("derby") == set()
    await labels.happens((labels.stored(), 1))
    [hit] = await labels.hits("derby")
    assert (hit.text, hit.where, hit.confidence) == ("Derby day", "title", 1.0)
    await labels.happens((labels.renamed("Cup final"), 4), (labels.registered("Derby day"), 1))
    assert (await labels.found("derby"), await labels.found("cup")) == (set(), {labels.video_id})
    await labels.happens((labels.lifecycle("deleted"), 2))
    assert await labels.found("cup") == set()
    await labels.happens(
        (labels.renamed("Cup final 2026"), 5), (ArtifactUndeleted(artifact_hash=labels.video_id.hex), 3)
    )
    assert await labels.found('"final 2026"') == {labels.video_id}
    await labels.harness.execute("SELECT process.refresh_search_materialized()")
    assert await labels.found('"final 2026"') == {labels.video_id}
    assert await labels.found("derby") == set()


async def test_a_clip_is_found_by_its_video(labels: LabelEvents) -> None:
    await labels.happens((labels.registered("A clip", ArtifactType.CLIP), 1))
    assert await labels.harness.execute("SELECT 1 FROM process.video_texts") == []


SECRET = "s3cr3t-of-the-house"


def hidden(text: str) -> str:
    return text.replace(SECRET, "********")


async def deliver(harness: QueueHarness, objects: ObjectStore) -> None:
    """All that the log has of jobs, once more each time."""
    now, tenant_id = SystemClock().now(), harness.tenant_id
    events = [
        Event(uuid7(now), kind, 1, tenant_id, f"job:{data['job_id']}", revision, now, None, data, 1)
        for kind, revision, data in await harness.events("job.changed")
    ]
    async with harness.database.transaction(tenant_id) as transaction:
        await PipelineLogConsumer(objects, hidden).handle(transaction, events)


async def written(objects: ObjectStore) -> dict[str, dict[str, Any]]:
    keys = [each.key for each in (await objects.list("logs/")).objects]
    return {key: json.loads(await objects.get(key)) for key in keys}


async def test_a_job_that_ended_is_one_document_with_all_its_attempts(
    harness: QueueHarness, objects: ObjectStore
) -> None:
    with tracing("story"):
        job, waiting = await harness.enqueue(), await harness.enqueue()
    queue = harness.queue("first")
    [held] = await queue.claim([JobType.TRANSCODE], 1)
    await queue.fail(held, FailureReason("Unavailable", f"key={SECRET}", retryable=True))
    await harness.make_due()
    [held] = [each for each in await queue.claim([JobType.TRANSCODE], 2) if each.id == job.id]
    await deliver(harness, objects)
    assert await written(objects) == {}, "nothing has ended"
    await queue.complete(held, {"width": 640}, no_effects)
    for _ in range(2):
        await deliver(harness, objects)
    [(key, document)] = (await written(objects)).items()
    assert key == f"logs/pipeline/{job.id}.json"
    shown = {name: document[name] for name in ("job_id", "video_id", "job_type", "status", "attempt", "trace")}
    assert shown == {
        "job_id": str(job.id),
        "video_id": str(job.video_id),
        "job_type": "transcode",
        "status": "done",
        "attempt": 2,
        "trace": "story",
    }
    assert (document["tenant_id"], document["result"]) == (str(harness.tenant_id), {"width": 640})
    assert document["payload"] == dict(job.payload)
    assert document["duration_ms"] >= 0
    steps = [(step["to_status"], step["attempt"]) for step in document["history"]]
    assert steps == [("queued", 0), ("processing", 1), ("failed", 1), ("queued", 1), ("processing", 2), ("done", 2)]
    assert SECRET not in json.dumps(document)
    assert "key=********" in document["history"][2]["reason"]

    await JobAdministration(harness.database).cancel(harness.tenant_id, waiting.id, "ana")
    await deliver(harness, objects)
    documents = await written(objects)
    assert documents[f"logs/pipeline/{waiting.id}.json"]["error"]["type"] == "Cancelled"


async def test_a_job_that_is_gone_leaves_no_document(harness: QueueHarness, objects: ObjectStore) -> None:
    now, data = SystemClock().now(), {"job_id": str(uuid4()), "status": "failed"}
    event = Event(uuid7(now), "job.changed", 1, harness.tenant_id, "job", 1, now, None, data, 1)
    async with harness.database.transaction(harness.tenant_id) as transaction:
        await PipelineLogConsumer(objects, hidden).handle(transaction, [event])
    assert await written(objects) == {}


async def test_every_line_of_a_job_says_whose_it_is(harness: QueueHarness, caplog: pytest.LogCaptureFixture) -> None:
    async def fails(job: Job, report: ReportProgress) -> None:
        if job.id == bad.id:
            raise ValueError("no")
        await finish_at_once(job, report)

    caplog.set_level(logging.INFO, "touchline.process.queue.worker")
    with tracing("story"):
        bad, good = await harness.enqueue(), await harness.enqueue()
    async with running_worker(harness, ScriptedHandler(fails)):
        await until(lambda: has_status(harness, good, JobStatus.DONE))
        await until(lambda: _ended(caplog, bad))
    lines = [record for record in caplog.records if record.name == "touchline.process.queue.worker"]
    for job, expected in ((bad, ["job begun", "job failed", "job ended"]), (good, ["job begun", "job ended"])):
        own = [vars(record) for record in lines if vars(record)["job_id"] == str(job.id)]
        assert [record["message"] for record in own] == expected
        for record in own:
            named = {name: record[name] for name in ("video_id", "job_type", "attempt", "tenant", "trace")}
            assert named == {
                "video_id": str(job.video_id),
                "job_type": "transcode",
                "attempt": 1,
                "tenant": str(harness.tenant_id),
                "trace": "story",
            }


async def _ended(caplog: pytest.LogCaptureFixture, job: Job) -> bool:
    return any(
        record.getMessage() == "job ended" and vars(record)["job_id"] == str(job.id) for record in caplog.records
    )


async def no_effects(transaction: object) -> None:
    """Only the completion."""

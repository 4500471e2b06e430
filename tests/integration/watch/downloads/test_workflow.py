"""DownloadWorkflow on a real Temporal server, with its activities on real parts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from secrets import token_hex
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.worker import Replayer, Worker

from tests.support.histories import keep
from touchline.platform.endpoints import Endpoints
from touchline.platform.settings import TemporalSettings
from touchline.platform.temporal.client import connect, ensure_namespace
from touchline.watch.downloads.activities import DownloadActivities, DownloadTools
from touchline.watch.downloads.workflow import DownloadInput, DownloadResult, DownloadWorkflow
from touchline.watch.model import HEAVY_QUEUE, TASK_QUEUE, FoundRef, GoalMinutes
from touchline.watch.settings import WatchSettings

from .conftest import GOAL, Opinion, Pitch, Said, found
from .listener import Listener

BUILD = "test"  # without one, all that was imported is read again to make one up

FIRST, SAME, OTHER = found("two videos"), found("same as the first"), found("two videos", 2)


@pytest.fixture(scope="module")
async def temporal(endpoints: Endpoints) -> Client:
    settings = TemporalSettings()
    client = await connect(replace(endpoints.temporal, namespace=f"test-{token_hex(6)}"), settings)
    await ensure_namespace(client, settings)
    return client


@asynccontextmanager
async def working(pitch: Pitch, client: Client, opinion: Opinion, door: Client) -> AsyncGenerator[None]:
    means = DownloadTools(pitch.sandbox, pitch.scratch, pitch.sources, opinion, door)
    own = DownloadActivities(pitch.context, means, pitch.settings, WatchSettings(search_attempts=1))
    light = [own.queue_videos_for_upload, own.cleanup_download_temp, own.register_download]
    heavy = [own.download_single_video, own.validate_video_is_soccer, own.generate_video_hash]
    workflows = [DownloadWorkflow, Listener]
    async with (
        Worker(client, task_queue=TASK_QUEUE, workflows=workflows, activities=light, build_id=BUILD),
        Worker(client, task_queue=HEAVY_QUEUE, activities=heavy, build_id=BUILD),
    ):
        yield


async def run(
    pitch: Pitch, client: Client, opinion: Opinion, *videos: FoundRef, recorded_as: str = "", door: Client | None = None
) -> DownloadResult:
    """`door`: by which the archive is told. What has run runs the same way again."""
    given = DownloadInput(GOAL, 1, "Northport-Sorensen", list(videos))
    workflow_id = f"{given.workflow_id}-{token_hex(4)}"
    async with working(pitch, client, opinion, door or client):
        result = await client.execute_workflow(DownloadWorkflow.run, given, id=workflow_id, task_queue=TASK_QUEUE)
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    if recorded_as:
        keep(history, recorded_as)
    await Replayer(workflows=[DownloadWorkflow], build_id=BUILD).replay_workflow(history)
    return result


async def goal_row(pitch: Pitch) -> tuple[Any, ...]:
    [row] = await pitch.execute("SELECT download_workflows, download_complete, outcome FROM watch.goals")
    return row


async def test_from_found_to_handed_over(pitch: Pitch, temporal: Client) -> None:
    videos = [FIRST, SAME, OTHER, found("blocked"), found("whole")]
    await pitch.find(*videos)
    result = await run(pitch, temporal, Opinion(), *videos, recorded_as="download-first-in-one")
    assert result == DownloadResult(downloaded=4, rejected=1, queued=4)
    batches = await pitch.execute("SELECT batch_id, videos FROM watch.upload_batches ORDER BY batch_id")
    assert [len(listed) for _, listed in batches] == [1, 3], "the first one does not wait for the others"
    assert {(each["post_id"], each["video_index"]) for _, listed in batches for each in listed} == {
        (video.post_id, video.video_index) for video in (FIRST, SAME, OTHER, found("whole"))
    }
    rows = [await pitch.row(video) for video in (FIRST, SAME, OTHER, found("whole"))]
    assert all(row["verified"] and row["fingerprint"].startswith("dense:") for row in rows)
    files = {row["incoming_key"] for row in rows}
    assert len(files) == len(await pitch.keys()) in (2, 3)  # three posts have one file, of which one may go ahead
    assert await goal_row(pitch) == ([batches[0][0]], False, None)  # its videos wait to be archived
    upload = temporal.get_workflow_handle(f"upload-{GOAL.name}")
    async with working(pitch, temporal, Opinion(), temporal):
        assert await upload.result() == [batch_id for batch_id, _ in batches]


async def test_an_attempt_without_a_good_video_ends_the_search_and_leaves_no_file(
    pitch: Pitch, temporal: Client
) -> None:
    await pitch.find(FIRST, found("gone"))
    opinion = Opinion(Said(rejected="not_football"))
    result = await run(pitch, temporal, opinion, FIRST, found("gone"), recorded_as="download-first-not-good")
    assert result == DownloadResult(downloaded=1, rejected=1, failed=1)
    assert await pitch.keys() == []
    runs, complete, outcome = await goal_row(pitch)
    assert (len(runs), complete, outcome) == (1, True, "nothing_found")


async def test_a_goal_that_is_annulled_ends_it_and_loses_its_files(pitch: Pitch, temporal: Client) -> None:
    await pitch.find(FIRST)

    class Referee(Opinion):
        async def judge(self, stills: Any, duration_ms: int, minutes: GoalMinutes, heartbeat: Any) -> Said:
            await pitch.annul()
            return await super().judge(stills, duration_ms, minutes, heartbeat)

    result = await run(pitch, temporal, Referee(), FIRST, recorded_as="download-first-annulled")
    assert (result.over, result.queued, await pitch.keys()) == (True, 0, [])


async def test_videos_wait_for_an_engine_and_go_on_without_those_that_still_wait(
    pitch: Pitch, temporal: Client
) -> None:
    await pitch.find(FIRST, OTHER)
    quick = pitch.settings.model_copy(update={"validation_pause": timedelta(milliseconds=10)})
    hurried = replace(pitch, settings=quick)
    result = await run(hurried, temporal, Opinion(away=1), FIRST, OTHER, recorded_as="download-first-waiting")
    assert result == DownloadResult(downloaded=2, queued=2)
    batches = await pitch.execute("SELECT batch_id, videos FROM watch.upload_batches ORDER BY batch_id")
    assert [len(videos) for _, videos in batches] == [1, 1]
    assert batches[1][0] == f"{batches[0][0]}/2"


async def test_an_engine_that_stays_away_is_our_failure(pitch: Pitch, temporal: Client) -> None:
    await pitch.find(FIRST)
    impatient = pitch.settings.model_copy(update={"validation_timeout": timedelta(0)})
    hurried = replace(pitch, settings=impatient)
    result = await run(hurried, temporal, Opinion(away=100), FIRST, recorded_as="download-first-no-engine")
    assert result == DownloadResult(downloaded=1, failed=1)
    row = await pitch.row(FIRST)
    assert (row["state"], row["why"], row["incoming_key"]) == ("failed", "validator unavailable", None)
    assert len((await goal_row(pitch))[0]) == 1


async def test_the_file_of_a_first_video_is_fetched_for_one_step_alone(pitch: Pitch, temporal: Client) -> None:
    """Its verdict and its fingerprint do not wait for each other's turn."""
    await pitch.find(FIRST)
    assert await run(pitch, temporal, Opinion(), FIRST) == DownloadResult(downloaded=1, queued=1)
    [run_id] = (await goal_row(pitch))[0]
    events = (await temporal.get_workflow_handle(run_id).fetch_history()).events
    called = [event.activity_task_scheduled_event_attributes.activity_type.name for event in events]
    assert [name for name in called if name] == ["download_single_video", "validate_video_is_soccer"]

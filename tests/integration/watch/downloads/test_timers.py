"""Timers of DownloadWorkflow, on a server that skips time: for engines and for parts of our own that are away."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from touchline.kernel import Unavailable
from touchline.watch.downloads.rules import MediaFile
from touchline.watch.downloads.sources import Syndication
from touchline.watch.downloads.workflow import DownloadResult
from touchline.watch.model import FoundRef

from .conftest import Opinion, Pitch, found
from .test_workflow import goal_row, run

TEST_SERVER = Path(sys.executable).parent / "temporal-test-server"
FIRST, OTHER = found("two videos"), found("two videos", 2)


@pytest.fixture
async def skipping() -> AsyncGenerator[Client]:
    """One for each test: no time is skipped for as long as a run that another one left waits for its worker."""
    async with await WorkflowEnvironment.start_time_skipping(test_server_existing_path=str(TEST_SERVER)) as running:
        yield running.client


async def lasted(client: Client, pitch: Pitch) -> timedelta:
    [run_id] = (await goal_row(pitch))[0]
    reported = await client.get_workflow_handle(run_id).describe()
    assert reported.close_time
    return reported.close_time - reported.start_time


async def test_an_engine_is_asked_again_until_it_answers(pitch: Pitch, skipping: Client) -> None:
    await pitch.find(FIRST)
    result = await run(pitch, skipping, Opinion(away=8), FIRST)
    assert result == DownloadResult(downloaded=1, queued=1)
    assert await lasted(skipping, pitch) >= timedelta(seconds=5 * (2**8 - 1))


async def test_nothing_waits_longer_than_agreed(pitch: Pitch, skipping: Client) -> None:
    await pitch.find(FIRST)
    hour = pitch.settings.model_copy(update={"validation_timeout": timedelta(hours=1)})
    result = await run(replace(pitch, settings=hour), skipping, Opinion(away=1000), FIRST)
    assert result == DownloadResult(downloaded=1, failed=1)
    assert (await pitch.row(FIRST))["why"] == "validator unavailable"
    assert timedelta(hours=1) <= await lasted(skipping, pitch) < timedelta(hours=1, minutes=20)


@dataclass
class Away:
    """The archive's door, shut for a while."""

    client: Client
    times: int

    async def start_workflow(self, *arguments: Any, **options: Any) -> Any:
        if self.times:
            self.times -= 1
            raise Unavailable("not now")
        return await self.client.start_workflow(*arguments, **options)


async def test_a_part_of_our_own_that_is_away_loses_no_video(pitch: Pitch, skipping: Client) -> None:
    await pitch.find(FIRST)
    result = await run(pitch, skipping, Opinion(), FIRST, door=cast("Client", Away(skipping, times=7)))
    assert result == DownloadResult(downloaded=1, queued=1)


@dataclass(frozen=True, slots=True)
class Breaking:
    """Knows the way to all videos but one."""

    whole: Syndication
    breaks_at: FoundRef

    async def media_file(self, video: FoundRef) -> MediaFile:
        if video == self.breaks_at:
            raise RuntimeError("nobody thought of this")
        return await self.whole.media_file(video)


async def test_a_step_that_keeps_breaking_is_no_other_videos_loss(pitch: Pitch, skipping: Client) -> None:
    await pitch.find(FIRST, OTHER)
    breaking = replace(pitch.sources, first=cast("Any", Breaking(pitch.sources.first, OTHER)))
    result = await run(replace(pitch, sources=breaking), skipping, Opinion(), FIRST, OTHER)
    assert result == DownloadResult(downloaded=1, failed=1, queued=1)
    row = await pitch.row(OTHER)
    assert (row["state"], row["why"]) == ("failed", "broke_off: internal: RuntimeError: nobody thought of this")

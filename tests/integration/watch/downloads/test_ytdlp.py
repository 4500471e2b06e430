"""yt-dlp finds the same addresses as we do, by our guarded fetching and by nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from dataclasses import replace

import pytest
from yt_dlp.networking.exceptions import RequestError

from tests.security.watch.servers import serving
from touchline.watch.downloads.addresses import Policy
from touchline.watch.downloads.fetch import Fetcher, FetchLimits, FetchRequest
from touchline.watch.downloads.rules import Gone, NoVideo, RefusedAddress, TooSlow
from touchline.watch.downloads.sources import Extraction, Sources
from touchline.watch.downloads.ytdlp import ExtractionTask

from .conftest import found


def second(sources: Sources) -> Extraction:
    assert sources.second
    return sources.second


@pytest.mark.parametrize("video_index", [1, 2])
async def test_both_ways_lead_to_the_same_file(sources: Sources, video_index: int) -> None:
    video = found("two videos", video_index)
    assert await second(sources).media_file(video) == await sources.first.media_file(video)


async def test_a_post_without_such_a_video(sources: Sources) -> None:
    with pytest.raises(NoVideo):
        await second(sources).media_file(found("two videos", 3))


async def test_when_both_fail_the_first_ones_word_counts(sources: Sources) -> None:
    with pytest.raises(Gone, match="removed"):
        await sources.media_file(found("removed"))


async def test_it_goes_nowhere_where_we_do_not_go(sources: Sources) -> None:
    strict = replace(second(sources), fetcher=Fetcher(Policy()))
    with pytest.raises(RefusedAddress):
        await strict.media_file(found("whole"))


async def test_its_time_is_limited(sources: Sources) -> None:
    hasty = replace(second(sources), within_s=0.0)
    with pytest.raises(TooSlow):
        await hasty.media_file(found("whole"))


async def test_its_thread_ends_when_nobody_waits_for_it_any_more() -> None:
    reached = asyncio.Event()

    async def silent() -> AsyncIterable[bytes]:
        reached.set()
        await asyncio.Event().wait()
        yield b""

    async with serving(silent) as server:
        fetcher = Fetcher(
            Policy(allow_hosts=frozenset({f"127.0.0.1:{server.port}"})), FetchLimits(silence_s=600, total_s=600)
        )
        task = ExtractionTask(fetcher, asyncio.get_running_loop(), "")
        asking = asyncio.create_task(asyncio.to_thread(task.ask, FetchRequest(server.url())))
        await reached.wait()
        task.end()
        await asyncio.wait({asking})
    with pytest.raises(RequestError, match="limit of this lookup"):
        task.ask(FetchRequest(server.url()))


async def test_it_has_no_other_way_out(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment, which it would use, is not asked."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert await second(sources).media_file(found("whole")) == await sources.first.media_file(found("whole"))


async def test_the_first_way_that_answers_is_enough(sources: Sources) -> None:
    never = replace(sources, second=replace(second(sources), fetcher=Fetcher(Policy(), FetchLimits(total_s=0))))
    assert await never.media_file(found("whole")) == await sources.first.media_file(found("whole"))

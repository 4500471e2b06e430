"""A transcode with everything real: the database, the object store, the sandbox, the codecs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psutil
import pytest

from touchline.kernel import LeaseLost
from touchline.media.sandbox import Pause, Sandbox
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings
from touchline.process.queue.handler import Finished
from touchline.process.queue.jobs import Job, JobStatus, JobType, TranscodePayload, parse_payload
from touchline.process.queue.rules import failure_of
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.worker import PointerWriter, Publisher, Transcoder

from .conftest import QueueHarness, until
from .videos import RE_ENCODED, make_clip


@dataclass(frozen=True, slots=True)
class TranscodeHarness:
    harness: QueueHarness
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    folder: Path

    @property
    def pointers(self) -> PointerWriter:
        return PointerWriter(self.harness.database, self.objects)

    def transcoder(self, objects: ObjectStore | None = None, **settings: int) -> Transcoder:
        process = ProcessSettings.model_validate(settings)
        publisher = Publisher(self.harness.database, self.pointers)
        return Transcoder(objects or self.objects, self.sandbox, self.scratch, publisher, process)

    async def job(self, original: bytes | Path | None) -> Job:
        """A job in hand, with this original in the store."""
        job = await self.harness.enqueue()
        if original is not None:
            await self.objects.put_new(job.payload["s3_original_path"], original)
        return await self.claim()

    async def claim(self) -> Job:
        [held] = await self.harness.queue().claim([JobType.TRANSCODE], 1)
        return held

    async def work(self, held: Job, transcoder: Transcoder | None = None) -> Finished:
        payload = parse_payload(held.job_type, held.payload)
        assert isinstance(payload, TranscodePayload)
        return await (transcoder or self.transcoder()).work(held, payload, lambda percent: None)

    async def complete(self, held: Job, finished: Finished) -> None:
        await self.harness.queue().complete(held, finished.result, finished.effects)

    async def fails(self, held: Job, transcoder: Transcoder | None = None) -> Job:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held, transcoder)
        return await self.harness.queue().fail(held, failure_of(raised.value))

    async def keys(self, prefix: str) -> list[str]:
        return sorted(item.key for item in (await self.objects.list(prefix)).objects)

    async def named(self, master: str) -> list[str]:
        """The renditions of a master playlist; all that they name is there."""
        folder = master.rpartition("/")[0]
        lines = (await self.objects.get(master)).decode().splitlines()
        renditions = [line.removesuffix("/index.m3u8") for line in lines if line and not line.startswith("#")]
        for rendition in renditions:
            playlist = (await self.objects.get(f"{folder}/{rendition}/index.m3u8")).decode()
            for segment in (line for line in playlist.splitlines() if line and not line.startswith("#")):
                assert await self.objects.exists(f"{folder}/{rendition}/{segment}")
        return renditions

    async def stored(self, video_id: UUID) -> list[str]:
        return [*await self.keys(f"videos/proxy/{video_id}"), *await self.keys(f"thumbs/{video_id}")]


@pytest.fixture
async def transcodes(
    harness: QueueHarness, objects: ObjectStore, sandbox: Sandbox, tmp_path: Path
) -> AsyncGenerator[TranscodeHarness]:
    with open_scratch(tmp_path / "scratch") as scratch:
        yield TranscodeHarness(harness, objects, sandbox, scratch, tmp_path)
        assert [path for path in (tmp_path / "scratch").glob("*/*") if path.name != ".lock"] == [], "left behind"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4")


@pytest.fixture(scope="module")
def half(clip: Path) -> bytes:
    whole = clip.read_bytes()
    return whole[: len(whole) // 2]


async def test_a_video_becomes_playable(transcodes: TranscodeHarness, clip: Path) -> None:
    held = await transcodes.job(clip)
    finished = await transcodes.work(held)
    proxy, thumb = f"videos/proxy/{held.video_id}/1", f"thumbs/{held.video_id}/1/poster.jpg"
    [(_, _, early)] = await transcodes.harness.events("video.transcoded")
    await transcodes.complete(held, finished)
    await finished.after_commit()

    [_, (_, revision, told)] = await transcodes.harness.events("video.transcoded")
    assert told == {
        "artifact_hash": held.video_id.hex,
        "job_id": str(held.id),
        "attempt": 1,
        "manifest_key": f"{proxy}/index.m3u8",
        "poster_key": thumb,
        "duration_ms": 3000,
        "width": 320,
        "height": 180,
        "storyboard_key": f"{proxy}/storyboard.vtt",
    }
    assert early == told | {"storyboard_key": None}
    rows = await transcodes.harness.execute(
        "SELECT status, s3_proxy_path, s3_thumb_path, duration_ms, width, height, pointers_written, revision"
        " FROM process.videos"
    )
    assert rows == [("playable", f"{proxy}/index.m3u8", thumb, 3000, 320, 180, True, revision + 1)]
    job = await transcodes.harness.job(held.id)
    assert (job.status, job.result) == (JobStatus.DONE, finished.result)
    playlists = {path for path in await transcodes.stored(held.video_id) if path.endswith(".m3u8")}
    assert playlists == {
        f"videos/proxy/{held.video_id}/index.m3u8",
        f"{proxy}/index.m3u8",
        f"{proxy}/180p/index.m3u8",
    }
    assert (await transcodes.objects.head(f"{proxy}/180p/init.mp4")).content_type == "video/mp4"
    assert (await transcodes.objects.head(f"{proxy}/index.m3u8")).content_type == "application/vnd.apple.mpegurl"
    directions = (await transcodes.objects.get(f"{proxy}/storyboard.vtt")).decode()
    assert "storyboard_00.jpg#xywh=" in directions
    assert (await transcodes.objects.get(f"{proxy}/storyboard_00.jpg")).startswith(b"\xff\xd8")


async def test_the_first_rendition_plays_while_the_others_are_made(
    transcodes: TranscodeHarness, tmp_path: Path
) -> None:
    held = await transcodes.job(make_clip(tmp_path / "ladder.mp4", seconds=1, codec=RE_ENCODED, size=(640, 480)))
    finished = await transcodes.work(held)
    proxy = f"videos/proxy/{held.video_id}/1"
    [(_, _, early)] = await transcodes.harness.events("video.transcoded")
    assert (early["manifest_key"], early["height"]) == (f"{proxy}/first.m3u8", 480)
    assert await transcodes.named(early["manifest_key"]) == ["480p"]
    assert await transcodes.named(f"videos/proxy/{held.video_id}/index.m3u8") == ["1/480p"], "the fixed key leads there"
    assert await transcodes.harness.execute("SELECT status FROM process.videos") == [("playable",)]
    assert (await transcodes.harness.job(held.id)).status is JobStatus.PROCESSING

    await transcodes.complete(held, finished)
    await finished.after_commit()
    [_, (_, _, told)] = await transcodes.harness.events("video.transcoded")
    assert told["manifest_key"] == f"{proxy}/index.m3u8"
    assert await transcodes.named(told["manifest_key"]) == ["480p", "360p"]
    assert await transcodes.named(f"videos/proxy/{held.video_id}/index.m3u8") == ["1/480p", "1/360p"]


async def test_a_stale_attempt_publishes_nothing(transcodes: TranscodeHarness, clip: Path) -> None:
    frozen = await transcodes.job(clip)
    await transcodes.harness.expire_leases()
    with pytest.raises(LeaseLost):
        await transcodes.work(frozen)
    assert await transcodes.harness.events("video.transcoded") == []
    assert await transcodes.harness.execute("SELECT status, s3_proxy_path FROM process.videos") == [("uploaded", None)]
    assert await transcodes.stored(frozen.video_id) == []


async def test_what_plays_already_is_not_taken_away_by_a_failure(transcodes: TranscodeHarness, clip: Path) -> None:
    """Here something lies where the storyboard belongs."""
    held = await transcodes.job(clip)
    await transcodes.objects.put_new(f"videos/proxy/{held.video_id}/1/storyboard.vtt", b"in the way")
    await transcodes.fails(held)
    assert await transcodes.named(f"videos/proxy/{held.video_id}/index.m3u8") == ["1/180p"]


async def test_the_fixed_keys_lead_to_the_attempt(transcodes: TranscodeHarness, clip: Path) -> None:
    held = await transcodes.job(clip)
    finished = await transcodes.work(held)
    await transcodes.complete(held, finished)
    await finished.after_commit()
    master = (await transcodes.objects.get(f"videos/proxy/{held.video_id}/index.m3u8")).decode()
    [variant] = [line for line in master.splitlines() if not line.startswith("#")]
    assert variant == "1/180p/index.m3u8"
    playlist = (await transcodes.objects.get(f"videos/proxy/{held.video_id}/{variant}")).decode()
    folder = variant.rpartition("/")[0]
    segments = [line for line in playlist.splitlines() if line and not line.startswith("#")]
    assert segments
    for segment in segments:
        assert await transcodes.objects.exists(f"videos/proxy/{held.video_id}/{folder}/{segment}")
    poster = await transcodes.objects.get(f"thumbs/{held.video_id}/poster.jpg")
    assert poster == await transcodes.objects.get(f"thumbs/{held.video_id}/1/poster.jpg")
    assert poster.startswith(b"\xff\xd8")


async def test_whoever_dies_after_the_commit_leaves_the_fixed_keys_to_another(
    transcodes: TranscodeHarness, clip: Path
) -> None:
    held = await transcodes.job(clip)
    finished = await transcodes.work(held)
    fixed = f"videos/proxy/{held.video_id}/index.m3u8"
    await transcodes.objects.delete(fixed)
    await transcodes.complete(held, finished)
    assert await transcodes.pointers.run_pass() is False  # the worker itself is at it
    assert not await transcodes.objects.exists(fixed)
    await transcodes.harness.execute("UPDATE process.videos SET updated_at = now() - interval '2 minutes'")
    await transcodes.pointers.run_pass()
    first = await transcodes.objects.get(fixed)
    await transcodes.pointers.run_pass()
    assert await transcodes.objects.get(fixed) == first
    assert await transcodes.harness.execute("SELECT pointers_written FROM process.videos") == [(True,)]


async def test_a_video_plays_while_what_comes_after_it_rests(transcodes: TranscodeHarness, clip: Path) -> None:
    held, pause = await transcodes.job(clip), Pause()
    pause.begin()
    work = asyncio.create_task(transcodes.work(held, replace(transcodes.transcoder(), pause=pause)))
    [(_, _, told)] = await until(lambda: transcodes.harness.events("video.transcoded"))
    assert await transcodes.named(told["manifest_key"]) == ["180p"]
    assert await transcodes.objects.exists(told["poster_key"])

    async def at_rest() -> bool:
        assert not work.done()
        return pause.waiting > 0

    await until(at_rest)
    assert not await transcodes.objects.exists(f"videos/proxy/{held.video_id}/1/storyboard.vtt")
    pause.end()
    await transcodes.complete(held, await work)
    assert await transcodes.objects.exists(f"videos/proxy/{held.video_id}/1/storyboard.vtt")


async def test_a_stale_attempt_leaves_garbage_and_never_a_mixture(transcodes: TranscodeHarness, clip: Path) -> None:
    """It had stored everything, froze, and woke when another had finished."""
    frozen = await transcodes.job(clip)
    late = await transcodes.work(frozen)
    await transcodes.harness.expire_leases()
    assert await transcodes.harness.queue("living").reclaim()
    held = await transcodes.claim()
    finished = await transcodes.work(held)
    await transcodes.complete(held, finished)
    await finished.after_commit()
    with pytest.raises(LeaseLost):
        await transcodes.complete(frozen, late)
    await late.after_commit()  # it would not come to this, and it would do no harm

    told = [data for _, _, data in await transcodes.harness.events("video.transcoded")]
    assert [data["attempt"] for data in told] == [1, 2, 2]
    assert told[-1]["manifest_key"] == f"videos/proxy/{held.video_id}/2/index.m3u8"
    master = (await transcodes.objects.get(f"videos/proxy/{held.video_id}/index.m3u8")).decode()
    assert "2/180p/index.m3u8" in master
    assert "1/180p" not in master
    assert await transcodes.keys(f"videos/proxy/{held.video_id}/1/")


async def test_codecs_that_browsers_do_not_play_are_encoded_and_progress_is_told(
    transcodes: TranscodeHarness, tmp_path: Path
) -> None:
    held = await transcodes.job(make_clip(tmp_path / "old.mp4", seconds=2, codec=RE_ENCODED))
    told: list[int] = []
    payload = TranscodePayload.model_validate(held.payload)
    finished = await transcodes.transcoder().work(held, payload, told.append)
    await transcodes.complete(held, finished)
    assert told == sorted(told)
    assert {10, 80, 90, 99} <= set(told)


@pytest.mark.parametrize(
    ("original", "error"),
    [
        (None, "OriginalMissing"),
        (b"", "NotAVideo"),
        (b"dear diary, " * 5000, "NotAVideo"),
        (b"<?xml version='1.0'?><a href='file:///etc/passwd'/>", "NotAVideo"),
    ],
)
async def test_what_can_never_play_fails_for_good_and_leaves_nothing(
    transcodes: TranscodeHarness, original: bytes | None, error: str
) -> None:
    held = await transcodes.job(original)
    failed = await transcodes.fails(held)
    assert failed.error
    assert (failed.status, failed.retry_count, failed.error.type) == (JobStatus.FAILED, 0, error)
    [(_, _, told)] = await transcodes.harness.events("video.failed")
    assert told["error_code"] == error
    assert await transcodes.stored(held.video_id) == []


async def test_a_video_that_was_cut_off_fails_for_good(transcodes: TranscodeHarness, half: bytes) -> None:
    failed = await transcodes.fails(await transcodes.job(half))
    assert failed.status is JobStatus.FAILED
    assert await transcodes.stored(failed.video_id) == []


async def test_what_fails_half_way_takes_away_what_it_stored(transcodes: TranscodeHarness, clip: Path) -> None:
    """Here something lies where its poster belongs."""
    held = await transcodes.job(clip)
    await transcodes.objects.put_new(f"thumbs/{held.video_id}/{held.attempt}/poster.jpg", b"in the way")
    await transcodes.objects.put_new(f"thumbs/{held.video_id}/another/poster.jpg", b"of another attempt")
    failed = await transcodes.fails(held)
    assert failed.error
    assert failed.error.type == "AlreadyExists"
    assert await transcodes.stored(held.video_id) == [f"thumbs/{held.video_id}/another/poster.jpg"]


async def test_an_original_that_is_too_large_is_not_even_fetched(transcodes: TranscodeHarness, clip: Path) -> None:
    failed = await transcodes.fails(await transcodes.job(clip), transcodes.transcoder(largest_original=1000))
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "OriginalTooLarge")


async def test_a_store_that_is_away_is_tried_again_later(
    transcodes: TranscodeHarness, clip: Path, bucket: ObjectsEndpoint
) -> None:
    nowhere = replace(bucket, url="http://127.0.0.1:9")
    impatient = ObjectsSettings(retries=0, connect_timeout=timedelta(seconds=1))
    async with ObjectStore(nowhere, impatient) as away:
        failed = await transcodes.fails(await transcodes.job(clip), transcodes.transcoder(away))
    assert (failed.status, failed.retry_count) == (JobStatus.QUEUED, 1)


async def test_cancelling_ends_the_child_and_clears_the_folder(transcodes: TranscodeHarness, tmp_path: Path) -> None:
    long = make_clip(tmp_path / "long.mp4", seconds=20, codec=RE_ENCODED, size=(640, 360))
    held = await transcodes.job(long)
    begun = asyncio.Event()
    payload = TranscodePayload.model_validate(held.payload)
    work = asyncio.create_task(
        transcodes.transcoder().work(held, payload, lambda percent: begun.set() if percent > 10 else None)
    )
    await begun.wait()
    assert children()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    async def gone() -> bool:
        return not children()

    await until(gone)


def children() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.name() == "media-hls":
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found

"""Each kind of damage is planted in a real bucket and real tables, found, named, and repaired where that is safe."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from tests.support.postgres import PostgresServer
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import NewClip, Upload
from touchline.kernel import ArtifactHash, new_artifact_hash, video_id
from touchline.platform.endpoints import PostgresEndpoint
from touchline.process.purge.service import VideoHoldingsOf
from touchline.process.sampling.rules import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.videos.store import NewVideo, VideoRendition, VideoStore
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import JobRun, Rendition
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.fsck import service
from touchline.serve.fsck.inventories import NodeInventories
from touchline.serve.fsck.rules import DamageKind, Repair
from touchline.serve.fsck.service import Fsck, FsckReport
from touchline.serve.playback.tokens import InventoryTokens

from .conftest import SECRET, World
from .test_uploads import original

GRACE = timedelta(hours=24)
MASTER = '#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI="sound/index.m3u8"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv0/index.m3u8\n'
MEDIA = '#EXTM3U\n#EXT-X-MAP:URI="init.mp4"\n#EXTINF:4,\n1.m4s\n#EXTINF:4,\n2.m4s\n#EXT-X-ENDLIST\n'
BOARD = "WEBVTT\n\n00:00.000 --> 00:02.000\nboard-1.jpg#xywh=0,0,160,90\n"
Plant = Callable[["Bucket", Upload], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Bucket:
    """One installation's tables and objects, with hands on both."""

    world: World
    superuser: str
    http: httpx.AsyncClient

    async def put(self, key: str, content: bytes | str = b"x") -> None:
        data = content.encode() if isinstance(content, str) else content
        await self.world.environment.objects.replace(key, data)

    async def lose(self, key: str) -> None:
        await self.world.environment.objects.delete(key)

    async def tamper(self, statement: str, *values: Any) -> None:
        """Past every wall and rule."""
        async with await AsyncConnection.connect(self.superuser, autocommit=True) as connection:
            await connection.execute(statement.encode(), values)

    async def playable(self) -> Upload:
        """An upload with all that processing makes of it, by its first attempt."""
        upload = await self.world.processing()
        found, video = await self.world.artifact(upload), video_id(upload.artifact_hash)
        proxy, thumbs = f"videos/proxy/{video}", f"thumbs/{video}"
        made = Rendition(f"{proxy}/1/index.m3u8", f"{thumbs}/1/poster.jpg", 8000, 640, 360)
        files = {"index.m3u8": MASTER, "storyboard.vtt": BOARD, "board-1.jpg": "x"}
        for folder in ("v0", "sound"):
            files |= {f"{folder}/index.m3u8": MEDIA, f"{folder}/init.mp4": "x"}
            files |= {f"{folder}/{n}.m4s": "x" for n in (1, 2)}
        for name, content in files.items():
            await self.put(f"{proxy}/1/{name}", content)
        for key in (
            f"{thumbs}/1/poster.jpg",
            f"{thumbs}/1/poster-320.jpg",
            f"{thumbs}/poster.jpg",
            f"{proxy}/index.m3u8",
        ):
            await self.put(key)
        for at_ms in (0, 500):
            await self.put(f"frames/{video}/1/{at_ms}.jpg")
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            run = JobRun(uuid4(), 1)
            assert await transitions.finish(transaction, found, run, made, self.world.clock.now())
            videos = VideoStore(transaction.connection)
            await videos.add(NewVideo(video, None, found.original_key, found.size_bytes or 0, "video/mp4"))
            keys = made.manifest_key, made.poster_key, 8000, 640, 360, f"{proxy}/1/storyboard.vtt"
            await videos.transcoded(video, VideoRendition(*keys))
            await FrameStore(transaction.connection).replace(video, Sampling(1, 500, 640, 360, 8000, 2), [0, 500])
            pointers = await videos.pointers(video)
            assert pointers
            await videos.pointers_written(pointers)
        return upload

    async def clip(self, source: Upload) -> ArtifactHash:
        """Cut, and stored."""
        new = NewClip(source.artifact_hash, 0, 1000, title="A clip")
        clip = (await self.world.registry.create_clip(self.world.ours, new)).clip.artifact_hash
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            found = await ArtifactStore(transaction).find(clip)
            assert found
            assert await ArtifactStore(transaction).store_clip(found, 5, self.world.clock.now())
        await self.put(found.original_key, b"12345")
        return clip

    def fsck(self, **changed: Any) -> Fsck:
        environment = self.world.environment
        parts = environment.database, environment.objects, VideoHoldingsOf(environment.database)
        unasked = NodeInventories(self.http, InventoryTokens(SECRET), self.world.clock)
        rest: dict[str, Any] = {"inventories": unasked} | changed
        return Fsck(*parts, environment.settings, self.world.clock, GRACE, **rest)

    async def run(self, **changed: Any) -> FsckReport:
        return await self.fsck(**changed).run()


@pytest.fixture
async def bucket(world: World, postgres: PostgresEndpoint, postgres_server: PostgresServer) -> AsyncGenerator[Bucket]:
    world.until(datetime.now(UTC) + timedelta(days=2))  # what the store has just got is old
    database = str(conninfo_to_dict(postgres.app_url)["dbname"])
    async with httpx.AsyncClient(trust_env=False) as http:
        yield Bucket(world, postgres_server.superuser(database), http)


def found(report: FsckReport) -> set[tuple[str, str]]:
    return {(damage.kind.value, damage.what) for damage in report.damages}


async def test_what_is_whole_is_clean(bucket: Bucket) -> None:
    await bucket.clip(await bucket.playable())
    await bucket.playable()
    await bucket.world.create()
    report = await bucket.run(thorough=True)
    assert found(report) == set()
    assert (report.artifacts, report.left) == (4, 0)


async def lose_original(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(original(upload))


async def cut_original(bucket: Bucket, upload: Upload) -> None:
    await bucket.put(original(upload), b"cut")


async def lose_manifest(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(f"videos/proxy/{video_id(upload.artifact_hash)}/1/index.m3u8")


async def lose_segment(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(f"videos/proxy/{video_id(upload.artifact_hash)}/1/sound/2.m4s")


async def empty_segment(bucket: Bucket, upload: Upload) -> None:
    await bucket.put(f"videos/proxy/{video_id(upload.artifact_hash)}/1/v0/1.m4s", b"")


async def name_outside(bucket: Bucket, upload: Upload) -> None:
    await bucket.put(f"videos/proxy/{video_id(upload.artifact_hash)}/1/v0/index.m3u8", MEDIA + "../../../secret\n")


async def lose_poster(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(f"thumbs/{video_id(upload.artifact_hash)}/1/poster.jpg")


async def lose_board(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(f"videos/proxy/{video_id(upload.artifact_hash)}/1/board-1.jpg")


async def lose_frame(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(f"frames/{video_id(upload.artifact_hash)}/1/500.jpg")


async def lose_pointer(bucket: Bucket, upload: Upload) -> None:
    await bucket.lose(f"videos/proxy/{video_id(upload.artifact_hash)}/index.m3u8")


async def forget_identity(bucket: Bucket, upload: Upload) -> None:
    for table in ("multiparts", "artifacts", "uploads", "identities"):
        await bucket.tamper(f"DELETE FROM serve.{table} WHERE artifact_hash = %s", upload.artifact_hash)  # noqa: S608


async def count_a_copy(bucket: Bucket, upload: Upload) -> None:
    await bucket.tamper("UPDATE serve.artifacts SET local_copies = 1 WHERE artifact_hash = %s", upload.artifact_hash)


async def stop_purging(bucket: Bucket, upload: Upload) -> None:
    long_ago = bucket.world.clock.now() - timedelta(days=9)
    await bucket.tamper(
        "UPDATE serve.artifacts SET status = 'deleted', deleted_at = %s, purge_due_at = %s, purge_next_at = %s"
        " WHERE artifact_hash = %s",
        *(long_ago, long_ago, long_ago, upload.artifact_hash),
    )


async def purge_rows_only(bucket: Bucket, upload: Upload) -> None:
    await stop_purging(bucket, upload)
    now = bucket.world.clock.now()
    await bucket.tamper(
        "UPDATE serve.artifacts SET purge_next_at = NULL, purged_at = %s WHERE artifact_hash = %s",
        *(now, upload.artifact_hash),
    )


async def forget_the_job(bucket: Bucket, upload: Upload) -> None:
    await bucket.tamper(
        "UPDATE serve.artifacts SET status = 'processing' WHERE artifact_hash = %s", upload.artifact_hash
    )
    long_ago = bucket.world.clock.now() - timedelta(hours=2)
    await bucket.tamper(
        "UPDATE process.videos SET updated_at = %s WHERE video_id = %s", long_ago, video_id(upload.artifact_hash)
    )


async def forget_the_artifact(bucket: Bucket, upload: Upload) -> None:
    """Its row is gone, and its record and its files are there."""
    await bucket.tamper("DELETE FROM serve.multiparts WHERE artifact_hash = %s", upload.artifact_hash)
    await bucket.tamper("DELETE FROM serve.artifacts WHERE artifact_hash = %s", upload.artifact_hash)
    long_ago = bucket.world.clock.now() - timedelta(days=2)
    await bucket.tamper(
        "UPDATE serve.identities SET created_at = %s WHERE artifact_hash = %s", long_ago, upload.artifact_hash
    )


async def stop_the_upload(bucket: Bucket, upload: Upload) -> None:
    """Its parts were to be put together, and whoever did that is gone."""
    long_ago = bucket.world.clock.now() - timedelta(days=2)
    await bucket.tamper(
        "UPDATE serve.artifacts SET status = 'completing', created_at = %s WHERE artifact_hash = %s",
        *(long_ago, upload.artifact_hash),
    )
    for column in ("due_at", "created_at"):
        table = "multiparts" if column == "due_at" else "identities"
        await bucket.tamper(
            f"UPDATE serve.{table} SET {column} = %s WHERE artifact_hash = %s",  # noqa: S608
            *(long_ago, upload.artifact_hash),
        )


DAMAGES: list[tuple[Plant, set[DamageKind], bool]] = [  # and whether it may be repaired
    (lose_original, {DamageKind.FILE_MISSING}, True),
    (cut_original, {DamageKind.FILE_DIFFERS}, False),
    (lose_manifest, {DamageKind.MANIFEST_MISSING, DamageKind.RENDITION_INCOMPLETE}, True),
    (lose_segment, {DamageKind.RENDITION_INCOMPLETE}, True),
    (empty_segment, {DamageKind.OBJECT_EMPTY}, True),
    (name_outside, {DamageKind.HOSTILE_PLAYLIST}, True),
    (lose_poster, {DamageKind.POSTER_MISSING}, True),
    (lose_board, {DamageKind.STORYBOARD_INCOMPLETE}, True),
    (lose_frame, {DamageKind.FRAMES_MISSING}, True),
    (lose_pointer, {DamageKind.POINTER_MISSING}, True),
    (forget_identity, {DamageKind.IDENTITY_MISSING}, False),
    (count_a_copy, {DamageKind.COPIES_MISCOUNTED}, False),
    (stop_purging, {DamageKind.STUCK}, False),
    (purge_rows_only, {DamageKind.PURGE_INCOMPLETE}, True),
    (forget_the_job, {DamageKind.STUCK}, False),
    (stop_the_upload, {DamageKind.STUCK}, False),
    (forget_the_artifact, {DamageKind.ARTIFACT_MISSING}, False),
]


async def test_each_damage_is_found_named_and_repaired_if_that_is_safe(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ROWS_AT_ONCE", 4)  # several batches
    whole = await bucket.playable()
    planted = {(await bucket.playable()).artifact_hash: damage for damage in DAMAGES}
    uploads = {one: replace(whole, artifact_hash=one) for one in planted}
    for one, (plant, _, _) in planted.items():
        await plant(bucket, uploads[one])
    expected = {(kind.value, one) for one, (_, kinds, _) in planted.items() for kind in kinds}
    first = await bucket.run()
    assert found(first) == expected
    assert first.left == sum(first.found.values()) == len(expected)
    again = await bucket.run()
    assert found(again) == expected, "looking changes nothing"

    half = sorted(planted)[len(planted) // 2]
    rest = await bucket.fsck().run(half)
    assert found(rest) == {(kind, one) for kind, one in expected if one > half}, "a run goes on behind an artifact"

    mended = await bucket.run(repair=True)
    assert found(mended) == expected
    safe = sum(len(kinds) for _, kinds, may in planted.values() if may)
    assert (sum(mended.repaired.values()), mended.left) == (safe, len(expected) - safe)
    by_plant = {plant: uploads[one] for one, (plant, _, _) in planted.items()}
    lost = await bucket.world.artifact(by_plant[lose_original])
    assert await bucket.world.events(by_plant[lose_original], "artifact.original_vanished")
    assert lost.status is ArtifactStatus.READY, "nothing of it is deleted"
    jobs = await waiting_jobs(bucket)
    again_made = {lose_manifest, lose_segment, empty_segment, name_outside, lose_poster, lose_board, lose_frame}
    assert jobs == {video_id(by_plant[plant].artifact_hash) for plant in again_made}
    left = [
        key for key in await bucket.world.stored_keys() if str(video_id(by_plant[purge_rows_only].artifact_hash)) in key
    ]
    assert left == []

    await bucket.put(original(by_plant[lose_original]), await bucket.world.environment.objects.get(original(whole)))
    back = await bucket.run(repair=True)
    assert ("file_returned", by_plant[lose_original].artifact_hash) in found(back)
    assert back.repaired[Repair.MARK_RETURNED] == 1
    assert await bucket.world.events(by_plant[lose_original], "artifact.original_returned")


async def waiting_jobs(bucket: Bucket) -> set[UUID]:
    async with bucket.world.environment.database.transaction(bucket.world.ours) as transaction:
        cursor = await transaction.connection.execute("SELECT video_id FROM process.jobs WHERE status = 'queued'")
        return {row[0] for row in await cursor.fetchall()}


async def test_what_nobody_knows_is_deleted_only_when_it_is_old_and_only_when_asked(bucket: Bucket) -> None:
    upload, stranger = await bucket.playable(), video_id(new_artifact_hash())
    own = video_id(upload.artifact_hash)
    strange = [
        f"videos/proxy/{stranger}/1/index.m3u8",
        f"frames/{own}/7/0.jpg",  # of an attempt that did not win
        f"videos/clips/{own}/{uuid4()}.mp4",
        "thumbs/not-a-video/poster.jpg",
        f"videos/original/{stranger}/master.mp4",  # it may be somebody's video: the scanner takes it in
    ]
    for key in strange:
        await bucket.put(key)
    open_upload = await bucket.world.environment.objects.uploads.begin(f"videos/original/{stranger}/other.mp4")
    folders = {*(f"{key.rpartition('/')[0]}" for key in strange[:2]), strange[2], "thumbs/not-a-video"}
    folders |= {f"videos/original/{stranger}"}
    expected = {("untracked_objects", folder) for folder in folders}
    young = replace(bucket.fsck(repair=True), grace=timedelta(days=9))
    assert found(await young.run()) == {("untracked_upload", open_upload.id)}
    assert await bucket.world.open_uploads() == 0
    assert found(await bucket.run()) == expected
    mended = await bucket.run(repair=True)
    assert (found(mended), mended.left) == (expected, 1)
    keys = await bucket.world.stored_keys()
    assert [key for key in strange if key in keys] == strange[4:]
    assert found(await bucket.run()) == {("untracked_objects", f"videos/original/{stranger}")}


async def test_clips_and_uploads_in_parts_and_watched_videos(bucket: Bucket) -> None:
    source = await bucket.playable()
    lost, cut = await bucket.clip(source), await bucket.clip(await bucket.playable())
    for clip, damage in ((lost, None), (cut, b"1")):
        async with bucket.world.environment.database.transaction(bucket.world.ours) as transaction:
            file = await ArtifactStore(transaction).find(clip)
        assert file
        await (bucket.lose(file.original_key) if damage is None else bucket.put(file.original_key, damage))
    sending = await bucket.world.uploaded()
    async with bucket.world.environment.database.system("test: find the upload") as transaction:
        rows = await transaction.connection.execute("SELECT object_key, upload_id FROM serve.multiparts")
        [(key, upload_id)] = await rows.fetchall()
    for upload in (await bucket.world.environment.objects.uploads.list(key)).uploads:
        await bucket.world.environment.objects.uploads.abort(upload)
    assert upload_id
    watched = await bucket.playable()
    await bucket.tamper(
        "INSERT INTO serve.watched (tenant_id, artifact_hash, object_key) VALUES (%s, %s, 'goals/lost.mp4')",
        *(bucket.world.ours.tenant_id, watched.artifact_hash),
    )
    assert found(await bucket.run()) == {
        ("file_missing", lost),
        ("file_differs", cut),
        ("upload_missing", sending.artifact_hash),
        ("watched_file_missing", watched.artifact_hash),
    }

"""`touchline fsck` over a whole archive, beside a plain listing of the same bucket.

A product is started, and its bucket and tables are filled with playable videos, each a rendition of many segments. The
command runs as people run it, in a process of its own: objects per second, and the most memory that it had. The
listing is what any comparison of a bucket must cost at the least.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

from support.report import report
from support.stack import Product, product

from touchline.apps import wiring
from touchline.apps.settings import load
from touchline.kernel import TenantId, artifact_hash
from touchline.platform.objects.rules import object_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.process.videos.store import NewVideo, VideoRendition, VideoStore

TENANT = TenantId(UUID("11111111-1111-4111-8111-111111111111"))
OBJECTS_A_VIDEO = 50
AT_ONCE = 16
BESIDE_SEGMENTS = 5  # original, poster, manifest, playlist, header
MASTER = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv0/index.m3u8\n"
IDENTITIES = """
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id)
SELECT platform.current_tenant(), hash, left(hash, 16), hash, 'upload', hash::uuid FROM unnest(%s::text[]) AS h (hash)
"""
ARTIFACTS = """
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, synced, manifest_key, retention_ms)
SELECT platform.current_tenant(), hash, 'upload', hash, hash::uuid, 'ready',
       'videos/original/' || hash::uuid || '/master.mp4', 'video/mp4', 1, true,
       'videos/proxy/' || hash::uuid || '/1/index.m3u8', 1
  FROM unnest(%s::text[]) AS h (hash)
"""


def poster_key(video: UUID) -> str:
    return f"thumbs/{video}/1/poster.jpg"


def files_of(video: UUID) -> Iterator[tuple[str, bytes]]:
    proxy, segments = f"videos/proxy/{video}/1", range(OBJECTS_A_VIDEO - BESIDE_SEGMENTS)
    names = [f"{number:05}.m4s" for number in segments]
    playlist = '#EXTM3U\n#EXT-X-MAP:URI="init.mp4"\n' + "".join(f"#EXTINF:4,\n{name}\n" for name in names)
    yield f"videos/original/{video}/master.mp4", b"x"
    yield poster_key(video), b"x"
    yield f"{proxy}/index.m3u8", MASTER.encode()
    yield f"{proxy}/v0/index.m3u8", playlist.encode()
    for name in ("init.mp4", *names):
        yield f"{proxy}/v0/{name}", b"x"


async def fill(database: Database, objects: ObjectStore, videos: list[UUID]) -> None:
    slots = asyncio.Semaphore(AT_ONCE)

    async def put(video: UUID) -> None:
        async with slots:
            for key, content in files_of(video):
                await objects.replace(object_key(key), content)

    hashes = [artifact_hash(video) for video in videos]
    async with database.transaction(TENANT) as transaction:
        await transaction.connection.execute(IDENTITIES, (hashes,))
        await transaction.connection.execute(ARTIFACTS, (hashes,))
        store = VideoStore(transaction.connection)
        for video in videos:
            await store.add(NewVideo(video, None, f"videos/original/{video}/master.mp4", 1, "video/mp4"))
            made = VideoRendition(f"videos/proxy/{video}/1/index.m3u8", poster_key(video), 4000, 640, 360, None)
            await store.transcoded(video, made)
    await asyncio.gather(*(put(video) for video in videos))


async def listed(objects: ObjectStore) -> tuple[int, float]:
    """How many objects there are, and how long that took."""
    begun, count, after = time.perf_counter(), 0, ""
    while True:
        page = await objects.list("", after=after)
        count += len(page.objects)
        if page.next_after is None:
            return count, time.perf_counter() - begun
        after = page.next_after


def checked(made: Product) -> tuple[dict[str, object], float, float]:
    """What the command found, its seconds, and its most memory in MiB."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "touchline", "fsck", "--json"]
    process = subprocess.Popen(command, env=made.environment, stdout=subprocess.PIPE)
    assert process.stdout
    found = json.load(process.stdout)
    _, _, usage = os.wait4(process.pid, 0)
    return found, time.perf_counter() - begun, usage.ru_maxrss / 1024


async def prepare(made: Product, count: int) -> tuple[int, float]:
    os.environ["TOUCHLINE_DATA"] = str(made.data)
    loaded = load()
    where = wiring.endpoints(loaded)
    async with (
        Database(where.postgres.app_url, loaded.settings.postgres) as database,
        ObjectStore(where.objects, loaded.settings.objects) as objects,
    ):
        await fill(database, objects, [uuid4() for _ in range(count // OBJECTS_A_VIDEO)])
        return await listed(objects)


def measure(count: int) -> dict[str, float | str]:
    with product() as made:
        made.touchline("up", "--detach")
        objects, listing_s = asyncio.run(prepare(made, count))
        found, fsck_s, memory = checked(made)
    return {
        "objects": float(objects),
        "damages found": str(found["found"]),
        "plain listing: objects/s": objects / listing_s,
        "fsck: objects/s": objects / fsck_s,
        "fsck: most memory, MiB": memory,
        "ratio fsck : plain listing, time": fsck_s / listing_s,
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--objects", type=int, default=50_000)
    options = arguments.parse_args()
    report("fsck", measure(options.objects))


if __name__ == "__main__":
    main()

"""Copies on real nodes, each a process of its own: warmed, played, frozen, evicted, deleted, and what comes between.

The artifacts role runs in this process, with a clock that moves when told; the nodes live by the machine's.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.platform.objects.relay import Relay, relayed
from tests.support.clickhouse_owner import free_port
from tests.support.nodes import NodeLab, NodeProcess, node_lab
from touchline.contracts.registry import Upload
from touchline.kernel import Conflict, PlaybackId, SystemClock, TenantId, Warming, video_id
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.rpc import client as peers
from touchline.platform.rpc.server import RpcServer
from touchline.serve.agent.folder import CopyFolder, LocalCopy, rendition_name, write_details
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.composition import add_services
from touchline.serve.nodes.rules import NodeStatus
from touchline.serve.playback.tokens import Grant, MediaTokens
from touchline.serve.settings import ColdPlayback
from touchline.serve.tiers.queries import copies_of

from .conftest import RPC, SECRET, World, another_process
from .test_lifecycle import transcoded

SEGMENTS = {f"v0/segment_{number:05}.m4s": bytes([number]) * (1000 + number) for number in range(10)}
RENDITION = {
    **SEGMENTS,
    "v0/init.mp4": b"header",
    "v0/index.m3u8": b"#EXTM3U the list",
    "storyboard.vtt": b"WEBVTT",
    "index.m3u8": b"#EXTM3U the master",
    "first.m3u8": b"#EXTM3U the first master",
}
PLAYED = {name for name in RENDITION if name != "first.m3u8"} | {"poster.jpg", "poster-320.jpg"}
COPIES = "SELECT node_id, state, access_count FROM serve.artifact_nodes ORDER BY node_id"
COMMANDS = "SELECT node_id, kind, outcome, error_code FROM serve.node_commands ORDER BY created_at, id"


@dataclass
class Site:
    """The artifacts role at an address that stays the same, and nodes around it."""

    world: World
    lab: NodeLab
    relay: Relay
    port: int
    hashes: dict[str, Upload] = field(default_factory=dict[str, Upload])

    @asynccontextmanager
    async def artifacts_role(self) -> AsyncGenerator[None]:
        async with RpcServer(SECRET, RPC.model_copy(update={"port": self.port})) as server:
            server.add(peers.SERVICE, peers.ProcessServicer(["artifacts"]))
            add_services(server, self.world.parts)
            await server.start()
            yield

    async def ready(self, name: str = "", files: dict[str, bytes] = RENDITION) -> Upload:
        """A video that can be played, its rendition in the object store."""
        upload = await self.world.processing()
        video = video_id(upload.artifact_hash)
        objects, event = self.world.environment.objects, transcoded(upload)
        for file, content in files.items():
            await objects.put_new(f"videos/proxy/{video}/1/{file}", content)
        for poster in ("poster.jpg", "poster-320.jpg"):
            await objects.put_new(f"thumbs/{video}/1/{poster}", poster.encode())
        keys = {"manifest_key": f"videos/proxy/{video}/1/index.m3u8", "poster_key": f"thumbs/{video}/1/poster.jpg"}
        await self.world.consume(event.model_copy(update=keys))
        self.hashes[name] = upload
        return upload

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            return await (await transaction.connection.execute(query.encode())).fetchall()

    async def copies(self) -> list[tuple[str, str]]:
        return [(node, state) for node, state, _ in await self.rows(COPIES)]

    async def until(self, look: Callable[[], Any], wanted: Any) -> None:
        """`look` is asked until it says that."""
        async with asyncio.timeout(240):
            while await look() != wanted:
                await asyncio.sleep(0.05)

    async def until_warm(self, upload: Upload) -> None:
        async def is_warm() -> bool:
            async with self.world.environment.database.transaction(self.world.ours) as transaction:
                return bool(await copies_of(transaction, upload.artifact_hash))

        await self.until(is_warm, True)

    async def warmed(self, upload: Upload) -> None:
        await self.world.parts.tiers.warm(self.world.ours, upload.artifact_hash)
        await self.until_warm(upload)

    async def until_open(self, commands: int) -> None:
        async def count() -> int:
            return sum(outcome is None for _, _, outcome, _ in await self.rows(COMMANDS))

        await self.until(count, commands)

    async def storage(self, upload: Upload) -> tuple[str, int, bool]:
        last = (await self.world.events(upload))[-1]
        return last["storage_location"], last["local_copies"], last["synced"]

    def path(self, upload: Upload, name: str, tenant_id: TenantId | None = None) -> str:
        until = SystemClock().now() + timedelta(hours=1)
        tenant_id = tenant_id or self.world.ours.tenant_id
        grant = Grant(tenant_id, PlaybackId(upload.playback_id), upload.artifact_hash, until)
        return f"/media/{MediaTokens(SECRET).sign(grant)}/{upload.artifact_hash}/{name}"


@pytest.fixture
async def site(world: World, bucket: ObjectsEndpoint, tmp_path: Path) -> AsyncGenerator[Site]:
    port = free_port()
    async with relayed(bucket) as relay:
        with node_lab(tmp_path / "nodes", f"127.0.0.1:{port}", SECRET, relay.endpoint) as lab:
            yield Site(world, lab, relay, port)


async def started(site: Site, *node_ids: str, **settings: str) -> list[NodeProcess]:
    nodes = await asyncio.to_thread(site.lab.start, *node_ids, **settings)
    for node_id in node_ids:
        await site.until(lambda node_id=node_id: has_reported(site, node_id), True)
    return nodes


async def has_reported(site: Site, node_id: str) -> bool:
    nodes = await site.world.parts.nodes.listed()
    return any(node.node_id == node_id and node.budget_bytes is not None and node.inventory_at for node in nodes)


async def test_a_video_is_warmed_by_twenty_viewers_at_once_played_and_frozen(site: Site) -> None:
    async with site.artifacts_role():
        nodes = await started(site, "node-1", "node-2")
        upload = await site.ready()
        tiers, ours = site.world.parts.tiers, site.world.ours
        viewers = [tiers.start_playback(upload.playback_id) for _ in range(20)]
        await asyncio.gather(*viewers)
        await site.until_warm(upload)
        assert [row[1:] for row in await site.rows(COMMANDS)] == [("defrost", "done", None)], "one for all of them"
        assert (await tiers.warm(ours, upload.artifact_hash)).local_copies == 1
        [(holder, state)] = await site.copies()
        assert state == "present"
        node = next(node for node in nodes if node.node_id == holder)
        await plays(site, node, upload)
        await refuses_strangers(site, node, upload)
        told = [(event["storage_location"], event["local_copies"]) for event in await site.world.events(upload)]
        assert told[-3:] == [("s3", 0), ("defrosting", 0), ("local", 1)]

        frozen = [tiers.freeze(ours, upload.artifact_hash) for _ in range(2)]
        await asyncio.gather(*frozen)
        await site.until(site.copies, [(holder, "gone")])
        kinds = sorted((kind, outcome) for _, kind, outcome, _ in await site.rows(COMMANDS))
        assert kinds == [("defrost", "done"), ("delete", "done"), ("freeze", "done")], "two asked, one freeze"
        assert await site.storage(upload) == ("s3", 0, True)
        assert (await asyncio.to_thread(node.get, site.path(upload, "index.m3u8"))).status_code == 404
        assert not list((node.folder / "artifacts").iterdir())
        again = await site.world.artifact(upload)
        assert again.manifest_key
        assert "/1/index.m3u8" in again.manifest_key, "what the store had was not uploaded anew"


async def plays(site: Site, node: NodeProcess, upload: Upload) -> None:
    for name in PLAYED - {"poster.jpg", "poster-320.jpg"}:
        answer = await asyncio.to_thread(node.get, site.path(upload, name))
        assert (answer.status_code, answer.content) == (200, RENDITION[name]), name
    poster = await asyncio.to_thread(node.get, site.path(upload, "poster.jpg") + "?width=200")
    assert poster.content == b"poster-320.jpg"
    segment = site.path(upload, "v0/segment_00003.m4s")
    part = await asyncio.to_thread(lambda: node.get(segment, Range="bytes=10-19"))
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, bytes([3]) * 10, "bytes 10-19/1003")
    assert (await asyncio.to_thread(lambda: node.get(segment, Range="bytes=5000-"))).status_code == 416
    etag = {"if-none-match": part.headers["etag"]}
    assert (await asyncio.to_thread(lambda: node.get(segment, **etag))).status_code == 304

    async def counted() -> int:
        return (await site.rows(COPIES))[0][2]

    await site.until(counted, 1)  # one manifest, however many segments


async def refuses_strangers(site: Site, node: NodeProcess, upload: Upload) -> None:
    [details] = (node.folder / "artifacts").glob("*/*/*/copy.json")
    (details.parent / "secret.vtt").symlink_to("/etc/passwd")
    (details.parent / "v0" / "init.mp4").unlink()
    (details.parent / "v0" / "init.mp4").symlink_to(details)
    valid = site.path(upload, "index.m3u8").removesuffix("index.m3u8")
    for name in (
        *("copy.json", "secret.vtt", "v0/init.mp4", "../copy.json", "v0/../index.m3u8", "v0/..%2f..%2fcopy.json"),
        *("%2e%2e/index.m3u8", "/etc/passwd", "", "v0", "index.m3u8%00", "\\index.m3u8", "v0/v0/v0/v0/index.m3u8"),
    ):
        answer = await asyncio.to_thread(node.get, valid + name)
        assert answer.status_code == 404, name
    foreign = site.path(upload, "index.m3u8", tenant_id=site.world.theirs.tenant_id)
    assert (await asyncio.to_thread(node.get, foreign)).status_code == 404, "its tenant has no such video here"
    other = site.path(upload, "index.m3u8").replace(upload.artifact_hash, uuid4().hex)
    for path in (other, f"/media/{'A' * 98}/{upload.artifact_hash}/index.m3u8", "/media/", "/media/x"):
        assert (await asyncio.to_thread(node.get, path)).status_code in (403, 404), path
    assert (await asyncio.to_thread(lambda: node.get(valid + "index.m3u8", Host="evil.example"))).status_code == 403
    assert valid.split("/")[2] not in node.log
    (details.parent / "v0" / "init.mp4").unlink()
    (details.parent / "v0" / "init.mp4").write_bytes(RENDITION["v0/init.mp4"])


async def test_a_defrost_survives_what_dies_in_the_middle_of_it(site: Site) -> None:
    upload = await site.ready()
    bucket, video = site.relay.upstream.bucket, video_id(upload.artifact_hash)
    broken = f"GET /{bucket}/videos/proxy/{video}/1/v0/segment_00003.m4s".encode()
    tiers, ours = site.world.parts.tiers, site.world.ours
    async with site.artifacts_role():
        [node] = await started(site, "node-1", RETRY_TIME="1h")
        site.relay.refuse = broken
        await tiers.warm(ours, upload.artifact_hash)

        def begun() -> list[str]:
            return sorted(path.name for path in (node.folder / "incoming").glob("*/v0/segment_*.m4s"))

        async def have_begun() -> list[str]:
            return begun()

        await site.until(have_begun, [f"segment_{number:05}.m4s" for number in range(3)])
        await asyncio.to_thread(node.kill)
    site.world.later(minutes=10)  # nobody is connected, and the command lies there
    site.relay.refuse = b""
    assert await site.copies() == [("node-1", "defrosting")]
    node.start()
    async with site.artifacts_role():  # another one, at the same address
        await site.until_warm(upload)
        assert [row[1:] for row in await site.rows(COMMANDS)] == [("defrost", "done", None)]
        for name, content in SEGMENTS.items():
            assert (await asyncio.to_thread(node.get, site.path(upload, name))).content == content
    assert not list((node.folder / "incoming").iterdir())


async def test_a_defrost_that_fails_ends_and_the_next_one_goes_on(site: Site) -> None:
    upload = await site.ready()
    bucket, video = site.relay.upstream.bucket, video_id(upload.artifact_hash)
    tiers, ours = site.world.parts.tiers, site.world.ours
    async with site.artifacts_role():
        [node] = await started(site, "node-1", RETRY_TIME="0s")
        site.relay.refuse = f"GET /{bucket}/videos/proxy/{video}/1/v0/segment_00003.m4s".encode()
        await tiers.warm(ours, upload.artifact_hash)
        await site.until_open(0)
        assert await site.copies() == [("node-1", "gone")]
        assert [row[1:] for row in await site.rows(COMMANDS)] == [("defrost", "failed", "unavailable")]
        assert await site.storage(upload) == ("s3", 0, True)
        assert (await asyncio.to_thread(node.get, site.path(upload, "index.m3u8"))).status_code == 404
        first = next((node.folder / "incoming").glob("*/v0/segment_00000.m4s")).stat().st_ino
        site.relay.refuse = b""
        await site.warmed(upload)
        [kept] = (node.folder / "artifacts").glob("*/*/*/v0/segment_00000.m4s")
        assert kept.stat().st_ino == first, "what was there was not fetched again"
        names = sorted(path.name for path in kept.parent.glob("segment_*"))
        assert names == [f"segment_{number:05}.m4s" for number in range(10)]


async def test_a_node_is_who_it_was(site: Site, tmp_path: Path) -> None:
    upload = await site.ready()
    async with site.artifacts_role():
        [node] = await started(site, "node-1")
        await site.warmed(upload)
        twin = site.lab.node("node-1", folder="twin")
        twin.start()
        assert await asyncio.to_thread(twin.wait_for_end) == 5
        assert "another node uses this id" in twin.log
        await asyncio.to_thread(node.kill)

        lost = tmp_path / "lost"
        shutil.move(node.folder / "artifacts", lost)  # the disk behind it is gone
        node.start()
        refusal = await refused(site)
        assert "it is empty, and 1 copies are on record" in refusal
        assert await site.copies() == [("node-1", "present")], "no row was lost"
        await asyncio.to_thread(node.kill)

        site.world.later(minutes=1)
        await site.world.parts.nodes.mark_gone()
        other = site.lab.node("node-1", folder="other")
        other.start()
        assert await asyncio.to_thread(other.wait_for_end) == 5
        assert "this is not the folder that the node had" in other.log
        assert await site.copies() == [("node-1", "present")]
        assert await site.world.parts.tier_passes.forget("node-1") == 1
        assert await site.copies() == [("node-1", "gone")]
        assert await site.storage(upload) == ("s3", 0, True)
        other.start()
        await asyncio.to_thread(other.wait_until_ready)
        await site.until(lambda: has_reported(site, "node-1"), True)
        await site.warmed(upload)


async def refused(site: Site) -> str:
    async def refusal() -> bool:
        [node] = await site.world.parts.nodes.listed()
        return node.inventory_refusal is not None

    await site.until(refusal, True)
    [node] = await site.world.parts.nodes.listed()
    assert node.status is NodeStatus.PRESENT
    return node.inventory_refusal or ""


async def test_a_full_node_gives_up_its_coldest_copies_and_no_others(site: Site) -> None:
    sizes = {"unsafe": 310_000, "cold and large": 300_000, "cold and small": 100_000, "pinned": 100_000, "warm": 50_000}
    async with site.artifacts_role():
        [node] = await started(site, "node-1", BUDGET="1000000", IN_USE_FOR="0s")
        for name, size in sizes.items():
            await site.ready(name, {**RENDITION, "v0/segment_00000.m4s": bytes(size)})
            await site.warmed(site.hashes[name])
        await site.until(lambda: uses_more_than(site, 860_000), True)
        await asyncio.to_thread(node.get, site.path(site.hashes["warm"], "index.m3u8"))
        await set_history(site)
        unsafe = site.hashes["unsafe"]
        gone = f"videos/proxy/{video_id(unsafe.artifact_hash)}/1/v0/segment_00002.m4s"
        await site.world.environment.objects.delete(gone)
        await site.world.parts.tier_passes.evict()
        await site.until_open(0)
        left = {"unsafe", "cold and small", "pinned", "warm"}
        assert await present(site) == left, "the coldest is stored nowhere else; the next one made room enough"
        await site.world.environment.objects.put_new(gone, RENDITION["v0/segment_00002.m4s"])


async def uses_more_than(site: Site, size_bytes: int) -> bool:
    [node] = await site.world.parts.nodes.listed()
    return (node.used_bytes or 0) > size_bytes


async def present(site: Site) -> set[str]:
    rows = await site.rows("SELECT artifact_hash FROM serve.artifact_nodes WHERE state = 'present'")
    names = {upload.artifact_hash: name for name, upload in site.hashes.items()}
    return {names[row[0]] for row in rows}


async def set_history(site: Site) -> None:
    """As if the node had had them for days."""
    pinned, now = site.hashes["pinned"].artifact_hash, site.world.clock.now()
    changes: list[tuple[str, tuple[object, ...]]] = [
        ("UPDATE serve.artifacts SET pinned = true WHERE artifact_hash = %s", (pinned,))
    ]
    for name, upload in site.hashes.items():
        days = 0 if name == "warm" else 5
        values = (now - timedelta(days=days), now - timedelta(days=days), upload.artifact_hash)
        query = "UPDATE serve.artifact_nodes SET last_accessed_at = %s, cached_at = %s WHERE artifact_hash = %s"
        changes.append((query, values))
    async with site.world.environment.database.transaction(site.world.ours) as transaction:
        for query, values in changes:
            await transaction.connection.execute(query.encode(), values)


async def test_what_only_a_node_has_is_uploaded_by_a_freeze_and_deleted_no_earlier(site: Site) -> None:
    upload = await site.world.processing()
    # Born on a node: the store has nothing of it.
    async with site.world.environment.database.transaction(site.world.ours) as transaction:
        query = "UPDATE serve.artifacts SET synced = false WHERE artifact_hash = %s"
        await transaction.connection.execute(query.encode(), (upload.artifact_hash,))
    node = site.lab.node("node-1")
    await asyncio.to_thread(born, node.folder, site.world.ours.tenant_id, upload)
    tiers, passes, ours = site.world.parts.tiers, site.world.parts.tier_passes, site.world.ours
    async with site.artifacts_role():
        node.start()
        await site.until(site.copies, [("node-1", "present")])  # its inventory tells
        assert await site.storage(upload) == ("local", 1, False)
        await site.world.artifacts.delete_artifact(ours, upload.artifact_hash)
        await passes.clean_up_orphans()
        assert await site.rows(COMMANDS) == [], "it can be undeleted, and lies nowhere else"
        async with site.world.environment.database.transaction(ours) as transaction:
            query = "UPDATE serve.artifacts SET status = 'processing', deleted_at = NULL WHERE artifact_hash = %s"
            await transaction.connection.execute(query.encode(), (upload.artifact_hash,))
        await tiers.freeze(ours, upload.artifact_hash, keep=True)
        await site.until_open(0)
        artifact = await site.world.artifact(upload)
        assert artifact.synced
        await is_stored_whole(site, artifact)
        assert await site.storage(upload) == ("local", 1, True)
        await site.world.artifacts.delete_artifact(ours, upload.artifact_hash)
        await passes.clean_up_orphans()
        await site.until(site.copies, [("node-1", "gone")])
        assert not list((node.folder / "artifacts").iterdir())


def born(folder: Path, tenant_id: TenantId, upload: Upload) -> None:
    """As a node writes what it records itself."""
    home = folder / "artifacts" / str(tenant_id) / upload.artifact_hash / rendition_name("here")
    files = {name: content for name, content in RENDITION.items() if name != "first.m3u8"} | {"poster.jpg": b"poster"}
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    sizes = {name: len(content) for name, content in files.items()}
    ids = tenant_id, upload.artifact_hash
    write_details(home, LocalCopy(*ids, "here", "", "", sizes, SystemClock().now(), home.name))


async def is_stored_whole(site: Site, artifact: Artifact) -> None:
    objects = site.world.environment.objects
    assert artifact.manifest_key
    folder = artifact.manifest_key.removesuffix("index.m3u8")
    for name, content in RENDITION.items():
        if name != "first.m3u8":
            assert await objects.get(folder + name) == content, name
    assert artifact.poster_key
    assert await objects.get(artifact.poster_key) == b"poster"


async def test_a_command_that_nobody_answers_ends_and_viewers_may_be_asked_to_wait(site: Site) -> None:
    upload = await site.ready()
    async with site.artifacts_role():
        [node] = await started(site, "node-1", RETRY_TIME="1h")
        bucket, video = site.relay.upstream.bucket, video_id(upload.artifact_hash)
        site.relay.refuse = f"GET /{bucket}/videos/proxy/{video}/1/v0/segment_00003.m4s".encode()
        async with another_process(site.world, cold_playback=ColdPlayback.WARM) as waiting:
            for _ in range(2):
                with pytest.raises(Warming) as warming:
                    await waiting.parts.tiers.start_playback(upload.playback_id)
                assert warming.value.retry_after == timedelta(seconds=5)
        await site.until(lambda: has_begun(node), True)
        with pytest.raises(Conflict, match="being warmed"):
            await site.world.parts.tiers.freeze(site.world.ours, upload.artifact_hash)
        site.world.later(hours=2)
        await site.world.parts.tier_passes.end_overdue()
        assert [row[1:] for row in await site.rows(COMMANDS)] == [("defrost", "expired", "deadline_exceeded")]
        assert await site.copies() == [("node-1", "gone")]
        assert await site.storage(upload) == ("s3", 0, True)
        site.relay.refuse = b""  # now it is done, and late: what it has is found by its next inventory
        await site.until(lambda: has_whole(node), True)
        assert await site.copies() == [("node-1", "gone")]
        await asyncio.to_thread(node.kill)
        node.start()
        await site.until(site.copies, [("node-1", "present")])


async def has_begun(node: NodeProcess) -> bool:
    return bool(list((node.folder / "incoming").glob("*/v0/segment_00002.m4s")))


async def has_whole(node: NodeProcess) -> bool:
    return bool(list((node.folder / "artifacts").glob("*/*/*/copy.json")))


def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    folder = CopyFolder(tmp_path, SystemClock())
    folder.open()
    other = CopyFolder(tmp_path, SystemClock())
    with pytest.raises(Exception, match="another node uses this folder"):
        other.open()
    folder.close()

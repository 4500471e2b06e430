"""Damage of copies is planted on the disk of a real node, found, named, and repaired where nothing can be lost."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.nodes import NodeProcess
from tests.support.postgres import PostgresServer
from touchline.contracts.registry import Upload
from touchline.kernel import SystemClock, video_id
from touchline.platform.endpoints import PostgresEndpoint
from touchline.serve.fsck.inventories import NodeInventories
from touchline.serve.fsck.rules import Repair
from touchline.serve.fsck.service import FsckReport
from touchline.serve.playback.tokens import InventoryTokens

from .conftest import SECRET
from .test_fsck import Bucket, found
from .test_tiers import Site, site, started  # noqa: F401  pytest finds the fixture here

WANTED = (
    *("whole", "cut_off", "gone_from_disk", "forgotten", "left_half", "purged"),
    *("born_here", "lost_in_store", "last_copy"),  # what the object store does not have
)


@dataclass(frozen=True, slots=True)
class NodeBucket:
    """The bucket, and one node that has a copy of each of these uploads."""

    bucket: Bucket
    site: Site
    node: NodeProcess
    uploads: dict[str, Upload]

    def hash(self, name: str) -> str:
        return self.uploads[name].artifact_hash

    def folder(self, name: str) -> Path:
        [details] = self.node.folder.glob(f"artifacts/*/{self.hash(name)}/*/copy.json")
        return details.parent

    async def tamper(self, name: str, change: str) -> None:
        await self.bucket.tamper(f"UPDATE {change} WHERE artifact_hash = %s", self.hash(name))

    async def run(self, **changed: bool) -> FsckReport:
        async with httpx.AsyncClient(trust_env=False) as http:
            inventories = NodeInventories(http, InventoryTokens(SECRET), SystemClock())
            return await self.bucket.run(inventories=inventories, **changed)

    async def copies(self, name: str) -> list[str]:
        rows = await self.site.rows("SELECT artifact_hash, state FROM serve.artifact_nodes")
        return [state for artifact_hash, state in rows if artifact_hash == self.hash(name)]


@pytest.fixture
async def copies(
    site: Site,  # noqa: F811  the fixture
    postgres: PostgresEndpoint,
    postgres_server: PostgresServer,
) -> AsyncGenerator[NodeBucket]:
    site.world.until(datetime.now(UTC) + timedelta(days=2))
    database = str(conninfo_to_dict(postgres.app_url)["dbname"])
    async with site.artifacts_role(), httpx.AsyncClient(trust_env=False) as http:
        bucket = Bucket(site.world, postgres_server.superuser(database), http)
        [node] = await started(site, "node-1")
        uploads = {name: await bucket.playable() for name in WANTED}
        for upload in uploads.values():
            await site.warmed(upload)
        yield NodeBucket(bucket, site, node, uploads)


async def test_damage_of_copies_is_found_and_only_what_lies_elsewhere_is_given_up(copies: NodeBucket) -> None:
    assert found(await copies.run()) == set()
    expected = await planted(copies)
    first = await copies.run()
    assert found(first) == expected
    assert found(await copies.run()) == expected, "looking changes nothing"

    mended = await copies.run(repair=True)
    assert found(mended) == expected
    assert mended.repaired[Repair.DELETE_COPY] == 3
    assert mended.repaired[Repair.FORGET_COPY] == 1
    assert mended.repaired[Repair.RECORD_COPY] == 2
    assert mended.repaired[Repair.FREEZE_AGAIN] == 1
    await copies.site.until_open(0)
    assert await copies.copies("cut_off") == ["gone"]
    assert await copies.copies("gone_from_disk") == ["gone"]
    assert await copies.copies("forgotten") == ["present"]
    for name in ("cut_off", "left_half", "purged"):
        assert not list(copies.node.folder.glob(f"artifacts/*/{copies.hash(name)}/*")), name
    assert (copies.folder("last_copy") / "v0" / "1.m4s").exists(), "what lies nowhere else stays"
    for name in ("lost_in_store", "born_here"):
        again = await copies.site.world.artifact(copies.uploads[name])
        assert again.synced
        assert again.manifest_key
        assert "/1/index.m3u8" not in again.manifest_key, "a node has stored it anew"
    strange = next(damage for damage in expected if damage[1] not in map(copies.hash, WANTED))
    lost = {damage for damage in expected if damage[1] == copies.hash("last_copy")}
    left = {*lost, strange, ("file_missing", copies.hash("lost_in_store"))}
    assert found(await copies.run()) == left

    await asyncio.to_thread(copies.node.kill)
    unheard = await copies.run(repair=True)
    of_copies = {(kind, what) for kind, what in left if kind.startswith("copy_")}
    assert found(unheard) == left - of_copies | {("node_refused", "node-1")}, "who was not heard lost nothing"


async def planted(copies: NodeBucket) -> set[tuple[str, str]]:
    bucket = copies.bucket
    (copies.folder("cut_off") / "v0" / "1.m4s").write_bytes(b"")
    shutil.rmtree(copies.folder("gone_from_disk"))
    await copies.tamper("forgotten", "serve.artifact_nodes SET state = 'gone', gone_at = now()")
    await copies.tamper("forgotten", "serve.artifacts SET local_copies = 0")
    (copies.folder("left_half") / "index.m3u8").unlink()  # as if it had been started since: not among its copies
    await copies.tamper("left_half", "serve.artifact_nodes SET state = 'gone', gone_at = now()")
    await copies.tamper("left_half", "serve.artifacts SET local_copies = 0")
    await copies.tamper("born_here", "serve.artifact_nodes SET state = 'gone', gone_at = now()")
    await copies.tamper("born_here", "serve.artifacts SET local_copies = 0, synced = false, status = 'failed'")
    for name in ("lost_in_store", "last_copy"):
        video = video_id(copies.uploads[name].artifact_hash)
        await bucket.lose(f"videos/original/{video}/master.mp4")
        await bucket.lose(f"videos/proxy/{video}/1/v0/1.m4s")
    (copies.folder("last_copy") / "v0" / "2.m4s").write_bytes(b"")
    stranger = copies.node.folder / "artifacts" / str(bucket.world.ours.tenant_id) / uuid4().hex
    await asyncio.to_thread(shutil.copytree, copies.folder("whole").parent, stranger)
    now = copies.bucket.world.clock.now()
    await copies.tamper("purged", "serve.artifact_nodes SET state = 'gone', gone_at = now()")
    await bucket.tamper(
        "UPDATE serve.artifacts SET status = 'deleted', local_copies = 0, deleted_at = %s, purge_due_at = %s,"
        " purged_at = %s WHERE artifact_hash = %s",
        *(now, now, now, copies.hash("purged")),
    )
    named = {
        ("copy_differs", "cut_off"),
        ("copy_unseen", "gone_from_disk"),
        ("copy_unknown", "forgotten"),
        ("copy_unknown", "left_half"),
        ("copy_unknown", "born_here"),
        ("copy_unknown", "purged"),
        ("purge_incomplete", "purged"),
        ("file_missing", "lost_in_store"),
        ("rendition_incomplete", "lost_in_store"),
        ("file_missing", "last_copy"),
        ("rendition_incomplete", "last_copy"),
        ("copy_differs", "last_copy"),
    }
    return {(kind, copies.hash(name)) for kind, name in named} | {("copy_unknown", stranger.name)}

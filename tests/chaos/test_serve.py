"""Every step of a video through storage, and every part that may die in the middle of it: one table makes the tests.

The middle is a state that can be seen: a request that has left its sender and not reached the object store, a call that
waits for a row, a command that has reached a node. There the victim is killed; then it comes back, deadlines pass, and
whoever asked asks again. Nothing may be lost, half done or past its deadline.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

import psycopg
import pytest

from touchline.contracts.registry import NewClip
from touchline.kernel import ArtifactHash, TouchlineError, video_id
from touchline.platform.retry import is_transient

from .serve_cluster import LOOK_AGAIN_S, OPEN_AT, OVERDUE, WAITING_FOR_LOCKS, Cluster, Playable, running_cluster

pytestmark = pytest.mark.timeout(600)
OF_KEY = "SELECT artifact_hash FROM serve.idempotency_keys WHERE key = %s"
CLIPS_OF = "SELECT artifact_hash FROM serve.clips WHERE source_hash = %s AND deleted_at IS NULL"
DELETED_LONG_AGO = "UPDATE serve.artifacts SET deleted_at = deleted_at - interval '31 days' WHERE artifact_hash = %s"


@pytest.fixture(scope="module")
async def cluster() -> AsyncGenerator[Cluster]:
    """One for the whole table: whoever dies comes back."""
    async with running_cluster() as cluster:
        yield cluster


# --- Where the middle of a step is.


class Pause(Protocol):
    async def begin(self) -> None: ...
    async def is_reached(self) -> bool: ...
    async def end(self, victim: str) -> None: ...


@dataclass
class HeldRequest:
    """Its sender waits for the object store."""

    cluster: Cluster
    sender: str
    request: str

    async def begin(self) -> None:
        self.cluster.relay.hold(self.request)

    async def is_reached(self) -> bool:
        return self.cluster.relay.is_holding

    async def end(self, victim: str) -> None:
        self.cluster.relay.release(forget=victim in (self.sender, "object store"))


@dataclass
class LockedRow:
    """The artifacts role waits for the artifact's row, and the registry for the artifacts role."""

    cluster: Cluster
    artifact_hash: str
    connection: psycopg.AsyncConnection | None = None

    async def begin(self) -> None:
        self.connection = await psycopg.AsyncConnection.connect(self.cluster.superuser_url)
        query = "SELECT FROM serve.artifacts WHERE artifact_hash = %s FOR UPDATE"
        await self.connection.execute(query, (self.artifact_hash,))

    async def is_reached(self) -> bool:
        [[waiting]] = await self.cluster.rows(WAITING_FOR_LOCKS)
        return waiting > 0

    async def end(self, victim: str) -> None:
        assert self.connection
        await self.connection.close()


@dataclass
class StoppedNode:
    """A command has reached a node, which does nothing any more."""

    cluster: Cluster
    node_id: str
    artifact_hash: str
    kind: str

    async def begin(self) -> None:
        process = self.cluster.node(self.node_id).process
        assert process
        os.kill(process.pid, signal.SIGSTOP)

    async def is_reached(self) -> bool:
        await self.cluster.pass_time()
        return bool(await self.cluster.rows(OPEN_AT, self.artifact_hash, self.kind))

    async def end(self, victim: str) -> None:
        """It was killed as it stood."""


# --- The steps.


@dataclass
class Step:
    """`act` is what somebody asks for, once or again; `now` is how far it has come."""

    cluster: Cluster
    holder: str = "node-1"  # the node that dies

    async def prepare(self) -> None:
        """What is there before."""

    def pause(self, victim: str) -> Pause:
        raise NotImplementedError

    async def act(self) -> None:
        raise NotImplementedError

    async def now(self) -> str:
        raise NotImplementedError

    async def videos(self) -> list[Playable]:
        """Whose bytes are promised, now and in the end."""
        return []

    async def status(self, artifact_hash: str) -> str:
        state = await self.cluster.state(artifact_hash)
        return state.status if state else "nothing"


@dataclass
class Create(Step):
    key: str = field(default_factory=lambda: uuid4().hex)
    found: set[str] = field(default_factory=set[str])

    def pause(self, victim: str) -> Pause:
        return HeldRequest(self.cluster, "artifacts", r"POST \S+\?uploads")

    async def act(self) -> None:
        self.found.add(await self.cluster.created(self.key))
        assert len(self.found) == 1, "one key, one upload"

    async def now(self) -> str:
        rows = await self.cluster.rows(OF_KEY, self.key)
        status = await self.status(rows[0][0]) if rows else "nothing"
        # The same key continues what was registered; if nobody comes, its owner ends it in its time.
        return {"nothing": "undone", "requested": "undone", "uploading": "done"}[status]


@dataclass
class Existing(Step):
    """A step of a video that is playable already."""

    made: Playable | None = None

    @property
    def video(self) -> Playable:
        assert self.made
        return self.made

    async def prepare(self) -> None:
        self.made = await self.cluster.playable()

    async def videos(self) -> list[Playable]:
        return [self.video]

    @property
    def segment(self) -> str:
        """One in the middle of its rendition, as requests name it."""
        return rf"\S*videos/proxy/{video_id(self.video.artifact_hash)}/\S*segment_00002"


@dataclass
class Complete(Step):
    sent: ArtifactHash | None = None

    async def prepare(self) -> None:
        self.sent = await self.cluster.sent()

    def pause(self, victim: str) -> Pause:
        return HeldRequest(self.cluster, "artifacts", r"POST \S+\?uploadId=")

    async def act(self) -> None:
        assert self.sent
        await self.cluster.artifacts.complete_upload(self.cluster.ours, self.sent)

    async def now(self) -> str:
        assert self.sent
        return {"uploading": "undone", "ready": "done"}[await self.status(self.sent)]

    async def videos(self) -> list[Playable]:
        assert self.sent
        if await self.now() == "undone":
            return []
        video = await self.cluster.when_playable(self.sent)
        assert video.original == self.cluster.video
        return [video]


@dataclass
class Freeze(Existing):
    """Of a copy that has what the object store has lost."""

    async def prepare(self) -> None:
        await super().prepare()
        self.holder = await self.cluster.warm(self.video)
        await lose_a_segment(self.cluster, self.video)

    def pause(self, victim: str) -> Pause:
        return HeldRequest(self.cluster, "node", f"PUT {self.segment}")

    async def act(self) -> None:
        await self.cluster.storage.freeze(self.cluster.ours, self.video.artifact_hash)

    async def now(self) -> str:
        copies = await self.cluster.copies(self.video.artifact_hash)
        return {(): "done", (self.holder,): "undone"}[tuple(copies)]


@dataclass
class Defrost(Existing):
    def pause(self, victim: str) -> Pause:
        return HeldRequest(self.cluster, "node", f"GET {self.segment}")

    async def act(self) -> None:
        await self.cluster.storage.warm(self.cluster.ours, self.video.artifact_hash)

    async def now(self) -> str:
        copies = await self.cluster.copies(self.video.artifact_hash)
        return {(): "undone", ("present",): "done"}[tuple(copies.values())]


@dataclass
class Clip(Existing):
    async def clips(self) -> list[ArtifactHash]:
        return [row[0] for row in await self.cluster.rows(CLIPS_OF, self.video.artifact_hash)]

    def pause(self, victim: str) -> Pause:
        return HeldRequest(self.cluster, "worker", r"(PUT|POST) \S*videos/clips/")

    async def act(self) -> None:
        new = NewClip(self.video.artifact_hash, 1000, 4000, title="The goal")
        await self.cluster.registry.create_clip(self.cluster.ours, new)

    async def now(self) -> str:
        clips = await self.clips()
        assert len(clips) <= 1, "one range, one clip"
        return {"nothing": "undone", "ready": "done"}[await self.status(clips[0]) if clips else "nothing"]

    async def videos(self) -> list[Playable]:
        return [self.video, *[await self.cluster.when_playable(each) for each in await self.clips()]]


@dataclass
class Delete(Existing):
    async def prepare(self) -> None:
        await super().prepare()
        self.holder = await self.cluster.warm(self.video)

    def pause(self, victim: str) -> Pause:
        """In the call, and behind it: its copy goes where the object store was seen to have the video."""
        if victim == "node":
            return StoppedNode(self.cluster, self.holder, self.video.artifact_hash, "delete")
        if victim == "object store":
            looks = rf"HEAD \S*videos/proxy/{video_id(self.video.artifact_hash)}/"
            return HeldRequest(self.cluster, "artifacts", looks)
        return LockedRow(self.cluster, self.video.artifact_hash)

    async def act(self) -> None:
        await self.cluster.registry.delete_upload(self.cluster.ours, self.video.artifact_hash)

    async def now(self) -> str:
        status, copies = (
            await self.status(self.video.artifact_hash),
            await self.cluster.copies(self.video.artifact_hash),
        )
        return {("ready", 1): "undone", ("deleted", 0): "done"}[status, len(copies)]


@dataclass
class Purge(Existing):
    """Of what was deleted a month ago."""

    async def prepare(self) -> None:
        await super().prepare()
        await self.cluster.registry.delete_upload(self.cluster.ours, self.video.artifact_hash)

    def pause(self, victim: str) -> Pause:
        return HeldRequest(
            self.cluster, "artifacts", rf"DELETE \S*videos/original/{video_id(self.video.artifact_hash)}"
        )

    async def act(self) -> None:
        await self.cluster.rows(DELETED_LONG_AGO, self.video.artifact_hash)
        await self.cluster.pass_time()

    async def now(self) -> str:
        state = await self.cluster.state(self.video.artifact_hash)
        assert state
        assert state.purged_at
        folders = [f"videos/{folder}/{video_id(self.video.artifact_hash)}/" for folder in ("original", "proxy")]
        left = [each.key for folder in folders for each in (await self.cluster.objects.list(folder)).objects]
        assert left == [], "its row says that nothing is left"
        return "done"


STEPS: dict[str, Callable[[Cluster], Step]] = {
    "create": Create,
    "upload": Complete,
    "freeze": Freeze,
    "defrost": Defrost,
    "clip": Clip,
    "delete": Delete,
    "purge": Purge,
}
VICTIMS = ("node", "artifacts", "registry", "object store", "postgres")


@pytest.mark.chaos(seconds=30)
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("step", STEPS)
async def test_a_step_is_done_or_undone_whoever_dies_in_the_middle_of_it(
    cluster: Cluster, step: str, victim: str
) -> None:
    work = STEPS[step](cluster)
    await work.prepare()
    await die_in_the_middle(cluster, work, victim)

    await cluster.settle()
    assert await work.now() in ("done", "undone")
    await nothing_is_lost(cluster, work)

    await again(work.act)
    await cluster.settle()
    assert await work.now() == "done"
    await nothing_is_lost(cluster, work)
    assert await cluster.rows(OVERDUE) == []
    report = await cluster.fsck()
    assert (report.damages, report.left) == ([], 0)


async def die_in_the_middle(cluster: Cluster, work: Step, victim: str) -> None:
    pause = work.pause(victim)
    await pause.begin()
    acting = asyncio.create_task(work.act())
    try:
        await until_reached(cluster, pause, acting)
        dies = await victim_of(cluster, work, victim)
        await cluster.kill(dies)
        await pause.end(victim)
        await cluster.restart(dies)
    finally:
        cluster.relay.release(forget=True)
        [said] = await asyncio.gather(acting, return_exceptions=True)
    assert said is None or (isinstance(said, TouchlineError) and is_transient(said)), said


async def until_reached(cluster: Cluster, pause: Pause, acting: asyncio.Task[None]) -> None:
    async def look() -> bool:
        assert not acting.done() or acting.exception() is None, acting.exception()
        await cluster.pass_time()
        return await pause.is_reached()

    await cluster.until(look, "its middle is not reached")


async def victim_of(cluster: Cluster, work: Step, victim: str) -> str:
    """Of the nodes it is the one that has a command, or else any."""
    if victim != "node":
        return victim
    asked = await cluster.rows("SELECT node_id FROM serve.node_commands WHERE outcome IS NULL")
    return asked[0][0] if asked else work.holder


async def again(act: Callable[[], Awaitable[None]]) -> None:
    """As somebody does who was told to."""
    for _ in range(50):
        try:
            return await act()
        except TouchlineError as error:
            if not is_transient(error):
                raise
            await asyncio.sleep(LOOK_AGAIN_S)
    raise AssertionError("it never works again")


async def nothing_is_lost(cluster: Cluster, work: Step) -> None:
    for video in await work.videos():
        assert await cluster.lost_bytes(video) == []


# --- Who comes at once, and who comes late.


@pytest.mark.chaos(seconds=30)
async def test_twenty_viewers_of_a_cold_clip_are_one_defrost(cluster: Cluster) -> None:
    clip = await clip_of(cluster, await cluster.playable())
    await asyncio.gather(*(cluster.storage.start_playback(clip.playback_id) for _ in range(20)))
    await cluster.settle()
    assert await cluster.commands(clip.artifact_hash) == [("defrost", "done")]
    assert list((await cluster.copies(clip.artifact_hash)).values()) == ["present"]
    assert await cluster.lost_bytes(clip) == []


async def clip_of(cluster: Cluster, source: Playable) -> Playable:
    new = NewClip(source.artifact_hash, 1000, 4000, title="The goal")
    created = await cluster.registry.create_clip(cluster.ours, new)
    return await cluster.when_playable(created.clip.artifact_hash)


@pytest.mark.chaos(seconds=30)
async def test_of_two_nodes_that_have_it_one_freezes(cluster: Cluster) -> None:
    video = await cluster.playable()
    first = await cluster.warm(video)
    await cluster.kill(first)
    await cluster.rows("UPDATE serve.nodes SET status = 'gone' WHERE node_id = %s", first)
    await cluster.storage.warm(cluster.ours, video.artifact_hash)
    await cluster.settle()
    await cluster.restart(first)
    assert list((await cluster.copies(video.artifact_hash)).values()) == ["present", "present"]
    await lose_a_segment(cluster, video)

    freeze = cluster.storage.freeze
    await asyncio.gather(*(freeze(cluster.ours, video.artifact_hash) for _ in range(2)))
    await cluster.settle()
    kinds = sorted(kind for kind, outcome in await cluster.commands(video.artifact_hash) if outcome == "done")
    assert kinds == ["defrost", "defrost", "delete", "delete", "freeze"]
    assert await cluster.copies(video.artifact_hash) == {}
    assert await cluster.lost_bytes(video) == []
    assert (await cluster.fsck()).damages == []


@pytest.mark.chaos(seconds=30)
async def test_a_late_done_after_a_delete_is_counted_and_ignored(cluster: Cluster) -> None:
    video, before = await cluster.playable(), await late_acknowledgements(cluster)
    work = Defrost(cluster, made=video)
    pause = work.pause("")
    await pause.begin()
    await work.act()
    await cluster.until(pause.is_reached, "its middle is not reached")
    await cluster.registry.delete_upload(cluster.ours, video.artifact_hash)
    await pause.end("")
    await cluster.settle()
    assert await late_acknowledgements(cluster) == before + 1
    assert await cluster.copies(video.artifact_hash) == {}
    assert await work.status(video.artifact_hash) == "deleted"
    assert await cluster.lost_bytes(video) == []
    assert (await cluster.fsck()).damages == []


async def late_acknowledgements(cluster: Cluster) -> float:
    answer = await cluster.http.get(f"http://127.0.0.1:{cluster.roles.health['artifacts']}/metrics")
    name = "touchline_node_late_acknowledgements_total "
    return next(float(line.removeprefix(name)) for line in answer.text.splitlines() if line.startswith(name))


async def lose_a_segment(cluster: Cluster, video: Playable) -> None:
    """Of the object store's rendition: what is left of it lies on a node."""
    state = await cluster.state(video.artifact_hash)
    assert state
    assert state.manifest_key
    [segment] = [name for name in video.rendition if "segment_00001" in name]
    await cluster.objects.delete(state.manifest_key.replace("index.m3u8", segment))

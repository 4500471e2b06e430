"""The node's line to the artifacts role: it reports, is sent commands, does them, and says what became of each.

Invariants: a line that breaks is opened again, and nothing that was under way stops meanwhile. A command that comes
again is not done again: its answer is given again. An inventory leaves as a whole, between two acknowledgements.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

from touchline.contracts.rpc.v1 import node_pb2 as pb
from touchline.kernel import (
    ArtifactHash,
    Conflict,
    Defect,
    NotFound,
    TenantId,
    TouchlineError,
    Unavailable,
    epoch_ms,
    parse_artifact_hash,
)
from touchline.platform.retry import is_transient, retry_forever
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import to_failure
from touchline.serve.live.authority import StreamReporter

from .folder import CopyFolder, LocalCopy
from .live_clips import LiveClips
from .media import MediaApp
from .recorder import Recorder
from .recordings import EPOCH, RecordingPlace
from .transfers import Keys, Transfers

SERVICE = pb.DESCRIPTOR.services_by_name["Nodes"]
MILLISECOND = timedelta(milliseconds=1)
RETRY_AFTER = timedelta(milliseconds=200)
COPIES_A_PART = 500
WATCHED_FOR = timedelta(minutes=1)
REMEMBERED = 1000  # answers to commands, for when they come again
COMMANDS = frozenset({"clip_pull", "dvr_start", "dvr_stop", "freeze", "defrost", "delete"})
LOST = "the node's folder is missing"
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NodeName:
    """How the node presents itself."""

    node_id: str
    base_url: str
    version: str
    locality: str
    publish_urls: tuple[str, ...] = ()  # where encoders publish to


@dataclass(slots=True)
class NodeLine:
    name: NodeName
    client: RpcClient
    folder: CopyFolder
    transfers: Transfers
    media: MediaApp
    streams: StreamReporter
    recorder: Recorder
    clips: LiveClips
    refusal: str = ""  # why the last inventory was not taken over
    is_connected: bool = False
    _was_welcome: bool = False
    _outgoing: asyncio.Queue[pb.NodeMessage] = field(default_factory=asyncio.Queue["pb.NodeMessage"])
    _working: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])
    _answers: OrderedDict[str, pb.CommandAcknowledgement] = field(
        default_factory=OrderedDict[str, "pb.CommandAcknowledgement"]
    )
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])
    _report: pb.AccessReport | None = None  # sent, and not acknowledged

    def __post_init__(self) -> None:
        self.streams.say = self.say_streams

    @property
    def why_not_ready(self) -> str:
        """Empty: it is. Without a line it goes on sending what it has, but nobody new is sent to it."""
        return self.trouble or self.refusal or ("" if self.is_connected else "the artifacts role cannot be reached")

    @property
    def trouble(self) -> str:
        return "" if self.folder.is_there() else LOST

    async def run(self) -> None:
        """Until cancelled; raises what trying again does not mend, like a name that another node has."""
        await retry_forever(self._line, RETRY_AFTER, logger)

    async def _line(self) -> None:
        """One that was welcomed and breaks is no failure: a node that lived through many of them is soon back."""
        self._was_welcome = False
        try:
            await self._connection()
        except Exception as error:
            if not (self._was_welcome and is_transient(error)):
                raise
            logger.warning("the line broke", extra={"reason": str(error)})
            await asyncio.sleep(RETRY_AFTER.total_seconds())

    async def _connection(self) -> None:
        self._outgoing = asyncio.Queue()
        stub = Stub(self.client, SERVICE)
        reporting: list[asyncio.Task[None]] = []
        try:
            async with aclosing(stub.connect("Connect", self._messages(), pb.NodeCommand)) as commands:
                async for command in commands:
                    if command.HasField("suspended_tenants"):
                        self._hear_suspended(command.suspended_tenants)
                    elif command.HasField("stop_stream"):
                        asked = command.stop_stream
                        self.streams.streams.stop(UUID(asked.stream_id).hex, asked.session_id, asked.why)
                    elif command.HasField("welcome"):
                        self._hear_suspended(command.welcome.suspended_tenants)
                        self.is_connected = self._was_welcome = True
                        reporting = [
                            asyncio.create_task(self._keep_reporting(command.welcome.heartbeat_ms * MILLISECOND)),
                            asyncio.create_task(self._keep_listing(command.welcome.inventory_ms * MILLISECOND)),
                            asyncio.create_task(self._keep_recording(command.welcome.heartbeat_ms * MILLISECOND)),
                        ]
                    else:
                        self._heard(command)
        finally:
            self.is_connected = False
            for task in reporting:
                task.cancel()
            await asyncio.gather(*reporting, return_exceptions=True)
        raise Unavailable("the artifacts role closed the connection", why=self.name.node_id)

    def _hear_suspended(self, message: pb.SuspendedTenants) -> None:
        suspended = frozenset(map(UUID, message.tenant_ids))
        self.media.access.hear(suspended)
        self.streams.streams.stop_tenants(suspended)

    async def _messages(self) -> AsyncIterator[pb.NodeMessage]:
        registration = pb.NodeRegistration(
            node_id=self.name.node_id,
            base_url=self.name.base_url,
            version=self.name.version,
            instance_id=str(self.folder.instance_id),
            locality=self.name.locality,
            publish_urls=self.name.publish_urls,
        )
        yield pb.NodeMessage(registration=registration)
        outgoing = self._outgoing
        while True:
            yield await outgoing.get()

    # --- Reports.

    async def _keep_reporting(self, every: timedelta) -> None:
        """Often enough to be counted as present."""
        while True:
            self._say(storage=self._storage())
            self.streams.report()
            if report := self._accesses():
                self._say(accesses=report)
            await asyncio.sleep(every.total_seconds() / 2)

    def _storage(self) -> pb.NodeStorage:
        trouble = self.trouble
        return pb.NodeStorage(
            budget_bytes=self.transfers.budget_bytes,
            used_bytes=self.folder.used_bytes,
            free_bytes=0 if trouble else self.folder.free_bytes,
            load=self.media.load,
            trouble=trouble,
        )

    def _accesses(self) -> pb.AccessReport | None:
        """The one that was not acknowledged, or all accesses since the one before."""
        if self._report is not None:
            return self._report
        seen = [copy for copy in self.folder.copies() if _has_news(copy)]
        if not seen:
            return None
        self._report = pb.AccessReport(sequence=epoch_ms(self.transfers.clock.now()))
        for copy in seen[:COPIES_A_PART]:
            self._report.accesses.add(
                tenant_id=str(copy.tenant_id),
                artifact_hash=copy.artifact_hash,
                count=copy.accesses,
                last_accessed_at_ms=epoch_ms(copy.last_accessed_at) if copy.last_accessed_at else 0,
            )
            copy.accesses, copy.reported_access_at = 0, copy.last_accessed_at
        return self._report

    async def _keep_recording(self, every: timedelta) -> None:
        """As soon as there is something of a recording to report, and often enough to show that it goes on."""
        news = self.recorder.news
        while True:
            news.clear()
            for report in self.recorder.reports():
                self._outgoing.put_nowait(pb.NodeMessage(dvr_report=report))
            with suppress(TimeoutError):
                async with asyncio.timeout(every.total_seconds() / 2):
                    await news.wait()

    async def _keep_listing(self, every: timedelta) -> None:
        while True:
            if not self.trouble:
                self._list()
            await asyncio.sleep(every.total_seconds())

    def _list(self) -> None:
        """All parts at once: what is acknowledged in between would look as if it were missing."""
        inventory_id, copies = uuid4().hex, [held(copy) for copy in self.folder.copies()]
        parts = [copies[start : start + COPIES_A_PART] for start in range(0, len(copies), COPIES_A_PART)] or [[]]
        for sequence, part in enumerate(parts):
            final = sequence == len(parts) - 1
            self._say(
                inventory=pb.InventoryChunk(inventory_id=inventory_id, sequence=sequence, copies=part, final=final)
            )

    def _say(
        self,
        *,
        storage: pb.NodeStorage | None = None,
        accesses: pb.AccessReport | None = None,
        inventory: pb.InventoryChunk | None = None,
        acknowledgement: pb.CommandAcknowledgement | None = None,
        streams: pb.StreamsReport | None = None,
    ) -> None:
        self._outgoing.put_nowait(
            pb.NodeMessage(
                storage=storage,
                accesses=accesses,
                inventory=inventory,
                acknowledgement=acknowledgement,
                streams=streams,
            )
        )

    def say_streams(self, report: pb.StreamsReport) -> bool:
        """False: there is no line now."""
        if self.is_connected:
            self._say(streams=report)
        return self.is_connected

    # --- Commands.

    def _heard(self, message: pb.NodeCommand) -> None:
        kind = message.WhichOneof("command")
        if kind == "access_answer":
            if self._report and self._report.sequence == message.access_answer.sequence:
                self._report = None
        elif kind == "inventory_answer":
            self._listed(message.inventory_answer)
        elif kind == "dvr_answer":
            self._answer_recording(message.dvr_answer)
        elif kind in COMMANDS:
            self._begin(message, getattr(message, kind).head)

    def _answer_recording(self, answer: pb.DVRAnswer) -> None:
        task = asyncio.create_task(self.recorder.answered(answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _listed(self, answer: pb.InventoryAnswer) -> None:
        self.refusal = f"{answer.refusal.what}: {answer.refusal.why}" if answer.HasField("refusal") else ""
        if self.refusal:
            logger.error("the inventory was refused", extra={"reason": self.refusal, "hint": answer.refusal.hint})

    def _begin(self, message: pb.NodeCommand, head: pb.CommandHead) -> None:
        if known := self._answers.get(head.id):
            self._say(acknowledgement=known)
        elif head.id not in self._working:
            task = asyncio.create_task(self._work(message, head))
            self._working[head.id] = task
            task.add_done_callback(lambda _: self._working.pop(head.id, None))

    async def _work(self, message: pb.NodeCommand, head: pb.CommandHead) -> None:
        """Its answer is said on whatever line there is by then."""
        try:
            done = await self._done(message, TenantId(UUID(head.tenant_id)), parse_artifact_hash(head.artifact_hash))
            answer = pb.CommandAcknowledgement(command_id=head.id, done=done)
        except TouchlineError as error:
            logger.warning("a command failed", extra={"command": head.id, "reason": str(error)})
            answer = pb.CommandAcknowledgement(command_id=head.id, failure=to_failure(error))
        except Exception as error:
            logger.exception("a command failed", extra={"command": head.id})
            answer = pb.CommandAcknowledgement(command_id=head.id, failure=to_failure(error))
        self._answers[head.id] = answer
        while len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)
        self._say(acknowledgement=answer)

    async def _done(self, message: pb.NodeCommand, tenant_id: TenantId, artifact_hash: ArtifactHash) -> pb.CommandDone:
        match message.WhichOneof("command"):
            case "defrost":
                copy = await self.transfers.defrost(tenant_id, artifact_hash, _keys(message.defrost.keys))
                return pb.CommandDone(copy=held(copy))
            case "freeze":
                return await self._freeze(tenant_id, artifact_hash, message.freeze)
            case "delete":
                await self._delete(tenant_id, artifact_hash, message.delete)
                return pb.CommandDone()
            case "clip_pull":
                return await self.clips.cut(tenant_id, message.clip_pull, partial(self._progressed, message))
            case "dvr_start":
                place = RecordingPlace(tenant_id, artifact_hash, UUID(message.dvr_start.head.id))
                begins = EPOCH + message.dvr_start.from_ms * MILLISECOND
                await self.recorder.start(place, message.dvr_start.internal_name, begins)
                return pb.CommandDone()
            case "dvr_stop":
                self.recorder.stop(tenant_id, artifact_hash)
                return pb.CommandDone()
            case _:
                raise Defect("this version does not know the command")

    def _progressed(self, message: pb.NodeCommand, percent: int) -> None:
        progress = pb.CommandProgress(command_id=message.clip_pull.head.id, percent=percent)
        self._outgoing.put_nowait(pb.NodeMessage(progress=progress))

    async def _freeze(self, tenant_id: TenantId, artifact_hash: ArtifactHash, asked: pb.Freeze) -> pb.CommandDone:
        copy = self.folder.find(tenant_id, artifact_hash)
        if copy is None:
            raise NotFound("this node does not have the artifact", why=artifact_hash)
        prefixes = asked.rendition_prefix, asked.poster_prefix
        frozen = await self.transfers.freeze(copy, _keys(asked.keys), *prefixes)
        return pb.CommandDone(
            copy=held(frozen.copy),
            manifest_key=frozen.copy.manifest_key,
            poster_key=frozen.copy.poster_key,
            object_count=frozen.object_count,
            object_bytes=frozen.object_bytes,
        )

    async def _delete(self, tenant_id: TenantId, artifact_hash: ArtifactHash, asked: pb.Delete) -> None:
        copy = self.folder.find(tenant_id, artifact_hash)
        is_meant = copy is not None and copy.manifest_key == asked.manifest_key
        in_use = copy is not None and self.media.is_in_use(copy, self.transfers.settings.in_use_for)
        if is_meant and in_use and not asked.also_in_use:
            raise Conflict("this copy is being watched", why=artifact_hash)
        await asyncio.to_thread(self.folder.delete, tenant_id, artifact_hash, asked.manifest_key)


def _has_news(copy: LocalCopy) -> bool:
    """It was opened, or is being watched for long: that is no new access, but it is not cold either."""
    if copy.last_accessed_at is None:
        return False
    reported_at = copy.reported_access_at
    return copy.accesses > 0 or reported_at is None or copy.last_accessed_at - reported_at >= WATCHED_FOR


def held(copy: LocalCopy) -> pb.HeldCopy:
    segments = copy.segments
    return pb.HeldCopy(
        tenant_id=str(copy.tenant_id),
        artifact_hash=copy.artifact_hash,
        manifest_key=copy.manifest_key,
        size_bytes=copy.size_bytes,
        segment_count=len(segments),
        segment_bytes=sum(segments),
        cached_at_ms=epoch_ms(copy.cached_at),
    )


def _keys(keys: pb.RenditionKeys) -> Keys:
    return Keys(keys.manifest_key, keys.poster_key, keys.clip_key)

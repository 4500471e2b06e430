"""The line to a node: it registers, then reports, and is sent its commands; who is silent for too long is hung up on.

Invariants: messages of a node are worked off in the order in which they come. A command is sent once on each line, and
again on the next one until it is acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from touchline.contracts.rpc.v1 import common_pb2, node_pb2 as pb
from touchline.kernel import Conflict, DeadlineExceeded, InvalidInput, TenantId, epoch_ms, parse_artifact_hash
from touchline.platform.postgres.database import Wakeup, Wakeups
from touchline.platform.rpc.protocol import RpcCall, to_failure
from touchline.serve.dvr.rules import EndCode, Segment
from touchline.serve.dvr.service import OVER, DvrReport, DvrService
from touchline.serve.playback.suspension import SuspendedTenants
from touchline.serve.registry.messages import from_health
from touchline.serve.streams.sessions import Publishing, ReportedState, ReportedStream, StreamSessions
from touchline.serve.streams.store import SessionPlace
from touchline.serve.tiers.reports import NodeReports

from .rules import (
    LONGEST_TEXT,
    Command,
    CommandKind,
    CopyAccess,
    HeldCopy,
    Inventory,
    InventoryChunk,
    NodeConnection,
    NodeIdentity,
    Result,
    StorageReport,
)
from .service import NodeService
from .store import CHANNEL

SERVICE = pb.DESCRIPTOR.services_by_name["Nodes"]
MILLISECOND = timedelta(milliseconds=1)
LOOK_AGAIN = timedelta(seconds=1)  # for commands, where no wake-up came
SAY_AGAIN = timedelta(seconds=30)  # who is suspended, to a node that would otherwise not know whether that still holds
LARGEST_BYTES = 2**62
MOST_STREAMS = 500  # of one node
LONGEST_PROBLEM = 1000
NOT_ITS_OWN = "its key was replaced, it was suspended or deleted, or it is published elsewhere"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
logger = logging.getLogger(__name__)


class NodesServicer:
    def __init__(
        self,
        service: NodeService,
        reports: NodeReports,
        sessions: StreamSessions,
        dvr: DvrService,
        wakeups: Wakeups | None,
        suspended: SuspendedTenants,
    ) -> None:
        self._service = service
        self._reports = reports
        self._sessions = sessions
        self._dvr = dvr
        self._wakeups = wakeups
        self._suspended = suspended

    async def authorize_publisher(
        self, request: pb.AuthorizePublisherRequest, call: RpcCall
    ) -> pb.AuthorizePublisherResponse:
        session_id = from_id(request.session_id, "session_id")
        asked = Publishing(request.node_id, request.stream_key, session_id, request.replace)
        admitted = await self._sessions.authorize(asked)
        return pb.AuthorizePublisherResponse(
            tenant_id=str(admitted.tenant_id),
            stream_id=str(admitted.stream_id),
            internal_name=admitted.internal_name,
            session_id=str(admitted.session_id),
        )

    async def connect(self, messages: AsyncIterator[pb.NodeMessage], call: RpcCall) -> AsyncIterator[pb.NodeCommand]:
        first = await self._next(messages)
        if first is None:
            return
        if not first.HasField("registration"):
            raise InvalidInput("a node must register first", field="registration")
        line = await self._service.register(from_registration(first.registration))
        suspended = await self._suspended.all()
        yield self._welcome(suspended)
        outgoing: asyncio.Queue[pb.NodeCommand | Exception | None] = asyncio.Queue()
        live: dict[UUID, SessionPlace] = {}  # what the node reported last
        hear = asyncio.create_task(self._until_end(self._hear(line, messages, outgoing, live), outgoing))
        send = asyncio.create_task(self._until_end(self._send(line, outgoing, suspended, live), outgoing))
        try:
            while (command := await outgoing.get()) is not None:
                if isinstance(command, Exception):
                    raise command
                yield command
        finally:
            hear.cancel()
            send.cancel()
            await asyncio.gather(hear, send, return_exceptions=True)

    async def _until_end(self, work: Any, outgoing: asyncio.Queue[pb.NodeCommand | Exception | None]) -> None:
        try:
            await work
        except Exception as error:
            outgoing.put_nowait(error)
        else:
            outgoing.put_nowait(None)

    async def _hear(
        self,
        line: NodeConnection,
        messages: AsyncIterator[pb.NodeMessage],
        outgoing: asyncio.Queue[Any],
        live: dict[UUID, SessionPlace],
    ) -> None:
        inventory = Inventory()
        while (message := await self._next(messages)) is not None:
            await self._service.heard(line, from_storage(message.storage) if message.HasField("storage") else None)
            match message.WhichOneof("message"):
                case "acknowledgement":
                    await self._acknowledged(line, message.acknowledgement)
                case "inventory":
                    if answer := await self._listed(line, inventory, message.inventory):
                        outgoing.put_nowait(pb.NodeCommand(inventory_answer=answer))
                case "accesses":
                    accesses = [from_access(one) for one in message.accesses.accesses]
                    await self._reports.accesses(line, message.accesses.sequence, accesses)
                    answer = pb.AccessAnswer(sequence=message.accesses.sequence)
                    outgoing.put_nowait(pb.NodeCommand(access_answer=answer))
                case "streams":
                    await self._streams(line, message.streams, outgoing, live)
                case "dvr_report":
                    outgoing.put_nowait(pb.NodeCommand(dvr_answer=await self._recorded(line, message.dvr_report)))
                case "progress":
                    progress = message.progress
                    command_id = from_id(progress.command_id, "command_id")
                    await self._reports.progressed(line.node_id, command_id, min(max(progress.percent, 0), 99))
                case _:
                    pass

    async def _streams(
        self,
        line: NodeConnection,
        message: pb.StreamsReport,
        outgoing: asyncio.Queue[Any],
        live: dict[UUID, SessionPlace],
    ) -> None:
        """What the node has that is not its own is stopped."""
        reports = [from_stream_report(one, line.node_id) for one in message.streams[:MOST_STREAMS]]
        stale = await self._sessions.reported(reports)
        _stop(stale, outgoing)
        going_on = [report.place for report in reports if report.state is not ReportedState.ENDED]
        live.clear()
        live.update({place.session_id: place for place in going_on if place not in stale})

    async def _recorded(self, line: NodeConnection, message: pb.DVRReport) -> pb.DVRAnswer:
        try:
            answer = await self._dvr.report(line, from_dvr_report(message))
        except InvalidInput as error:  # it would come again on every line
            extra = {"node": line.node_id, "attempt": message.attempt, "reason": str(error)}
            logger.warning("the report of a recording was refused", extra=extra)
            answer = OVER
        return pb.DVRAnswer(attempt=message.attempt, listed_through=answer.listed_through, is_over=answer.is_over)

    async def _acknowledged(self, line: NodeConnection, message: pb.CommandAcknowledgement) -> None:
        command_id = from_id(message.command_id, "command_id")
        if await self._reports.acknowledged(line.node_id, command_id, from_outcome(message)):
            return
        logger.info("a late acknowledgement was ignored", extra={"node": line.node_id, "command": str(command_id)})

    async def _listed(
        self, line: NodeConnection, inventory: Inventory, message: pb.InventoryChunk
    ) -> pb.InventoryAnswer | None:
        """The answer to the last part of an inventory, or to one that is refused."""
        try:
            copies = inventory.add(from_chunk(message))
            if copies is None:
                return None
            await self._reports.inventory(line, copies)
        except Conflict as error:
            await self._reports.refused(line, str(error))
            logger.warning("an inventory was refused", extra={"node": line.node_id, "reason": str(error)})
            return pb.InventoryAnswer(inventory_id=message.inventory_id, refusal=to_failure(error))
        return pb.InventoryAnswer(inventory_id=message.inventory_id)

    async def _send(
        self,
        line: NodeConnection,
        outgoing: asyncio.Queue[Any],
        told_suspended: frozenset[TenantId],
        live: dict[UUID, SessionPlace],
    ) -> None:
        wakeup = self._wakeups.subscribe(CHANNEL) if self._wakeups else Wakeup()
        loop = asyncio.get_running_loop()
        said, said_at = told_suspended, loop.time()
        while True:
            suspended = await self._suspended.all()
            if suspended != said or loop.time() - said_at > SAY_AGAIN.total_seconds():
                outgoing.put_nowait(pb.NodeCommand(suspended_tenants=to_suspended(suspended)))
                said, said_at = suspended, loop.time()
            for command in await self._service.unsent(line):
                outgoing.put_nowait(to_command(command))
            if known := dict(live):
                current = await self._sessions.current(line.node_id)
                _stop(
                    [place for session, place in known.items() if session not in current and session in live], outgoing
                )
            await wakeup.wait(LOOK_AGAIN)

    async def _next(self, messages: AsyncIterator[pb.NodeMessage]) -> pb.NodeMessage | None:
        """None when the node hung up."""
        limit = self._service.settings.node_gone_after
        try:
            async with asyncio.timeout(limit.total_seconds()):
                return await anext(messages, None)
        except TimeoutError as error:
            raise DeadlineExceeded("the node did not report", why=f"for {limit}") from error

    def _welcome(self, suspended: frozenset[TenantId]) -> pb.NodeCommand:
        settings = self._service.settings
        welcome = pb.NodeWelcome(
            heartbeat_ms=settings.node_heartbeat // MILLISECOND,
            gone_after_ms=settings.node_gone_after // MILLISECOND,
            inventory_ms=settings.node_inventory // MILLISECOND,
            suspended_tenants=to_suspended(suspended),
        )
        return pb.NodeCommand(welcome=welcome)


# Messages of a node, which may be another version than this: everything is checked.


def from_registration(message: pb.NodeRegistration) -> NodeIdentity:
    instance_id = from_id(message.instance_id, "instance_id")
    named = message.node_id, message.base_url, message.version, instance_id, message.locality
    return NodeIdentity(*named, tuple(message.publish_urls))


def from_storage(message: pb.NodeStorage) -> StorageReport:
    counts = message.budget_bytes, message.used_bytes, message.free_bytes, message.load
    return StorageReport(*counts, message.trouble[:LONGEST_TEXT])


def from_stream_report(message: pb.StreamReport, node_id: str) -> ReportedStream:
    try:
        state = ReportedState(message.state)
    except ValueError as error:
        raise InvalidInput("not a state of a stream", field="state") from error
    place = SessionPlace(
        TenantId(from_id(message.tenant_id, "tenant_id")),
        from_id(message.stream_id, "stream_id"),
        from_id(message.session_id, "session_id"),
        node_id,
    )
    health = from_health(message.health) if message.HasField("health") else None
    texts = message.reason[:LONGEST_TEXT], message.problem[:LONGEST_PROBLEM]
    return ReportedStream(place, state, message.playable, *texts, health)


def _stop(places: Sequence[SessionPlace], outgoing: asyncio.Queue[Any]) -> None:
    for place in places:
        message = pb.StopStream(stream_id=str(place.id), session_id=str(place.session_id), why=NOT_ITS_OWN)
        outgoing.put_nowait(pb.NodeCommand(stop_stream=message))


def from_chunk(message: pb.InventoryChunk) -> InventoryChunk:
    copies = [from_copy(copy) for copy in message.copies]
    return InventoryChunk(message.inventory_id, message.sequence, copies, message.final)


def from_copy(message: pb.HeldCopy) -> HeldCopy:
    sizes = message.size_bytes, message.segment_count, message.segment_bytes
    if not all(0 <= size <= LARGEST_BYTES for size in sizes):
        raise InvalidInput("not the size of a copy", field="size_bytes")
    return HeldCopy(
        TenantId(from_id(message.tenant_id, "tenant_id")),
        parse_artifact_hash(message.artifact_hash),
        message.manifest_key,
        *sizes,
        from_ms(message.cached_at_ms),
    )


def from_access(message: pb.CopyAccess) -> CopyAccess:
    if message.count < 0:
        raise InvalidInput("not a number of accesses", field="count")
    tenant_id = TenantId(from_id(message.tenant_id, "tenant_id"))
    accessed_at = from_ms(message.last_accessed_at_ms)
    return CopyAccess(tenant_id, parse_artifact_hash(message.artifact_hash), message.count, accessed_at)


def from_dvr_report(message: pb.DVRReport) -> DvrReport:
    attempt = from_id(message.attempt, "attempt")
    end = (_end_code(message.end.code), message.end.message[:LONGEST_TEXT]) if message.HasField("end") else None
    return DvrReport(
        TenantId(from_id(message.tenant_id, "tenant_id")),
        parse_artifact_hash(message.artifact_hash),
        attempt,
        [_segment(attempt, one) for one in message.segments],
        end,
    )


def _segment(attempt: UUID, message: pb.DVRSegment) -> Segment:
    return Segment(
        attempt=attempt,
        sequence=message.sequence,
        init=message.init,
        starts_at=from_us(message.starts_at_us),
        duration_us=message.duration_us,
        size_bytes=message.size_bytes,
        follows_break=message.follows_break,
    )


def _end_code(text: str) -> EndCode:
    try:
        return EndCode(text)
    except ValueError as error:
        raise InvalidInput("not an end of a recording", field="end.code", why=text[:LONGEST_TEXT]) from error


def from_outcome(message: pb.CommandAcknowledgement) -> Result:
    match message.WhichOneof("outcome"):
        case "done":
            done = message.done
            return Result(
                copy=from_copy(done.copy) if done.HasField("copy") else None,
                manifest_key=done.manifest_key,
                poster_key=done.poster_key,
                object_count=done.object_count,
                object_bytes=done.object_bytes,
                cut=(done.cut.start_ms, done.cut.end_ms) if done.HasField("cut") else None,
            )
        case "failure":
            return Result(code=message.failure.code or "internal", message=_words(message.failure))
        case _:
            raise InvalidInput("not an acknowledgement", field="outcome", why="it says neither done nor failed")


def from_id(text: str, field_name: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not an id", field=field_name, why="it must be a UUID") from error


def from_ms(milliseconds: int) -> datetime:
    try:
        return EPOCH + milliseconds * MILLISECOND
    except OverflowError as error:
        raise InvalidInput("not a time", field="cached_at_ms") from error


def from_us(microseconds: int) -> datetime:
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError as error:
        raise InvalidInput("not a time", field="starts_at_us") from error


def _words(failure: common_pb2.Failure) -> str:
    return f"{failure.what}: {failure.why}" if failure.why else failure.what


def to_suspended(tenants: frozenset[TenantId]) -> pb.SuspendedTenants:
    return pb.SuspendedTenants(tenant_ids=sorted(map(str, tenants)))


def to_copy(copy: HeldCopy) -> pb.HeldCopy:
    return pb.HeldCopy(
        tenant_id=str(copy.tenant_id),
        artifact_hash=copy.artifact_hash,
        manifest_key=copy.manifest_key,
        size_bytes=copy.size_bytes,
        segment_count=copy.segment_count,
        segment_bytes=copy.segment_bytes,
        cached_at_ms=epoch_ms(copy.cached_at),
    )


def to_command(command: Command) -> pb.NodeCommand:
    head = pb.CommandHead(id=str(command.id), tenant_id=str(command.tenant_id), artifact_hash=command.artifact_hash)
    return _COMMANDS[command.kind](head, command.payload)


def _keys(payload: Any) -> pb.RenditionKeys:
    return pb.RenditionKeys(
        manifest_key=payload["manifest_key"], poster_key=payload["poster_key"], clip_key=payload["clip_key"]
    )


def _freeze(head: pb.CommandHead, payload: Any) -> pb.NodeCommand:
    prefixes = {"rendition_prefix": payload["rendition_prefix"], "poster_prefix": payload["poster_prefix"]}
    return pb.NodeCommand(freeze=pb.Freeze(head=head, keys=_keys(payload), **prefixes))


def _clip_pull(head: pb.CommandHead, payload: Any) -> pb.NodeCommand:
    names = ("internal_name", "start_ms", "end_ms", "padding_ms", "original_key")
    segments = [pb.StoredSegment(**segment) for segment in payload["segments"]]
    return pb.NodeCommand(
        clip_pull=pb.ClipPull(head=head, segments=segments, **{name: payload[name] for name in names})
    )


def _delete(head: pb.CommandHead, payload: Any) -> pb.NodeCommand:
    names = ("manifest_key", "also_in_use")
    return pb.NodeCommand(delete=pb.Delete(head=head, **{name: payload[name] for name in names}))


_COMMANDS: dict[CommandKind, Callable[[pb.CommandHead, Any], pb.NodeCommand]] = {
    CommandKind.CLIP_PULL: _clip_pull,
    CommandKind.DVR_START: lambda head, payload: pb.NodeCommand(
        dvr_start=pb.DVRStart(head=head, internal_name=payload["internal_name"], from_ms=payload["from_ms"])
    ),
    CommandKind.DVR_STOP: lambda head, payload: pb.NodeCommand(
        dvr_stop=pb.DVRStop(head=head, internal_name=payload["internal_name"])
    ),
    CommandKind.FREEZE: _freeze,
    CommandKind.DEFROST: lambda head, payload: pb.NodeCommand(defrost=pb.Defrost(head=head, keys=_keys(payload))),
    CommandKind.DELETE: _delete,
}

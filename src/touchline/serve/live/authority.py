"""The artifacts role as a node asks it, and what a node reports of its streams.

Invariant: a key goes into the call and nowhere else. A stream that has ended is reported once more, on whatever line
there is by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from touchline.contracts.rpc.v1 import common_pb2, node_pb2 as pb
from touchline.kernel import TenantId
from touchline.platform.rpc.client import RpcClient, Stub

from .model import AuthorizedStream, LiveSegment, LiveWindow, PublishRequest, StreamHealth
from .service import LiveStream, LiveStreams, StreamState
from .settings import SecondPublisher

SERVICE = pb.DESCRIPTOR.services_by_name["Nodes"]
MILLISECOND = timedelta(milliseconds=1)
LONGEST_ASK = timedelta(seconds=5)
MOST_ENDED = 200


class RpcAuthority:
    def __init__(self, client: RpcClient, node_id: str, second_publisher: SecondPublisher) -> None:
        self._stub = Stub(client, SERVICE)
        self._node_id = node_id
        self._replace = second_publisher is SecondPublisher.REPLACE

    async def authorize(self, request: PublishRequest, session_id: UUID) -> AuthorizedStream:
        asked = pb.AuthorizePublisherRequest(
            node_id=self._node_id, stream_key=request.key, session_id=str(session_id), replace=self._replace
        )
        answer = await self._stub.call("AuthorizePublisher", asked, pb.AuthorizePublisherResponse, None, LONGEST_ASK)
        return AuthorizedStream(
            tenant_id=TenantId(UUID(answer.tenant_id)),
            stream_id=UUID(answer.stream_id),
            internal_name=answer.internal_name,
            session_id=UUID(answer.session_id),
        )


@dataclass(slots=True)
class StreamReporter:
    """A listener of the streams: says at once what people wait for, and everything whenever it is asked."""

    streams: LiveStreams
    say: Callable[[pb.StreamsReport], bool] = lambda report: False  # False: there is no line now
    _ended: list[pb.StreamReport] = field(default_factory=list["pb.StreamReport"])  # not said yet
    _playable: set[UUID] = field(default_factory=set[UUID])

    def report(self) -> None:
        going_on = [described(stream) for stream in self.streams.all() if stream.state is not StreamState.ENDED]
        known = {report.session_id for report in going_on}  # one that ended may have begun again
        self._ended = [report for report in self._ended if report.session_id not in known]
        if (going_on or self._ended) and self.say(pb.StreamsReport(streams=[*going_on, *self._ended])):
            self._ended.clear()

    def publishing(self, stream: AuthorizedStream, window: LiveWindow) -> None:
        self.report()

    def segment_closed(self, stream: AuthorizedStream, segment: LiveSegment) -> None:
        if stream.session_id not in self._playable:
            self._playable.add(stream.session_id)
            self.report()

    def broken(self, stream: AuthorizedStream, reason: str) -> None:
        self.report()

    def measured(self, stream: AuthorizedStream, health: StreamHealth) -> None:
        """With the next report: it changes with every part."""

    def ended(self, stream: AuthorizedStream, reason: str) -> None:
        self._playable.discard(stream.session_id)
        found = self.streams.find(stream.tenant_id, stream.stream_id.hex)
        if found and found.authorized == stream:
            self._ended = [*self._ended[1 - MOST_ENDED :], described(found)]
        self.report()


def described(stream: LiveStream) -> pb.StreamReport:
    authorized, health = stream.authorized, stream.health
    return pb.StreamReport(
        tenant_id=str(authorized.tenant_id),
        stream_id=str(authorized.stream_id),
        session_id=str(authorized.session_id),
        state=stream.state,
        playable=stream.playable_at is not None,
        reason=stream.reason,
        problem=stream.problem,
        health=_measured(health) if health else None,
    )


def _measured(health: StreamHealth) -> common_pb2.StreamHealth:
    return common_pb2.StreamHealth(
        bits_per_second=health.bits_per_second,
        frames_per_second=health.frames_per_second,
        dropped_frames=health.dropped_frames,
        keyframe_gap_ms=health.keyframe_gap // MILLISECOND,
        behind_ms=health.behind // MILLISECOND,
        width=health.width,
        height=health.height,
    )

"""The live streams of a node: who publishes what, what is kept of it, and when a stream has ended.

Invariants: a stream has one publisher and one session at a time. A session ends once: by its publisher's absence, by
what it sent, or because it was told to. Whoever was hung up on cannot write into the window any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from prometheus_client import Counter, Gauge

from touchline.kernel import (
    ArtifactHash,
    Clock,
    Conflict,
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    QuotaExceeded,
    TenantId,
    TouchlineError,
    Unavailable,
    uuid7,
)
from touchline.media.live import InitMessage, LiveFormat, LiveReader, Message, PartMessage
from touchline.media.sandbox import Sandbox

from .model import AuthorizedStream, LiveListener, LiveSegment, PublishRequest, Sink, StreamAuthority, StreamHealth
from .playlists import Variant
from .settings import LiveSettings, SecondPublisher
from .window import LiveStorage, StreamWindow

LONGEST_JUMP = timedelta(seconds=3)  # of the times of a publisher; more is a discontinuity
POSTER_WIDTH = 640
MEASURED_OVER = timedelta(seconds=6)  # of media
CLOSING = timedelta(seconds=5)  # for the last part of a publisher that is gone
PUBLISHING = Gauge("touchline_live_publishers", "Publishers whose streams this node takes now.")
SESSIONS = Counter("touchline_live_sessions", "Ended sessions of live streams, by reason.", ["reason"])
RECEIVED = Counter("touchline_live_received_bytes", "Bytes that publishers of live streams have sent.")
logger = logging.getLogger(__name__)


class StreamState(StrEnum):
    PUBLISHING = "publishing"
    BROKEN = "broken"  # the publisher is gone, and may come back
    ENDED = "ended"


class EndReason(StrEnum):
    LEFT = "publisher_left"
    REFUSED = "refused"  # for what it sent
    STOPPED = "stopped"  # by its owner, or because another node has the stream
    REPLACED = "replaced"  # by a newer session


@dataclass(slots=True)
class LiveStream:
    """One session of a stream, as this node has it."""

    authorized: AuthorizedStream
    window: StreamWindow
    state: StreamState = StreamState.PUBLISHING
    publisher: Publisher | None = None
    playable_at: datetime | None = None
    broken_at: datetime | None = None
    reason: str = ""  # why it ended
    problem: str = ""  # what was wrong with what was sent, for people
    health: StreamHealth | None = None
    _timer: asyncio.TimerHandle | None = None

    @property
    def artifact_hash(self) -> ArtifactHash:
        return ArtifactHash(self.authorized.stream_id.hex)

    @property
    def variant(self) -> Variant:
        window, health = self.window, self.health
        rates = (health.bits_per_second, health.frames_per_second) if health else (0, 0.0)
        return Variant(window.width, window.height, window.codecs, *rates)

    def call_later(self, after: timedelta, callback: Callable[[], None]) -> None:
        self.cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(after.total_seconds(), callback)

    def cancel_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None


@dataclass(slots=True)
class HealthMeter:
    """Of the parts of the last seconds."""

    parts: deque[tuple[PartMessage, int]] = field(default_factory=deque["tuple[PartMessage, int]"])

    def measured(self, message: PartMessage, size: int, window: StreamWindow, now: datetime) -> StreamHealth:
        self.parts.append((message, size))
        while len(self.parts) > 1 and self._lasted() > MEASURED_OVER:
            self.parts.popleft()
        seconds = max(self._lasted().total_seconds(), 0.001)
        due = window.next_due
        return StreamHealth(
            bits_per_second=round(8 * sum(size for _, size in self.parts) / seconds),
            frames_per_second=round(sum(part.frames for part, _ in self.parts) / seconds, 2),
            dropped_frames=message.dropped_frames,
            keyframe_gap=timedelta(microseconds=message.keyframe_gap_us),
            behind=max(now - due, timedelta()) if due else timedelta(),
            width=window.width,
            height=window.height,
        )

    def _lasted(self) -> timedelta:
        return timedelta(microseconds=sum(part.duration_us for part, _ in self.parts))


class LiveStreams:
    """`admit` is the readers' admission."""

    def __init__(
        self, authority: StreamAuthority, sandbox: Sandbox, storage: LiveStorage, settings: LiveSettings, clock: Clock
    ) -> None:
        self._authority = authority
        self.sandbox = sandbox
        self.storage = storage
        self.settings = settings
        self.clock = clock
        self.listeners: list[LiveListener] = []
        self._streams: dict[ArtifactHash, LiveStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def admit(self, request: PublishRequest) -> Sink:
        now = self.clock.now()
        self._require_room()
        try:
            authorized = await self._authority.authorize(request, uuid7(now))
        except TouchlineError as error:
            logger.warning("a publisher was refused", extra={"peer": request.peer, "reason": str(error)})
            raise
        stream = self._session_of(authorized)
        publisher = Publisher(self, stream, self._format(request))
        stream.publisher, stream.state, stream.broken_at = publisher, StreamState.PUBLISHING, None
        stream.cancel_timer()
        self._start(publisher.run())
        self._count()
        logger.info("a stream is published", extra={**_names(authorized), "peer": request.peer})
        for listener in self.listeners:
            listener.publishing(authorized, stream.window)
        return publisher

    def find(self, tenant_id: TenantId, artifact_hash: str) -> LiveStream | None:
        """Also one that ended a moment ago: players have not seen its end yet."""
        stream = self._streams.get(ArtifactHash(artifact_hash))
        return stream if stream and stream.authorized.tenant_id == tenant_id else None

    def all(self) -> Sequence[LiveStream]:
        return list(self._streams.values())

    def stop(self, artifact_hash: str, session_id: str, why: str) -> None:
        """By its owner, or because the stream is elsewhere. Of another session nothing changes."""
        stream = self._streams.get(ArtifactHash(artifact_hash))
        if stream and str(stream.authorized.session_id) == session_id and stream.state is not StreamState.ENDED:
            self.end(stream, EndReason.STOPPED, Forbidden("this stream was stopped", why=why))

    def stop_tenants(self, suspended: frozenset[UUID]) -> None:
        for stream in self.all():
            if stream.authorized.tenant_id in suspended:
                self.stop(stream.artifact_hash, str(stream.authorized.session_id), "the tenant is suspended")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Clears what an earlier process left, and hangs up on everybody at the end."""
        left = await asyncio.to_thread(self.storage.open)
        if left:
            logger.info("the windows of earlier live streams were deleted", extra={"windows": left})
        try:
            yield
        finally:
            for stream in self._streams.values():
                stream.cancel_timer()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- Sessions.

    def _require_room(self) -> None:
        live = sum(stream.state is not StreamState.ENDED for stream in self._streams.values())
        if live >= self.settings.max_streams:
            raise QuotaExceeded("this node takes no more live streams", why=f"it has {live}", hint="Use another node.")

    def _session_of(self, authorized: AuthorizedStream) -> LiveStream:
        """The one that goes on, or a new one in its place."""
        artifact_hash = ArtifactHash(authorized.stream_id.hex)
        known = self._streams.get(artifact_hash)
        if known and known.state is StreamState.PUBLISHING and known.publisher:
            if self.settings.second_publisher is SecondPublisher.REFUSE:
                hint = "Stop the first one, or set `live.second_publisher` to replace."
                raise Conflict("this stream has a publisher already", hint=hint)
            known.publisher.hang_up(Conflict("another publisher has replaced this one"))
            self.broken(known, "another publisher has replaced this one")
        goes_on = known and known.authorized == authorized and known.state is not StreamState.ENDED
        if known and goes_on:
            return known
        if known:
            self.end(known, EndReason.REPLACED, None)
            self._forget(known)
        stream = LiveStream(authorized, self._new_window(authorized))
        self._streams[artifact_hash] = stream
        return stream

    def _new_window(self, authorized: AuthorizedStream) -> StreamWindow:
        """Its numbers begin with the time, so that they rise over sessions: players stay at the same address."""
        settings, now = self.settings, self.clock.now()
        window = StreamWindow(
            folder=self.storage.root / f"{authorized.stream_id.hex}-{authorized.session_id.hex}",
            storage=self.storage,
            clock=self.clock,
            length=settings.window,
            part_target=settings.part,
            sequence=int(now.timestamp()),
            target=settings.segment,
        )
        self.storage.windows.append(window)
        return window

    def broken(self, stream: LiveStream, why: str) -> None:
        """Its publisher is gone, and may come back."""
        if stream.state is not StreamState.PUBLISHING:
            return
        stream.state, stream.publisher, stream.broken_at = StreamState.BROKEN, None, self.clock.now()
        closed = stream.window.break_off()
        if closed:
            self._segment_closed(stream, closed)
        self._count()
        logger.info("a publisher is gone", extra={**_names(stream.authorized), "reason": why})
        for listener in self.listeners:
            listener.broken(stream.authorized, why)
        stream.call_later(self.settings.reconnect_time, lambda: self.end(stream, EndReason.LEFT, None))

    def end(self, stream: LiveStream, reason: EndReason, error: TouchlineError | None) -> None:
        """Once. `error`: what the publisher is told, if it is still there."""
        if stream.state is StreamState.ENDED:
            return
        if stream.publisher and error:
            stream.publisher.hang_up(error)
        if stream.state is StreamState.PUBLISHING and (closed := stream.window.break_off()):
            self._segment_closed(stream, closed)
        stream.state, stream.publisher, stream.reason = StreamState.ENDED, None, reason
        stream.problem = error.why if error and reason is EndReason.REFUSED else ""
        stream.window.end()
        SESSIONS.labels(reason).inc()
        self._count()
        why = str(error) if error else reason.value
        logger.info("a live stream has ended", extra={**_names(stream.authorized), "reason": why})
        for listener in self.listeners:
            listener.ended(stream.authorized, reason.value)
        stream.call_later(self.settings.kept_after_end, lambda: self._forget(stream))

    def _forget(self, stream: LiveStream) -> None:
        stream.cancel_timer()
        if self._streams.get(stream.artifact_hash) is stream:
            del self._streams[stream.artifact_hash]
        self._start(asyncio.to_thread(stream.window.delete))

    # --- What comes of a publisher.

    async def take(self, stream: LiveStream, meter: HealthMeter, message: Message, data: bytes) -> None:
        match message:
            case InitMessage():
                stream.window.take_init(message, data)
            case PartMessage():
                closed = await stream.window.take_part(message, data)
                stream.health = meter.measured(message, len(data), stream.window, self.clock.now())
                for segment in closed:
                    self._segment_closed(stream, segment)
                for listener in self.listeners:
                    listener.measured(stream.authorized, stream.health)
            case _:
                stream.window.poster = data

    def _segment_closed(self, stream: LiveStream, closed: LiveSegment) -> None:
        stream.playable_at = stream.playable_at or self.clock.now()
        for listener in self.listeners:
            listener.segment_closed(stream.authorized, closed)

    def _format(self, request: PublishRequest) -> LiveFormat:
        settings = self.settings
        return LiveFormat(
            container=request.container,
            segment=settings.segment,
            part=settings.part,
            longest_keyframe_gap=settings.keyframe_gap,
            longest_jump=LONGEST_JUMP,
            poster_every=settings.poster_interval,
            poster_width=POSTER_WIDTH,
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _count(self) -> None:
        PUBLISHING.set(sum(stream.state is StreamState.PUBLISHING for stream in self._streams.values()))


class Publisher:
    """Takes the bytes of one publisher, until it ends or is hung up on."""

    def __init__(self, streams: LiveStreams, stream: LiveStream, wanted: LiveFormat) -> None:
        self._streams = streams
        self._stream = stream
        self._meter = HealthMeter()
        self._reader = LiveReader(streams.sandbox, wanted, self._take)
        self._error: TouchlineError | None = None
        self._running: asyncio.Task[None] | None = None
        self._done = asyncio.Event()
        self._stall = asyncio.timeout(None)

    async def write(self, data: bytes) -> None:
        if self._error:
            raise self._error
        RECEIVED.inc(len(data))
        await self._reader.write(data)
        if self._error:
            raise self._error

    async def end(self) -> None:
        """What it sent last is taken first."""
        await self._reader.end()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING.total_seconds()):
                await self._done.wait()
        self.hang_up(Unavailable("the publisher is gone"))

    def hang_up(self, error: TouchlineError) -> None:
        self._error = self._error or error
        if self._running:
            self._running.cancel()

    async def run(self) -> None:
        self._running = asyncio.current_task()
        if self._error:
            self._reader.close()
            self._done.set()
            return
        try:
            async with self._stall:
                self._wait_for_part()
                await self._reader.run()
            self._gone("it has ended")
        except TimeoutError:
            longest = self._streams.settings.stall_time.total_seconds()
            self._failed(DeadlineExceeded("no video arrives from this publisher", why=f"for {longest:g} s"))
        except TouchlineError as error:
            self._failed(error)
        except asyncio.CancelledError:
            self._gone(str(self._error or "the node stops"))
            if self._error is None:
                raise
        except Exception as error:
            logger.exception("a publisher's stream could not be read")
            self._error = Unavailable("this stream cannot be read now", why=type(error).__name__)
            self._gone(str(self._error))
        finally:
            self._done.set()

    async def _take(self, message: Message, data: bytes) -> None:
        self._wait_for_part()
        if self._error is None:
            await self._streams.take(self._stream, self._meter, message, data)

    def _wait_for_part(self) -> None:
        """One who sends, and of whom nothing can be shown, is not waited for without end."""
        longest = self._streams.settings.stall_time.total_seconds()
        self._stall.reschedule(asyncio.get_running_loop().time() + longest)

    def _failed(self, error: TouchlineError) -> None:
        self._error = self._error or error
        if isinstance(error, InvalidInput | LimitExceeded):
            error = self._error = InvalidInput("this stream cannot be taken", why=error.why or error.what)
            logger.warning(
                "a publisher was refused for what it sends",
                extra={**_names(self._stream.authorized), "reason": str(error)},
            )
            if self._stream.publisher is self:
                self._streams.end(self._stream, EndReason.REFUSED, error)
        else:
            self._gone(str(error))

    def _gone(self, why: str) -> None:
        if self._stream.publisher is self:
            self._streams.broken(self._stream, why)


def _names(authorized: AuthorizedStream) -> dict[str, str]:
    return {"stream": str(authorized.stream_id), "session": str(authorized.session_id)}

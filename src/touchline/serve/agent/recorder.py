"""Records the streams of this node: each closed segment goes from the window to the disk, from there to the object
store, and is reported until it is on record.

Invariants: segments are reported in order and without gaps, and deleted when they are on record. A recording never
holds up its stream: it waits on the disk as long as there is room, or ends and says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID

from touchline.contracts.rpc.v1 import node_pb2 as pb
from touchline.kernel import ArtifactHash, Clock, NotFound, StorageFull, TenantId, format_bytes, is_storage_full
from touchline.platform.concurrency import gather_or_cancel
from touchline.platform.objects.store import ObjectStore
from touchline.platform.retry import retry_transient
from touchline.serve.dvr.rules import MOST_SEGMENTS, EndCode, Segment
from touchline.serve.live.model import AuthorizedStream, LiveSegment, LiveWindow, StreamHealth

from .recordings import EPOCH, MICROSECOND, RecordingFolder, RecordingPlace, left_recordings, recording_folder

FIRST_DELAY, LONGEST_DELAY = timedelta(milliseconds=200), timedelta(seconds=5)
SEGMENT_TYPE, HEADER_TYPE = "video/iso.segment", "video/mp4"
STREAM_COMES_WITHIN_S = 10.0
FUTURE = timedelta(days=1)
REMEMBERED = 1000  # recordings that were stopped
RESTARTED = (EndCode.NODE_RESTARTED, "the node was restarted while it recorded")
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RecorderSpace:
    """On the disk, for all recordings of this node together."""

    limit_bytes: int
    used_bytes: int = 0

    def require(self, size_bytes: int) -> None:
        if self.used_bytes + size_bytes > self.limit_bytes:
            why = f"{format_bytes(self.used_bytes)} wait for the object store; the limit is `node.recording_space`"
            raise StorageFull("the node has no room for the recording", why=why)


@dataclass(slots=True)
class Recording:
    """One attempt, as far as it is not on record yet."""

    folder: RecordingFolder
    objects: ObjectStore
    space: RecorderSpace
    news: asyncio.Event  # set when there is something to report
    files_at_once: int
    internal_name: str = ""  # of the stream; empty: the node was restarted, and nothing more comes
    ended_by: tuple[EndCode, str] | None = None
    _closed: deque[tuple[LiveWindow, LiveSegment]] = field(default_factory=deque[tuple[LiveWindow, LiveSegment]])
    _waiting: deque[Segment] = field(default_factory=deque[Segment])  # on the disk
    _stored: deque[Segment] = field(default_factory=deque[Segment])  # in the object store as well
    _stored_headers: set[int] = field(default_factory=set[int])
    _sequence: int = 0
    _has_gap: bool = False
    _has_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _has_waiting: asyncio.Event = field(default_factory=asyncio.Event)
    _work: asyncio.Task[None] | None = None
    _gone: asyncio.TimerHandle | None = None  # ends it, if its publisher does not come back

    # --- What it hears.

    def begin(self, left: Sequence[Segment] = ()) -> None:
        self._waiting.extend(left)
        self._sequence = left[-1].sequence if left else 0
        self.space.used_bytes += sum(segment.size_bytes for segment in left)
        self._has_waiting.set()
        self._work = asyncio.create_task(self._run())

    def add(self, window: LiveWindow, segments: Sequence[LiveSegment]) -> None:
        if self.ended_by is None:
            self._closed.extend((window, segment) for segment in segments)
            self._has_closed.set()

    def end(self, code: EndCode, message: str) -> None:
        """What has closed by now still belongs to it."""
        self.keep_on()
        self.ended_by = self.ended_by or (code, message)
        self.news.set()

    def wait_for_publisher(self, silence: timedelta) -> None:
        if self._gone is None and self.ended_by is None:
            end, loop = (EndCode.PUBLISHER_GONE, "the publisher is gone"), asyncio.get_running_loop()
            self._gone = loop.call_later(silence.total_seconds(), self.end, *end)

    def keep_on(self) -> None:
        """The publisher is there."""
        if self._gone is not None:
            self._gone.cancel()
            self._gone = None

    async def close(self) -> None:
        """Everything is on the disk, and goes on at the next start."""
        self.keep_on()
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    # --- What it does.

    async def _run(self) -> None:
        try:
            await asyncio.to_thread(self.folder.make)
            await gather_or_cancel(self._keep_all(), self._store_all())
        except Exception as error:
            logger.exception("a recording failed", extra={"dvr": self.folder.place.dvr_hash})
            self._closed.clear()
            self._drop_waiting()
            self.end(*_why(error))

    async def _keep_all(self) -> None:
        """From the window to the disk."""
        while True:
            await self._has_closed.wait()
            self._has_closed.clear()
            while self._closed:
                try:
                    await self._keep(*self._closed[0])
                except NotFound:  # it has left the window
                    self._has_gap = True
                except (OSError, StorageFull) as error:
                    self._closed.clear()
                    self.end(*_why(error))
                    break
                self._closed.popleft()
            self.news.set()

    async def _keep(self, window: LiveWindow, closed: LiveSegment) -> None:
        data, header = await window.segment_bytes(closed), await window.init_bytes(closed.init)
        self.space.require(len(data))
        segment = Segment(
            attempt=self.folder.place.attempt,
            sequence=self._sequence + 1,
            init=await asyncio.to_thread(self.folder.add_header, header),
            starts_at=closed.starts_at,
            duration_us=max(1, closed.duration // MICROSECOND),
            size_bytes=len(data),
            follows_break=closed.follows_break or self._has_gap,
        )
        await asyncio.to_thread(self.folder.add_segment, segment, data)
        self.space.used_bytes += segment.size_bytes
        self._sequence, self._has_gap = segment.sequence, False
        self._waiting.append(segment)
        self._has_waiting.set()

    async def _store_all(self) -> None:
        """From the disk to the object store, however long that is away."""
        while True:
            await self._has_waiting.wait()
            self._has_waiting.clear()
            while self._waiting:
                some = list(islice(self._waiting, self.files_at_once))
                for header in sorted({segment.init for segment in some} - self._stored_headers):
                    await self._put(self.folder.place.header_key(header), self.folder.header_path(header), HEADER_TYPE)
                    self._stored_headers.add(header)
                await gather_or_cancel(*(self._store(segment) for segment in some))
                for segment in some:
                    self._waiting.popleft()
                    self._stored.append(segment)
                self.news.set()

    async def _store(self, segment: Segment) -> None:
        await self._put(self.folder.place.segment_key(segment), self.folder.segment_path(segment), SEGMENT_TYPE)

    async def _put(self, key: str, path: Path, content_type: str) -> None:
        await retry_transient(
            lambda: self.objects.put_once(key, path, content_type=content_type),
            FIRST_DELAY,
            lambda error: logger.info("a segment is stored later", extra={"key": key, "reason": str(error)}),
            longest_delay=LONGEST_DELAY,
        )

    # --- What it reports.

    @property
    def is_stored(self) -> bool:
        """All of it is in the object store, and no more will come."""
        return self.ended_by is not None and not self._closed and not self._waiting

    def report(self) -> pb.DVRReport:
        """Of a recording without news: that it goes on."""
        place, some = self.folder.place, list(islice(self._stored, MOST_SEGMENTS))
        report = pb.DVRReport(tenant_id=str(place.tenant_id), artifact_hash=place.dvr_hash, attempt=str(place.attempt))
        for segment in some:
            report.segments.add(
                sequence=segment.sequence,
                init=segment.init,
                starts_at_us=(segment.starts_at - EPOCH) // MICROSECOND,
                duration_us=segment.duration_us,
                size_bytes=segment.size_bytes,
                follows_break=segment.follows_break,
            )
        if self.ended_by and self.is_stored and len(some) == len(self._stored):
            report.end.code, report.end.message = self.ended_by
        return report

    def listed(self, through: int) -> None:
        """They are on record."""
        has_more = len(self._stored) > MOST_SEGMENTS
        while self._stored and self._stored[0].sequence <= through:
            segment = self._stored.popleft()
            self.folder.delete_segment(segment)
            self.space.used_bytes -= segment.size_bytes
        if has_more:
            self.news.set()

    async def forget(self) -> None:
        """All of it is on record, or nobody wants it any more."""
        await self.close()
        self._drop_waiting()
        self.space.used_bytes -= sum(segment.size_bytes for segment in self._stored)
        await asyncio.to_thread(self.folder.delete)

    def _drop_waiting(self) -> None:
        self.space.used_bytes -= sum(segment.size_bytes for segment in self._waiting)
        self._waiting.clear()


def _why(error: Exception) -> tuple[EndCode, str]:
    if isinstance(error, StorageFull):
        return EndCode.STORAGE_FULL, f"{error.what}: {error.why}"
    if is_storage_full(error):
        return EndCode.STORAGE_FULL, "the disk of the node is full"
    return EndCode.NODE_RESTARTED, "the node could not go on with it"


@dataclass(slots=True)
class Recorder:
    """`LiveListener`: it hears what happens to the streams of this node, and records what it was asked to."""

    root: Path  # the folder of the node
    objects: ObjectStore
    clock: Clock
    space: RecorderSpace
    files_at_once: int
    silence: timedelta  # how long a recording waits for its publisher
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _streams: dict[str, tuple[AuthorizedStream, LiveWindow]] = field(
        default_factory=dict[str, tuple[AuthorizedStream, LiveWindow]]
    )
    _next_stream: asyncio.Event = field(default_factory=asyncio.Event)
    _stopped: dict[ArtifactHash, None] = field(default_factory=dict["ArtifactHash", None])
    _recordings: dict[UUID, Recording] = field(default_factory=dict["UUID", Recording])

    async def open(self) -> None:
        """What was left of recordings is stored and reported; their streams are recorded anew if they come back."""
        for folder in await asyncio.to_thread(lambda: [*left_recordings(self.root)]):
            recording = self._recording(folder, "")
            recording.end(*RESTARTED)
            self._begin(recording, await asyncio.to_thread(folder.segments))

    async def close(self) -> None:
        await asyncio.gather(*(recording.close() for recording in self._recordings.values()))

    # --- What happens to the streams.

    def publishing(self, stream: AuthorizedStream, window: LiveWindow) -> None:
        self._streams[stream.internal_name] = stream, window
        self._next_stream.set()
        self._next_stream = asyncio.Event()
        for recording in self._of(stream):
            recording.keep_on()

    def segment_closed(self, stream: AuthorizedStream, segment: LiveSegment) -> None:
        known = self._streams.get(stream.internal_name)
        for recording in self._of(stream):
            recording.keep_on()
            if known is not None:
                recording.add(known[1], [segment])

    def broken(self, stream: AuthorizedStream, reason: str) -> None:
        """It may be back in time."""
        self._wait_for(stream)

    def measured(self, stream: AuthorizedStream, health: StreamHealth) -> None:
        """Nothing that a recording needs."""

    def ended(self, stream: AuthorizedStream, reason: str) -> None:
        known = self._streams.get(stream.internal_name)
        if known is not None and known[0].session_id == stream.session_id:
            del self._streams[stream.internal_name]
        self._wait_for(stream)

    def _wait_for(self, stream: AuthorizedStream) -> None:
        for recording in self._of(stream):
            recording.wait_for_publisher(self.silence)

    def _of(self, stream: AuthorizedStream) -> Sequence[Recording]:
        return [
            recording
            for recording in self._recordings.values()
            if recording.internal_name == stream.internal_name and recording.folder.place.tenant_id == stream.tenant_id
        ]

    # --- What it is asked to do.

    async def start(self, place: RecordingPlace, internal_name: str, begins: datetime) -> None:
        """Again is the same as once. NotFound where the stream does not come here."""
        if place.attempt in self._recordings:
            return
        window = await self._expected(place.tenant_id, internal_name)
        if place.attempt in self._recordings:
            return
        recording = self._recording(recording_folder(self.root, place), internal_name)
        until = self.clock.now() + FUTURE  # by the clock of the publisher it may be later
        recording.add(window, window.segments(begins, until))  # and what closes from here on is heard
        self._begin(recording)
        if place.dvr_hash in self._stopped:
            recording.end(EndCode.STOPPED, "somebody stopped it")

    async def _expected(self, tenant_id: TenantId, internal_name: str) -> LiveWindow:
        """The command may be faster than the first bytes of the publisher."""
        try:
            async with asyncio.timeout(STREAM_COMES_WITHIN_S):
                while internal_name not in self._streams:
                    await self._next_stream.wait()
        except TimeoutError:
            pass
        return self.window(tenant_id, internal_name)

    def stop(self, tenant_id: TenantId, dvr_hash: ArtifactHash) -> None:
        """What has closed by now is stored. A start that still waits for its stream ends as soon as it begins."""
        self._stopped[dvr_hash] = None
        while len(self._stopped) > REMEMBERED:
            del self._stopped[next(iter(self._stopped))]
        for recording in self._recordings.values():
            if (recording.folder.place.tenant_id, recording.folder.place.dvr_hash) == (tenant_id, dvr_hash):
                recording.end(EndCode.STOPPED, "somebody stopped it")

    def is_recording(self, dvr_hash: ArtifactHash) -> bool:
        """Whether more of it is taken from its stream."""
        return any(
            recording.folder.place.dvr_hash == dvr_hash and recording.ended_by is None
            for recording in self._recordings.values()
        )

    def window(self, tenant_id: TenantId, internal_name: str) -> LiveWindow:
        """For clips. NotFound where this node has nothing of the stream."""
        known = self._streams.get(internal_name)
        if known is None or known[0].tenant_id != tenant_id:
            raise NotFound("this node has no such stream", why="nobody publishes it here")
        return known[1]

    def _recording(self, folder: RecordingFolder, internal_name: str) -> Recording:
        return Recording(folder, self.objects, self.space, self.news, self.files_at_once, internal_name)

    def _begin(self, recording: Recording, left: Sequence[Segment] = ()) -> None:
        self._recordings[recording.folder.place.attempt] = recording
        recording.begin(left)

    # --- What it reports.

    def reports(self) -> list[pb.DVRReport]:
        return [recording.report() for recording in self._recordings.values()]

    async def answered(self, answer: pb.DVRAnswer) -> None:
        attempt = UUID(answer.attempt)
        recording = self._recordings.get(attempt)
        if recording is None:
            return
        recording.listed(answer.listed_through)
        if answer.is_over:
            del self._recordings[attempt]
            await recording.forget()

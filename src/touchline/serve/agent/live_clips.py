"""Clips that this node cuts: from the window of a stream, or from the segments of its recording in the object store.

Invariants: the clip appears as a whole or not at all, and is never written again: asked twice, the one that is there is
the answer. Across a break the clip goes on with what came after it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from uuid import UUID

from touchline.contracts.registry import Span
from touchline.contracts.rpc.v1 import node_pb2 as pb
from touchline.kernel import AlreadyExists, Conflict, InvalidInput, NotFound, StorageFull, TenantId, is_storage_full
from touchline.media.fragments import FragmentTimeline, PlacedFragment
from touchline.media.rules import ClipRange
from touchline.media.sandbox import Sandbox
from touchline.media.segments import SegmentSource, SourceSegment
from touchline.media.tasks import make_clip
from touchline.platform.objects.store import ObjectStore
from touchline.serve.clips.rules import CONTENT_TYPE
from touchline.serve.dvr.rules import Segment, covered, wall_clock
from touchline.serve.live.model import LiveWindow

from .recorder import Recorder
from .recordings import EPOCH, MICROSECOND, PRIVATE

CLIPS, CUT = "clips", "cut"
MOST_PIECES = 3000
LARGEST_SEGMENT_BYTES = 256 * 1024**2
FETCHED, WRITTEN = 40, 90  # percent
STEP = 5

Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment, wherever it is."""

    starts_at: datetime
    duration_us: int
    follows_break: bool
    header: bytes
    read: Callable[[], Awaitable[bytes]]

    def overlap_us(self, start: datetime, end: datetime) -> int:
        last = min(end, self.starts_at + self.duration_us * MICROSECOND)
        return max(0, (last - max(start, self.starts_at)) // MICROSECOND)


@dataclass(frozen=True, slots=True)
class LiveClips:
    root: Path  # the folder of the node
    objects: ObjectStore
    sandbox: Sandbox
    recorder: Recorder

    def open(self) -> None:
        """What a killed node left of clips is worth nothing."""
        shutil.rmtree(self.root / CLIPS, ignore_errors=True)

    async def cut(self, tenant_id: TenantId, asked: pb.ClipPull, report: Report) -> pb.CommandDone:
        if stored := await self._stored(asked.original_key):
            return stored
        wanted = Span(max(0, asked.start_ms - asked.padding_ms), asked.end_ms + asked.padding_ms)
        pieces = await self._pieces(tenant_id, asked, wanted)
        async with self._scratch() as folder:
            try:
                return await self._made(folder, pieces, wanted, asked.original_key, _in_steps(report))
            except OSError as error:
                if is_storage_full(error):
                    raise StorageFull("the node has no room for the clip") from error
                raise

    async def _made(
        self, folder: Path, pieces: Sequence[Piece], wanted: Span, key: str, report: Report
    ) -> pb.CommandDone:
        parts, listed = await _gathered(pieces, folder, report)
        found = covered(listed, wanted)
        if found is None:
            raise _nothing()
        header, output = folder / "header", folder / "clip"
        await asyncio.to_thread(header.write_bytes, pieces[0].header)
        output.mkdir()
        clip = await make_clip(
            self.sandbox,
            SegmentSource(parts, header),
            output,
            ClipRange(found.media.start_ms, found.media.end_ms, 0),
            lambda percent: report(FETCHED + round(percent * (WRITTEN - FETCHED) / 100)),
        )
        shown = wall_clock(listed, Span(clip.cut.start_ms, clip.cut.end_ms))
        metadata = {CUT: json.dumps({"start_ms": shown.start_ms, "end_ms": shown.end_ms})}
        try:
            await self.objects.put_new(key, output / clip.path, content_type=CONTENT_TYPE, metadata=metadata)
        except AlreadyExists:  # this command ran before, and its answer was lost
            if stored := await self._stored(key):
                return stored
            raise
        return _done(clip.size_bytes, shown)

    async def _stored(self, key: str) -> pb.CommandDone | None:
        try:
            info = await self.objects.head(key)
        except NotFound:
            return None
        try:
            cut = json.loads(info.metadata[CUT])
            return _done(info.size_bytes, Span(int(cut["start_ms"]), int(cut["end_ms"])))
        except (KeyError, TypeError, ValueError) as error:
            raise Conflict("another object has the key of this clip", why=key) from error

    # --- What it is cut from.

    async def _pieces(self, tenant_id: TenantId, asked: pb.ClipPull, wanted: Span) -> Sequence[Piece]:
        start, end = _moment(wanted.start_ms), _moment(wanted.end_ms)
        if asked.segments:
            pieces = await self._recorded(asked.segments)
        else:
            pieces = await _in_window(self.recorder.window(tenant_id, asked.internal_name), start, end)
        chosen = _of_one_header(pieces, start, end)
        if not chosen:
            raise _nothing()
        return chosen[:MOST_PIECES]

    async def _recorded(self, segments: Sequence[pb.StoredSegment]) -> list[Piece]:
        headers: dict[str, bytes] = {}
        for segment in segments:
            if segment.init_key not in headers:
                headers[segment.init_key] = await self.objects.get(segment.init_key)
        return [
            Piece(
                EPOCH + segment.starts_at_us * MICROSECOND,
                segment.duration_us,
                segment.follows_break,
                headers[segment.init_key],
                partial(self.objects.get, segment.key, at_most=LARGEST_SEGMENT_BYTES),
            )
            for segment in segments
        ]

    @asynccontextmanager
    async def _scratch(self) -> AsyncGenerator[Path]:
        clips = self.root / CLIPS
        await asyncio.to_thread(clips.mkdir, mode=PRIVATE, exist_ok=True)
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=clips))
        try:
            yield folder
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _in_window(window: LiveWindow, start: datetime, end: datetime) -> list[Piece]:
    headers: dict[int, bytes] = {}
    pieces: list[Piece] = []
    for segment in window.segments(start, end):
        if segment.init not in headers:
            headers[segment.init] = await window.init_bytes(segment.init)
        duration_us, header = segment.duration // MICROSECOND, headers[segment.init]
        read = partial(window.segment_bytes, segment)
        pieces.append(Piece(segment.starts_at, duration_us, segment.follows_break, header, read))
    return pieces


def _of_one_header(pieces: Sequence[Piece], start: datetime, end: datetime) -> list[Piece]:
    """A publisher that came back with another picture size needs another header: of these the one with most of it."""
    held: dict[bytes, int] = {}
    for piece in pieces:
        held[piece.header] = held.get(piece.header, 0) + piece.overlap_us(start, end)
    best = max(held, key=lambda header: held[header], default=b"")
    chosen: list[Piece] = []
    is_cut_off = False
    for piece in pieces:
        if piece.header != best:
            is_cut_off = True
            continue
        chosen.append(replace(piece, follows_break=piece.follows_break or is_cut_off))
        is_cut_off = False
    return chosen


async def _gathered(pieces: Sequence[Piece], folder: Path, report: Report) -> tuple[list[SourceSegment], list[Segment]]:
    """On this disk, with times that go on over breaks; and which time of the clock each shows."""
    timeline, placed = FragmentTimeline(pieces[0].header), list[tuple[Piece, PlacedFragment]]()
    for number, piece in enumerate(pieces):
        fragment = timeline.place(await piece.read(), follows_break=piece.follows_break)
        await asyncio.to_thread((folder / f"{number}.m4s").write_bytes, fragment.data)
        placed.append((piece, replace(fragment, data=b"")))
        report(FETCHED * (number + 1) // len(pieces))
    begins = placed[0][1].start_us
    ends = [after.start_us for _, (_, after) in pairwise(placed)] + [placed[-1][1].end_us]
    parts: list[SourceSegment] = []
    listed: list[Segment] = []
    for number, ((piece, fragment), end_us) in enumerate(zip(placed, ends, strict=True)):
        duration_us = end_us - fragment.start_us
        parts.append(SourceSegment(folder / f"{number}.m4s", fragment.start_us - begins, duration_us))
        listed.append(Segment(UUID(int=0), number + 1, 1, piece.starts_at, duration_us, 1, piece.follows_break))
    return parts, listed


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)


def _in_steps(report: Report) -> Report:
    said = 0

    def step(percent: int) -> None:
        nonlocal said
        if percent >= said + STEP:
            said = percent
            report(percent)

    return step


def _done(size_bytes: int, shown: Span) -> pb.CommandDone:
    return pb.CommandDone(object_bytes=size_bytes, cut=pb.CutRange(start_ms=shown.start_ms, end_ms=shown.end_ms))


def _nothing() -> InvalidInput:
    return InvalidInput("this range cannot be clipped", field="start_ms", why="the stream has nothing of it any more")

"""Text of the world's labelled videos, from video to segments: how much is found, when, and what it speaks of.

`touchline world videos --labels` writes them, with every string that is laid over the picture, its box and the time for
which it stands; nothing was chosen on these. Everything runs as in the product: sampling at ten a second with its
threshold, one stream of the reader, runs folded chunk by chunk, merged and parsed.

A string counts as found if a segment that overlaps its time has exactly it as whole words. Its start and end are those
of the segments that say it, next to each other: a score and a clock in one line are a new segment with every second.
What a wipe hides for less than the gap that segments allow has not gone. Entities are compared by kind and normalized
value, line by line: those of the true strings against those of all segments in their places. Strings that stand beside
each other may be read as one line or as several (90:00 and +2:25 are one clock or two). What boards and shirts say
elsewhere is text too and counts as neither.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from support.report import percentile, report

from touchline.media.engines.model import Box, ReaderName
from touchline.media.engines.service import Engine
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import decode_samples, read_manifest, sample
from touchline.process.ocr.rules import (
    FRAMES_PER_CHUNK,
    append_frame,
    compress_runs,
    confident_texts,
    expand_runs,
    is_still,
)
from touchline.process.queue.jobs import OcrPayload
from touchline.process.segments.rules import (
    MAX_GAP_MS,
    ReadFrame,
    SegmentIndex,
    TextSegment,
    build_index,
    find_entities,
)
from touchline_world.videos.library import write_labelled

WITHIN_MS = 500
SHORTEST_MS = 200  # two samples: a line that stands for less is on its way to another
VIDEO = uuid4()
ASKED = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}",))


@dataclass(frozen=True)
class Stood:
    """A string for as long as it really was on the screen."""

    text: str
    box: Box
    start_ms: int
    end_ms: int


@dataclass
class Tally:
    shown: int = 0
    exact: int = 0
    in_time: int = 0
    late_ms: list[float] = field(default_factory=list)
    right: int = 0
    missed: int = 0
    invented: int = 0
    read_s: float = 0
    video_s: float = 0
    segments: int = 0


def shown_in(texts: Sequence[dict[str, Any]]) -> list[Stood]:
    """Those that come back in their place before the gap is over have stood all the time."""
    found: dict[tuple[str, Box], Stood] = {}
    done: list[Stood] = []
    for each in sorted(texts, key=lambda each: each["from_ms"]):
        new = Stood(each["text"], Box(*each["box"]), each["from_ms"], each["until_ms"])
        last = found.get((new.text, new.box))
        if last and new.start_ms - last.end_ms <= MAX_GAP_MS:
            new = replace(last, end_ms=new.end_ms)
        elif last:
            done.append(last)
        found[new.text, new.box] = new
    return done + list(found.values())


async def indexed(sandbox: Sandbox, engine: Engine, video: Path, folder: Path, tally: Tally) -> SegmentIndex:
    """As the workers do it, without the store and the tables between them."""
    await asyncio.to_thread(folder.mkdir)
    made = await sample(sandbox, video, folder, SampleOptions())
    samples = list(read_manifest(folder / made.manifest))
    times, stream, frames = [each.time_ms for each in samples], uuid4().hex, list[ReadFrame]()
    began = time.monotonic()
    async for picture in decode_samples(sandbox, folder, samples, (made.width, made.height)):
        regions = await engine.read(picture, stream)
        if is_still(times, len(frames), 100):
            regions = await engine.read(picture, stream)
        frames = append_frame(frames, picture.at_ms, confident_texts(regions, ASKED))
    tally.read_s += time.monotonic() - began
    tally.video_s += made.source.duration_ms / 1000
    chunks = (frames[start : start + FRAMES_PER_CHUNK] for start in range(0, len(frames), FRAMES_PER_CHUNK))
    runs = [run for chunk in chunks for run in compress_runs(chunk)]
    return build_index(VIDEO, expand_runs(times, runs), made.source.duration_ms)


def judge(tally: Tally, shown: Sequence[Stood], found: SegmentIndex) -> None:
    segments = [each.segment for each in found.segments]
    tally.segments += len(segments)
    for stood in shown:
        tally.shown += 1
        same = [each for each in segments if meets(each, stood) and says(each.text, stood.text)]
        if not same:
            print(f"  not read: {stood.text} ({stood.start_ms} to {stood.end_ms} ms)", file=sys.stderr)
            continue
        tally.exact += 1
        late_ms = min(distance_ms(stretch, stood) for stretch in stretches(same))
        tally.late_ms.append(late_ms)
        tally.in_time += late_ms <= WITHIN_MS
    judge_entities(tally, shown, segments)


def lines_of(shown: Sequence[Stood]) -> list[tuple[Stood, list[str]]]:
    """What stands on one line at the same time, from left to right, for as long as the line stays the same."""
    moments = sorted({moment for each in shown for moment in (each.start_ms, each.end_ms)})
    found: dict[tuple[tuple[str, ...], Box], list[Stood]] = {}
    for start, end in pairwise(moments):
        for line in rows_of([each for each in shown if each.start_ms <= start and end <= each.end_ms]):
            parts = tuple(each.text for each in line)
            same = found.setdefault((parts, line[0].box), [])
            if same and same[-1].end_ms == start:
                same[-1] = replace(same[-1], end_ms=end)
            else:
                same.append(Stood(" ".join(parts), around([each.box for each in line]), start, end))
    lines = ((each, list(parts)) for (parts, _), same in found.items() for each in same)
    return [line for line in lines if line[0].end_ms - line[0].start_ms >= SHORTEST_MS]


def rows_of(shown: Sequence[Stood]) -> Iterator[list[Stood]]:
    left = sorted(shown, key=lambda each: each.box.x)
    while left:
        row = [left.pop(0)]
        for each in left[:]:
            if is_beside(row[-1].box, each.box):
                row.append(each)
                left.remove(each)
        yield row


def is_beside(box: Box, other: Box) -> bool:
    height = min(box.height, other.height)
    apart = abs(box.y + box.height / 2 - other.y - other.height / 2)
    return apart < height / 2 and -height < other.x - box.x - box.width < 2 * height


def around(boxes: Sequence[Box]) -> Box:
    left, top = min(each.x for each in boxes), min(each.y for each in boxes)
    right, bottom = max(each.x + each.width for each in boxes), max(each.y + each.height for each in boxes)
    return Box(left, top, right - left, bottom - top)


def judge_entities(tally: Tally, shown: Sequence[Stood], segments: Sequence[TextSegment]) -> None:
    """Each true one must stand in a segment of its time, and each found one in a line of its time."""
    lines = lines_of(shown)
    for stood, parts in lines:
        there = [entity for each in segments if meets(each, stood) for entity in entities_of(each.text)]
        readings = (entities_of(stood.text), [entity for part in parts for entity in entities_of(part)])
        wanted = min(readings, key=lambda reading: sum(each not in there for each in reading))
        missed = [each for each in wanted if each not in there]
        tell("missed", missed, stood.text, stood.start_ms)
        tally.right += len(wanted) - len(missed)
        tally.missed += len(missed)
    for segment in segments:
        beside = [line for line in lines if meets(segment, line[0])]
        if any(shares(segment.box, stood.box) for stood, _ in lines):
            true = [entity for stood, parts in beside for text in (stood.text, *parts) for entity in entities_of(text)]
            invented = [each for each in entities_of(segment.text) if each not in true]
            tell("invented", invented, segment.text, segment.start_ms)
            tally.invented += len(invented)


def tell(what: str, entities: Sequence[tuple[str, str]], text: str, at_ms: int) -> None:
    for kind, value in entities:
        print(f"  {what}: {kind} {value} of {text!r} ({at_ms} ms)", file=sys.stderr)


def entities_of(text: str) -> list[tuple[str, str]]:
    return [(each.kind or each.type, each.normalized_value) for each in find_entities(text)]


def stretches(same: Sequence[TextSegment]) -> Iterator[tuple[int, int]]:
    """Each alone, and those that follow each other without a gap as one."""
    start = end = None
    for each in sorted(same, key=lambda each: each.start_ms):
        yield each.start_ms, each.end_ms
        if start is None or end is None or each.start_ms - end > MAX_GAP_MS:
            start, end = each.start_ms, each.end_ms
        end = max(end, each.end_ms)
        yield start, end


def meets(segment: TextSegment, stood: Stood) -> bool:
    return segment.start_ms < stood.end_ms and stood.start_ms < segment.end_ms


def shares(box: Box, other: Box) -> bool:
    """Half of the smaller one, as segments are told apart."""
    width = min(box.x + box.width, other.x + other.width) - max(box.x, other.x)
    height = min(box.y + box.height, other.y + other.height) - max(box.y, other.y)
    smaller = min(box.width * box.height, other.width * other.height)
    return width > 0 and height > 0 and 2 * width * height >= smaller


def distance_ms(stretch: tuple[int, int], stood: Stood) -> int:
    return max(abs(stretch[0] - stood.start_ms), abs(stretch[1] - stood.end_ms))


def says(line: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", line) is not None


async def measure(folder: Path, seed: int) -> Tally:
    labels = folder / "labels.json"
    if not await asyncio.to_thread(labels.exists):
        await write_labelled(folder, seed, lambda done, of: print(f"{done} of {of} drawn", file=sys.stderr, flush=True))
    clips = json.loads(await asyncio.to_thread(labels.read_text))["clips"]
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        async with Sandbox(MediaSettings()) as sandbox, Engine(sandbox, ReaderName.RAPIDOCR) as engine:
            await engine.start()
            for clip in (clip for clip in clips if clip["texts"]):
                print(f"reading {clip['file']}", file=sys.stderr, flush=True)
                found = await indexed(sandbox, engine, folder / clip["file"], Path(name) / clip["file"], tally)
                judge(tally, shown_in(clip["texts"]), found)
    return tally


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, help="keep the videos here, so that another run need not draw them")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        tally = asyncio.run(measure(given.folder or Path(temporary), given.seed))
    precision = tally.right / max(1, tally.right + tally.invented)
    recall = tally.right / max(1, tally.right + tally.missed)
    report(
        "segments",
        {
            "shown texts": tally.shown,
            "segments": tally.segments,
            "exact strings, share": tally.exact / tally.shown,
            "start and end within 0.5 s, share of found": tally.in_time / max(1, tally.exact),
            "start or end off, median ms": percentile(tally.late_ms, 0.5),
            "start or end off, p95 ms": percentile(tally.late_ms, 0.95),
            "entities, precision": precision,
            "entities, recall": recall,
            "entities, F1": 2 * precision * recall / max(1e-9, precision + recall),
            "reading, seconds a second of video": tally.read_s / max(1e-9, tally.video_s),
        },
    )


if __name__ == "__main__":
    main()

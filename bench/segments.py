"""Text of drawn broadcasts, from video to segments: how much is found, when it begins and ends, what it speaks of.

Matches at 720p, coded as H.264 with five pictures a second: a score bug with a running clock, captions that come and
go, replays without either. Everything runs as in the product: sampling at ten a second with its threshold, one stream
of the reader, runs folded chunk by chunk, merged and parsed. No choice was made on these matches; tuning used the
seeds below 220.

A shown text is an unbroken time during which one string stands on the screen. It counts as found if a segment that
overlaps that time has exactly its string as whole words; its start and end are the segment's. Entities are compared by
kind and normalized value within each shown text's time: those of the true strings against those of all segments. What
the boards along the pitch say, whole or cut off by the picture's edge, is text too and counts as neither.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from uuid import uuid4

import av
from support.report import percentile, report

from touchline.media.engines.model import ReaderName
from touchline.media.engines.service import Engine
from touchline.media.pixels import decode_samples
from touchline.media.sampling import read_manifest, sample
from touchline.media.sampling_model import SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.process.ocr.rules import FRAMES_PER_CHUNK, kept
from touchline.process.ocr.runs import folded, rests, unfolded
from touchline.process.queue.payloads import OcrPayload
from touchline.process.segments.entities import find_entities
from touchline.process.segments.indexing import Index, index
from touchline.process.segments.model import Frame, Segment
from touchline.world.scenes import broadcast
from touchline.world.scenes.pitch import BOARDS

SEEDS = tuple(int(seed) for seed in sys.argv[1:]) or (221, 222, 223, 224)
SECONDS, RATE, SIZE = 45, 5, (1280, 720)
WITHIN_MS = 500
VIDEO = uuid4()
ASKED = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}",))


@dataclass(frozen=True)
class Stood:
    """A string for as long as it really was on the screen."""

    text: str
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
    segments: int = 0


def make_video(path: Path, seed: int) -> list[Stood]:
    standing: dict[str, int] = {}
    done: list[Stood] = []
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=RATE, options={"preset": "veryfast", "crf": "24"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for number, shown in enumerate(broadcast(seed, SECONDS * 1000, 1000 // RATE, SIZE, 1.0 if seed % 2 else 0.85)):
            frame = av.VideoFrame.from_ndarray(shown.picture, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            output.mux(stream.encode(frame))
            gone = standing.keys() - set(shown.texts)
            done += [Stood(text, standing.pop(text), shown.at_ms) for text in gone]
            standing = dict.fromkeys(shown.texts, shown.at_ms) | standing
        output.mux(stream.encode(None))
    return done + [Stood(text, start_ms, SECONDS * 1000) for text, start_ms in standing.items()]


async def indexed(sandbox: Sandbox, engine: Engine, video: Path, folder: Path, tally: Tally) -> Index:
    """As the workers do it, without the store and the tables between them."""
    await asyncio.to_thread(folder.mkdir)
    made = await sample(sandbox, video, folder, SampleOptions())
    samples = list(read_manifest(folder / made.manifest))
    times, stream, frames = [each.time_ms for each in samples], uuid4().hex, list[Frame]()
    began = time.monotonic()
    async for picture in decode_samples(sandbox, folder, samples, (made.width, made.height)):
        regions = await engine.read(picture, stream)
        if rests(times, len(frames), 100):
            regions = await engine.read(picture, stream)
        frames.append(Frame(picture.at_ms, kept(regions, ASKED)))
    tally.read_s += time.monotonic() - began
    chunks = (frames[start : start + FRAMES_PER_CHUNK] for start in range(0, len(frames), FRAMES_PER_CHUNK))
    runs = [run for chunk in chunks for run in folded(chunk)]
    return index(VIDEO, unfolded(times, runs), made.source.duration_ms)


def judge(tally: Tally, shown: Sequence[Stood], found: Index) -> None:
    segments = [each.segment for each in found.segments]
    tally.segments += len(segments)
    for stood in shown:
        tally.shown += 1
        same = [each for each in overlapping(stood, segments) if says(each.text, stood.text)]
        if not same:
            continue
        tally.exact += 1
        best = min(same, key=lambda each: distance_ms(each, stood))
        tally.late_ms.append(distance_ms(best, stood))
        tally.in_time += distance_ms(best, stood) <= WITHIN_MS
    judge_entities(tally, shown, segments)


def judge_entities(tally: Tally, shown: Sequence[Stood], segments: Sequence[Segment]) -> None:
    """Each true one must stand in a segment of its time, and each found one in a string of its time."""
    for stood in shown:
        for wanted in entities_of(stood.text):
            is_there = any(wanted in entities_of(each.text) for each in overlapping(stood, segments))
            tally.right += is_there
            tally.missed += not is_there
    for segment in segments:
        if any(segment.text.upper() in board for board in BOARDS):
            continue
        true = [wanted for each in shown if meets(segment, each) for wanted in entities_of(each.text)]
        tally.invented += sum(each not in true for each in entities_of(segment.text))


def entities_of(text: str) -> list[tuple[str, str]]:
    return [(each.kind or each.type, each.normalized_value) for each in find_entities(text)]


def overlapping(stood: Stood, segments: Sequence[Segment]) -> Iterator[Segment]:
    return (each for each in segments if meets(each, stood))


def meets(segment: Segment, stood: Stood) -> bool:
    return segment.start_ms < stood.end_ms and stood.start_ms < segment.end_ms


def distance_ms(segment: Segment, stood: Stood) -> int:
    return max(abs(segment.start_ms - stood.start_ms), abs(segment.end_ms - stood.end_ms))


def says(line: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", line) is not None


async def main() -> None:
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        async with Sandbox(MediaSettings()) as sandbox, Engine(sandbox, ReaderName.RAPIDOCR) as engine:
            await engine.start()
            for seed in SEEDS:
                video = Path(name) / f"{seed}.mp4"
                shown = await asyncio.to_thread(make_video, video, seed)
                found = await indexed(sandbox, engine, video, Path(name) / f"{seed}", tally)
                judge(tally, shown, found)
    found = tally.right + tally.invented
    precision, recall = tally.right / max(1, found), tally.right / max(1, tally.right + tally.missed)
    report(
        "segments",
        {
            "videos": len(SEEDS),
            "shown texts": tally.shown,
            "segments": tally.segments,
            "exact strings, share": tally.exact / tally.shown,
            "start and end within 0.5 s, share of found": tally.in_time / max(1, tally.exact),
            "start or end off, median ms": percentile(tally.late_ms, 0.5),
            "start or end off, p95 ms": percentile(tally.late_ms, 0.95),
            "entities, precision": precision,
            "entities, recall": recall,
            "entities, F1": 2 * precision * recall / max(1e-9, precision + recall),
            "reading, seconds a second of video": tally.read_s / (SECONDS * len(SEEDS)),
        },
    )


if __name__ == "__main__":
    asyncio.run(main())

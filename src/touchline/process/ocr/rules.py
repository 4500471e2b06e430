"""Which frames are read, what is kept of their text, and in which language it is. Pure.

Readings of single frames are stored as runs. Invariant: nothing is lost: expanding the runs gives the frames
that were compressed, except for the order of regions in a frame.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import regex

from touchline.kernel import InvalidInput
from touchline.media.engines.model import TextRegion
from touchline.process.queue.jobs import OcrPayload
from touchline.process.sampling.rules import FRAMES
from touchline.process.segments.rules import Detection, ReadFrame
from touchline.process.text import clean


@dataclass(frozen=True, slots=True)
class FrameText:
    """A line of text in a frame, and the time of the frame that showed it first."""

    detection: Detection
    since_ms: int


@dataclass(frozen=True, slots=True)
class TextRun:
    """A text that is shown unchanged in consecutive frames."""

    first_ms: int
    last_ms: int
    detection: Detection


@dataclass(frozen=True, slots=True)
class OcrReading:
    """How far it is. Its revision changes whenever its segments would change."""

    sampling: int
    read_until_ms: int
    is_complete: bool
    revision: int
    paths: list[str] | None  # those that are read; None: all


@dataclass(frozen=True, slots=True)
class OcrRequest:
    """Which frames to read, and a digest of how. The same request continues a reading, another one starts again."""

    digest: str
    sampling: int
    paths: list[str] | None


@dataclass(frozen=True, slots=True)
class OcrChunk:
    start_ms: int
    until_ms: int
    runs: tuple[TextRun, ...]


FRAMES_PER_CHUNK = 64
LONGEST_TEXT = 2000
PICTURE = ".jpg"
_SCRIPTS = {
    "Latin": "eng deu fra spa ita por nld pol swe nor dan fin tur ces hun ron",
    "Cyrillic": "rus ukr bul srp",
    "Greek": "ell",
    "Arabic": "ara fas urd",
    "Hebrew": "heb",
    "Devanagari": "hin mar nep",
    "Thai": "tha",
    "Hangul": "kor",
}
SCRIPT_OF = {language: script for script, languages in _SCRIPTS.items() for language in languages.split()}
_LETTER = regex.compile(r"\p{L}")


def wanted_paths(video_id: UUID, paths: Sequence[str]) -> list[str] | None:
    """The single frames that are named; None for a folder: all frames in the table."""
    for path in paths:
        if not path.startswith(f"{FRAMES}/{video_id}/"):
            raise InvalidInput("not a frame of this video", field="frame_paths", why=path)
    single = sorted({path for path in paths if path.endswith(PICTURE)})
    return single if len(single) == len(set(paths)) else None


def ocr_request(payload: OcrPayload, reader: str, sampling: int) -> OcrRequest:
    """The same for the same work, however often it is requested."""
    paths = wanted_paths(payload.video_id, payload.frame_paths)
    asked = [reader, payload.languages, payload.min_confidence, paths]
    return OcrRequest(hashlib.sha256(json.dumps(asked).encode()).hexdigest(), sampling, paths)


def confident_texts(regions: Iterable[TextRegion], payload: OcrPayload) -> list[FrameText]:
    """Texts with enough confidence, as they are stored; without those that have no visible character."""
    found = (
        FrameText(
            Detection(text, region.box, region.confidence, language_of(region, payload.languages)), region.since_ms
        )
        for region in regions
        if region.confidence >= payload.min_confidence and (text := clean(region.text)[:LONGEST_TEXT].strip())
    )
    return list(found)


def language_of(region: TextRegion, languages: Sequence[str]) -> str | None:
    """As the OCR engine says; else the requested one, if it is the only one and all letters are of its script."""
    if region.language is not None or len(languages) != 1 or languages[0] not in SCRIPT_OF:
        return region.language
    letters = _LETTER.findall(region.text)
    script = SCRIPT_OF[languages[0]]
    return languages[0] if letters and all(regex.match(rf"\p{{{script}}}", each) for each in letters) else None


def append_frame(frames: Sequence[ReadFrame], at_ms: int, seen: Sequence[FrameText]) -> list[ReadFrame]:
    """The frames so far and another one. OCR may report a text later than it appeared: it is then added to the frames
    before, back to the one that showed it first, or to one that has the same text there."""
    before = list(frames)
    for each in seen:
        place = len(before) - 1
        while place >= 0 and before[place].at_ms >= each.since_ms and not _contains(before[place], each.detection):
            before[place] = ReadFrame(before[place].at_ms, [*before[place].detections, each.detection])
            place -= 1
    return [*before, ReadFrame(at_ms, [each.detection for each in seen])]


def _contains(frame: ReadFrame, detection: Detection) -> bool:
    return any(each.text == detection.text and each.box.shared(detection.box) for each in frame.detections)


def compress_runs(frames: Iterable[ReadFrame]) -> Iterator[TextRun]:
    """In the order in which they end. A region that is reported twice in one frame counts once."""
    open_runs: dict[Detection, tuple[int, int]] = {}
    for frame in frames:
        now: dict[Detection, tuple[int, int]] = {}
        for detection in frame.detections:
            first_ms, _ = open_runs.get(detection, (frame.at_ms, 0))
            now[detection] = first_ms, frame.at_ms
        yield from _runs({each: times for each, times in open_runs.items() if each not in now})
        open_runs = now
    yield from _runs(open_runs)


def expand_runs(times: Iterable[int], runs: Iterable[TextRun]) -> Iterator[ReadFrame]:
    """Every frame with what was read in it, including those without text."""
    waiting = sorted(runs, key=lambda run: run.first_ms, reverse=True)
    open_runs: list[TextRun] = []
    for at_ms in times:
        open_runs = [run for run in open_runs if run.last_ms >= at_ms]
        while waiting and waiting[-1].first_ms <= at_ms:
            open_runs.append(waiting.pop())
        yield ReadFrame(at_ms, [run.detection for run in open_runs])


def is_still(times: Sequence[int], number: int, every_ms: int) -> bool:
    """Whether frames after this one were left out because they were the same."""
    return number + 1 == len(times) or times[number + 1] - times[number] > every_ms * 3 // 2


def _runs(open_runs: dict[Detection, tuple[int, int]]) -> Iterator[TextRun]:
    return (TextRun(first_ms, last_ms, detection) for detection, (first_ms, last_ms) in open_runs.items())

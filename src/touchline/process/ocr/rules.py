"""Which pictures are asked for, what is kept of their text, and in which language it is. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from uuid import UUID

import regex

from touchline.kernel.errors import InvalidInput
from touchline.media.engines.model import TextRegion
from touchline.process.queue.payloads import OcrPayload
from touchline.process.sampling.rules import FRAMES
from touchline.process.segments.folding import clean
from touchline.process.segments.model import Detection

from .model import Request, Seen

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
    """Single pictures that are named; None for a folder: then it is all that the table lists."""
    for path in paths:
        if not path.startswith(f"{FRAMES}/{video_id}/"):
            raise InvalidInput("not a picture of this video", field="frame_paths", why=path)
    single = sorted({path for path in paths if path.endswith(PICTURE)})
    return single if len(single) == len(set(paths)) else None


def request_of(payload: OcrPayload, reader: str, sampling: int) -> Request:
    """The same for the same work, however often it is asked for."""
    paths = wanted_paths(payload.video_id, payload.frame_paths)
    asked = [reader, payload.languages, payload.min_confidence, paths]
    return Request(hashlib.sha256(json.dumps(asked).encode()).hexdigest(), sampling, paths)


def kept(regions: Iterable[TextRegion], payload: OcrPayload) -> list[Seen]:
    """What is sure enough, as it can be stored; a text of which nothing is seen is none."""
    found = (
        Seen(Detection(text, region.box, region.confidence, language_of(region, payload.languages)), region.since_ms)
        for region in regions
        if region.confidence >= payload.min_confidence and (text := clean(region.text)[:LONGEST_TEXT].strip())
    )
    return list(found)


def language_of(region: TextRegion, languages: Sequence[str]) -> str | None:
    """As the reader says; else the one that was asked for, if no other was and the letters are of its script."""
    if region.language is not None or len(languages) != 1 or languages[0] not in SCRIPT_OF:
        return region.language
    letters = _LETTER.findall(region.text)
    script = SCRIPT_OF[languages[0]]
    return languages[0] if letters and all(regex.match(rf"\p{{{script}}}", each) for each in letters) else None

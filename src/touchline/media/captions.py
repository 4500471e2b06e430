"""Captions as WebVTT. Pure: the texts are a stranger's.

Invariant: whatever a text says, it stays the text of one cue: no markup, no timing, no end of the cue comes out of it.
"""

from __future__ import annotations

import re
from html import escape

MOST_CHARACTERS = 1000  # of one cue: more does not fit on a screen
MOST_LINES = 10
TICKS = 90_000  # in a second of a transport stream, which players count in
_STYLE = re.compile(r"\{[^{}]*\}")
_LINE_END = re.compile(r"\\[Nn]|[\r\n\u0085\u2028\u2029]+")
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}")


def caption_text(dialogue: str) -> str:
    """The words of a subtitle as the decoders give it: with its styles in braces and its line ends written out."""
    plain = _STYLE.sub("", dialogue[: 4 * MOST_CHARACTERS]).replace("\\h", " ")
    lines = [_UNSEEN.sub("", line).strip() for line in _LINE_END.split(plain)]
    seen = "\n".join([line for line in lines if line][:MOST_LINES])[:MOST_CHARACTERS]
    return escape(seen, quote=False)


def header(lead_s: float) -> str:
    """Always of one length. Cues are in the time of the source, which begins so much later in the stream."""
    return f"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:{round(lead_s * TICKS):010},LOCAL:00:00:00.000\n\n"


def cue(start_ms: int, end_ms: int, text: str) -> str:
    return f"{timestamp(start_ms)} --> {timestamp(end_ms)}\n{text}\n\n"


def timestamp(time_ms: int) -> str:
    seconds, milliseconds = divmod(time_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}"


def known_language(name: str | None) -> str | None:
    """As RFC 5646 writes them, or none: what a file says may be anything."""
    return name if name and name != "und" and _LANGUAGE.fullmatch(name) else None

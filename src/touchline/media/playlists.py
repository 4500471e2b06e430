"""The texts of HLS playlists (RFC 8216): the master is written here, the playlists of renditions are read.

Invariant: every name in a master playlist is one that we chose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .model import Rendition

_SEGMENT = re.compile(r"^#EXTINF:([0-9.]+),[^\n]*\n(?:#[^\n]*\n)*([^#\n]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Segment:
    name: str
    duration_s: float


def read_segments(text: str) -> list[Segment]:
    return [Segment(name, float(duration)) for duration, name in _SEGMENT.findall(text)]


def master_playlist(renditions: Sequence[Rendition]) -> str:
    """Best first: players without a measurement of their own begin with the first."""
    best_first = sorted(renditions, key=lambda rendition: rendition.peak_bits_per_second, reverse=True)
    lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    for rendition in best_first:
        lines += [f"#EXT-X-STREAM-INF:{_attributes(rendition)}", rendition.playlist]
    return "\n".join([*lines, ""])


def _attributes(rendition: Rendition) -> str:
    attributes = [
        f"BANDWIDTH={rendition.peak_bits_per_second}",
        f"AVERAGE-BANDWIDTH={rendition.average_bits_per_second}",
        f'CODECS="{rendition.codecs}"',
        f"RESOLUTION={rendition.width}x{rendition.height}",
    ]
    if rendition.frame_rate:
        attributes.append(f"FRAME-RATE={float(rendition.frame_rate):.3f}")
    return ",".join(attributes)

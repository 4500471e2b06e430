"""What a survey of a video is asked for, and what it says. Shared with the child: it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.media.fingerprint.style import Style

PICTURE = "{}.jpg"  # the file of each picture, by its time in milliseconds


@dataclass(frozen=True, slots=True)
class SurveyOptions:
    styles: tuple[Style, ...] = ()  # of the fingerprints
    moments_ms: tuple[int, ...] = ()  # of the pictures
    fast: bool = False  # skip pictures that no others are made of; where a video has such, a few bits differ


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What a child says about the files that it wrote: one for each style, and one for each picture."""

    duration_ms: int
    samples: int  # in each fingerprint
    pictures_ms: tuple[int, ...]  # the media times of the pictures

"""What sampling is asked for, and what it says. Shared with the child: it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from .model import OutputFile, Probe

MANIFEST = "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class SampleOptions:
    every_ms: int = 100  # ten pictures a second
    threshold: float = 0.95  # of similarity; what is above it is the same picture, unless a tile of it changed


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a child says about the pictures that it wrote."""

    source: Probe
    width: int
    height: int
    examined: int
    kept: int


@dataclass(frozen=True, slots=True)
class SampledPicture:
    """A line of the manifest."""

    name: str
    time_ms: int  # the media time of the picture
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SampleSet:
    source: Probe
    width: int
    height: int
    examined: int
    kept: int
    manifest: str  # from the output folder
    files: tuple[OutputFile, ...]

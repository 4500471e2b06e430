"""`touchline media probe`: what a video is."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from touchline.apps.cli.output import AsJson, show, show_json

from .arguments import File

if TYPE_CHECKING:
    from touchline.media.model import AudioTrack, Probe, VideoTrack


def probe(file: File, as_json: AsJson = False) -> None:
    """Show what a video is, and whether browsers play it: as it is, repackaged, or encoded again."""
    found = asyncio.run(_probed(file))
    if as_json:
        show_json(asdict(found))
        return
    show(f"verdict    {found.verdict}: {found.reason}")
    show(f"container  {_container(found)}")
    show(f"video      {_video(found.video)}")
    show(f"audio      {_audio(found.audio) if found.audio else 'none'}")


async def _probed(file: Path) -> Probe:
    from touchline.apps.settings import load
    from touchline.media.probe import probe
    from touchline.media.sandbox import Sandbox

    async with Sandbox(load().settings.media) as sandbox:
        return await probe(sandbox, file)


def _container(found: Probe) -> str:
    start = f", starts at {found.start_ms / 1000:.3f} s" if found.start_ms else ""
    index = "" if found.index == "whole" else f", index {found.index}"
    return f"{found.format}, {found.size_bytes} bytes, {found.duration_ms / 1000:.3f} s{start}{index}"


def _video(track: VideoTrack) -> str:
    from touchline.media.rules import display_size

    width, height = display_size(track)
    remarks = [
        f"turned by {track.rotation}°" if track.rotation else "",
        f"{float(track.frame_rate):.3f} pictures/s" if track.frame_rate else "",
        "variable rate" if track.has_variable_rate else "",
        "interlaced" if track.is_interlaced else "",
        f"HDR ({track.light}, {track.bit_depth} bits)" if track.light != "standard" else "",
    ]
    facts = [_codec(track.codec, track.profile), track.pixel_format, f"{width} x {height}", *filter(None, remarks)]
    return ", ".join(facts)


def _audio(track: AudioTrack) -> str:
    channels = "1 channel" if track.channels == 1 else f"{track.channels} channels"
    return f"{_codec(track.codec, track.profile)}, {channels}, {track.sample_rate_hz} Hz"


def _codec(name: str, profile: str | None) -> str:
    return f"{name} ({profile})" if profile else name

"""The packets of a video, as the libraries read them: what is copied must be the same afterwards."""

from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from av.packet import Packet


class Stream(NamedTuple):
    """`times_s`: when each is shown and decoded, from the earliest decoding time of the file on."""

    content: list[tuple[str, bool]]
    times_s: Any


def packets_of(content: bytes) -> list[Stream]:
    """Pictures, then sound."""
    with av.open(io.BytesIO(content), "r") as container:
        streams = [*container.streams.video, *container.streams.audio]
        packets = [packet for packet in container.demux(streams) if packet.size]
        kinds = [[packet for packet in packets if packet.stream_index == stream.index] for stream in streams]
        times = [np.array([_times(packet) for packet in every]) for every in kinds]
        zero = min(each[0, 1] for each in times)
        contents = [[(sha256(bytes(packet)).hexdigest(), packet.is_keyframe) for packet in every] for every in kinds]
        return [Stream(*each) for each in zip(contents, [every - zero for every in times], strict=True)]


def packets_of_rendition(playlist: Path) -> list[Stream]:
    names = ["init.mp4", *(line for line in playlist.read_text().splitlines() if line and line[0] != "#")]
    return packets_of(b"".join((playlist.parent / name).read_bytes() for name in names))


def _times(packet: Packet[Any]) -> tuple[float, float]:
    assert packet.pts is not None
    assert packet.dts is not None
    assert packet.time_base
    return float(packet.pts * packet.time_base), float(packet.dts * packet.time_base)

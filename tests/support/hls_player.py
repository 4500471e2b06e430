"""HLS as a player sees it: the playlists are parsed, every segment is decoded, frames and durations are counted."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import av
from av.video.frame import VideoFrame

from touchline.media.model import HlsPackage


@dataclass(frozen=True)
class Played:
    durations: list[float]
    pictures: list[list[VideoFrame]]
    sound_packets: int
    sizes_bytes: list[int]

    @property
    def frames(self) -> int:
        return sum(len(each) for each in self.pictures)

    @property
    def peak_bits_per_second(self) -> int:
        return max(round(size * 8 / each) for size, each in zip(self.sizes_bytes, self.durations, strict=True))


def play(folder: Path, package: HlsPackage) -> Played:
    """What a player does with one rendition: master, playlist, header, then segment by segment."""
    master = (folder / package.master).read_text().splitlines()
    assert master[0] == "#EXTM3U"
    [playlist] = [folder / line for line in master if not line.startswith("#")]
    return play_rendition(playlist)


def play_rendition(playlist: Path) -> Played:
    lines = playlist.read_text().splitlines()
    assert lines[0] == "#EXTM3U"
    assert lines[-1] == "#EXT-X-ENDLIST"
    assert {"#EXT-X-VERSION:7", "#EXT-X-PLAYLIST-TYPE:VOD"} <= set(lines)
    [header] = [line for line in lines if line.startswith("#EXT-X-MAP:")]
    assert header == '#EXT-X-MAP:URI="init.mp4"'
    [target] = [int(line.partition(":")[2]) for line in lines if line.startswith("#EXT-X-TARGETDURATION:")]
    durations = [float(line.partition(":")[2].rstrip(",")) for line in lines if line.startswith("#EXTINF:")]
    assert all(round(duration) <= target for duration in durations)
    names = [line for line in lines if not line.startswith("#")]
    assert names == [f"segment_{number:05}.m4s" for number in range(len(durations))]
    init = (playlist.parent / "init.mp4").read_bytes()
    segments = [(playlist.parent / name).read_bytes() for name in names]
    shown = [pictures(init + segment) for segment in segments]
    assert "#EXT-X-INDEPENDENT-SEGMENTS" in lines or not any(shown)
    return Played(durations, shown, sound_packets(init, segments), [len(segment) for segment in segments])


def pictures(content: bytes) -> list[VideoFrame]:
    with av.open(io.BytesIO(content), "r") as container:
        return list(container.decode(video=0)) if container.streams.video else []


def sound_packets(init: bytes, segments: list[bytes]) -> int:
    with av.open(io.BytesIO(init + b"".join(segments)), "r") as container:
        return sum(1 for packet in container.demux(audio=0) if packet.size) if container.streams.audio else 0


def count(path: Path) -> tuple[int, int]:
    with av.open(str(path)) as container:
        frames = sum(1 for _ in container.decode(video=0))
    with av.open(str(path)) as container:
        sound = sum(1 for packet in container.demux(audio=0) if packet.size) if container.streams.audio else 0
    return frames, sound

"""Text streams of the source on their way to WebVTT: one file for each, written as it goes.

Invariant: bounded by the number of cues; a stream without a word makes no file.
"""

from __future__ import annotations

from typing import Any

from av.error import FFmpegError
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.subtitle import AssSubtitle, SubtitleSet

from touchline.media.captions import caption_text, cue, header, known_language
from touchline.media.model import Captions
from touchline.media.playlists import whole_playlist

from .channel import Channel, Output
from .packets import AnyPacket
from .source import VideoSource

TEXT_CODECS = frozenset({"mov_text", "subrip", "ass", "ssa", "webvtt", "text"})
MOST_STREAMS = 16
MOST_CUES = 50_000
USUAL_MS = 3000  # for a text that does not say how long it stays
LONGEST_MS = 600_000
FILE, PLAYLIST = "captions.vtt", "index.m3u8"


def text_streams(source: VideoSource) -> list[Any]:
    streams = [stream for stream in source.container.streams.subtitles if stream.codec_context]
    return [each for each in streams if each.codec_context.codec.canonical_name in TEXT_CODECS][:MOST_STREAMS]


class CaptionTrack:
    def __init__(self, stream: Any, source: VideoSource, name: str, channel: Channel) -> None:
        self._decoder: SubtitleCodecContext = stream.codec_context
        self._tick_ms = stream.time_base * 1000
        self._start_ms = source.start * 1000
        self._language = known_language(stream.language)
        self._name = name
        self._channel = channel
        self._file: Output | None = None
        self._last_ms = 0
        self._cues = 0

    def take(self, packet: AnyPacket) -> None:
        if packet.pts is None or self._cues >= MOST_CUES or (said := self._decoded(packet)) is None:
            return
        text = "\n".join(filter(None, (caption_text(words) for words in _words(said))))
        start_ms = max(self._last_ms, round(packet.pts * self._tick_ms - self._start_ms))
        if text:
            lasts_ms = round((packet.duration or 0) * self._tick_ms) or said.end_display_time or USUAL_MS
            self._write(cue(start_ms, start_ms + max(1, min(lasts_ms, LONGEST_MS)), text))
            self._last_ms = start_ms

    def finish(self) -> None:
        """It stays open until it is described."""

    def described(self, duration_ms: int, lead_s: float) -> Captions | None:
        """Its head and its playlist are written now: duration and lead are known when all is read."""
        if self._file is None:
            return None
        self._file.seek(0)
        self._file.write(header(lead_s).encode())
        self._file.close()
        playlist = f"{self._name}/{PLAYLIST}"
        with self._channel.create(playlist) as file:
            file.write(whole_playlist(FILE, duration_ms).encode())
        return Captions(self._name, playlist, self._language, self._cues)

    def _decoded(self, packet: AnyPacket) -> SubtitleSet | None:
        try:
            return self._decoder.decode2(packet)  # pyright: ignore[reportUnknownMemberType]
        except FFmpegError:
            return None  # one broken text does not end a video

    def _write(self, text: str) -> None:
        if self._file is None:
            self._file = self._channel.create(f"{self._name}/{FILE}")
            self._file.write(header(0).encode())  # holds the place
        self._file.write(text.encode())
        self._cues += 1


def _words(said: SubtitleSet) -> list[str]:
    return [each.dialogue.decode(errors="replace") for each in said.rects if isinstance(each, AssSubtitle)]

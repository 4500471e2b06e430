"""The sound of a clip, from the first picture to the end of the last.

AAC is copied: a packet more in front, which the decoder needs and the edit list hides, so that it starts at the
sample. Everything else is cut at the sample and encoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.error import BlockingIOError as NothingYet
from av.error import EOFError as Finished
from av.filter import Graph

from .encoded_sound import SAMPLE_FORMAT, SAMPLES_PER_PACKET, NewSound
from .packets import AnyPacket
from .source import tick_of


@dataclass(frozen=True, slots=True)
class SoundRange:
    """In seconds, as the source counts."""

    start: Fraction
    end: Fraction


class CopiedClipSound:
    def __init__(self, stream: AudioStream, output: OutputContainer, stretch: SoundRange) -> None:
        self._target = output.add_stream_from_template(stream)  # pyright: ignore[reportUnknownMemberType]
        tick = tick_of(stream)
        self._start, self._end = round(stretch.start / tick), round(stretch.end / tick)
        self._length = ceil(Fraction(SAMPLES_PER_PACKET, stream.sample_rate) / tick)
        self._before: AnyPacket | None = None
        self._begun = False

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        if packet.pts is None or packet.pts >= self._end:
            return
        length = packet.duration or self._length
        if packet.pts + length <= self._start:
            self._before = packet
            return
        if not self._begun and self._before:
            yield from self._placed(self._before, self._before.duration or self._length)
        self._begun = True
        yield from self._placed(packet, min(length, self._end - packet.pts))

    def finish(self) -> Iterator[AnyPacket]:
        return iter(())

    def _placed(self, packet: AnyPacket, length: int) -> Iterator[AnyPacket]:
        packet.pts = packet.dts = (packet.pts or 0) - self._start
        packet.duration = length
        packet.stream = self._target
        yield packet


class EncodedClipSound(NewSound):
    def __init__(self, stream: AudioStream, output: OutputContainer, stretch: SoundRange) -> None:
        super().__init__(stream, output)
        self._tick = tick_of(stream)
        self._start, self._end = round(stretch.start * self._rate), round(stretch.end * self._rate)
        self._shape: tuple[str, str, int] | None = None
        self._graph: Graph | None = None

    def _converted(self, sound: AudioFrame) -> Iterator[AudioFrame]:
        """The filters are made for one shape."""
        shape = (sound.format.name, sound.layout.name, sound.sample_rate)
        if shape != self._shape:
            yield from self._rest()
            self._graph, self._shape = self._filters(sound), shape
        if sound.pts is not None and self._graph:
            yield from _passed(self._graph, sound)

    def _rest(self) -> Iterator[AudioFrame]:
        if self._graph:
            yield from _passed(self._graph, None)

    def _filters(self, sound: AudioFrame) -> Graph:
        graph = Graph()
        source = graph.add_abuffer(
            sample_rate=sound.sample_rate, format=sound.format, layout=sound.layout, time_base=self._tick
        )
        form = f"sample_fmts={SAMPLE_FORMAT}:sample_rates={self._rate}:channel_layouts={self._layout}"
        steps = [
            ("aformat", form),
            ("asettb", f"1/{self._rate}"),
            ("atrim", f"start_pts={self._start}:end_pts={self._end}"),
            ("asetpts", f"PTS-{self._start}"),
        ]
        graph.link_nodes(source, *(graph.add(*step) for step in steps), graph.add("abuffersink")).configure()
        return graph


def _passed(graph: Graph, sound: AudioFrame | None) -> Iterator[AudioFrame]:
    with suppress(Finished):  # behind the end of the range it takes no more
        graph.push(sound)
    while True:
        try:
            cut = graph.pull()
        except (NothingYet, Finished):
            return
        if isinstance(cut, AudioFrame):
            yield cut

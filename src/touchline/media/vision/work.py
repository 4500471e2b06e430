"""What the engine process does with pictures, and what it keeps between them: the oldest stream is forgotten."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from touchline.media.engines.model import Box, FrameVerdict, TextRegion

from .areas import Pixels
from .judge import FrameClassifier
from .memory import ReadMemory
from .readers import Reader
from .tracking import TextStream, TrackedRegion

MOST_STREAMS = 16
Document = dict[str, Any]


class EngineTasks:
    def __init__(self, reader: Reader | None) -> None:
        self._reader = reader
        self._judge = FrameClassifier.load()
        self._streams: OrderedDict[str, TextStream] = OrderedDict()
        self.tasks: dict[str, Callable[[Document, Pixels], Document]] = {"read": self.read, "judge": self.judge}

    def read(self, asked: Document, picture: Pixels) -> Document:
        if self._reader is None:
            raise RuntimeError("this engine has no reader")
        regions = self._stream(asked["stream"], self._reader).read(picture, asked["at_ms"], asked["upper"])
        return {"regions": [asdict(_told(region, self._reader.language)) for region in regions]}

    def judge(self, asked: Document, picture: Pixels) -> Document:
        football, filmed = self._judge.verdict(picture)
        return asdict(FrameVerdict(football, filmed))

    def _stream(self, name: str, reader: Reader) -> TextStream:
        """Without a name, the picture stands for itself."""
        stream = self._streams.pop(name, None) or TextStream(reader, ReadMemory(), is_single=not name)
        if name:
            self._streams[name] = stream
        while len(self._streams) > MOST_STREAMS:
            self._streams.popitem(last=False)
        return stream


def _told(region: TrackedRegion, language: str | None) -> TextRegion:
    area = region.area
    box = Box(area.x, area.y, area.width, area.height)
    return TextRegion(region.words.text, box, round(region.words.confidence, 4), language, region.since_ms)

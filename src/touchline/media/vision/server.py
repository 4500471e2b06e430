"""The life of the engine process: load, confine, then one answer for each question, until nobody asks any more.

Invariant: its standard input is the only thing it talks to; a question that fails gets an answer that says so.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import socket
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import cv2
import numpy as np

# numpy imports them when they are first used. By then this is another user, who may be unable to read the files.
import numpy.fft  # pyright: ignore[reportUnusedImport]
import numpy.ma  # pyright: ignore[reportUnusedImport]

from touchline.media.child import system
from touchline.media.engines.messages import LENGTHS, Message, document_in, head_of, lengths_in
from touchline.media.engines.model import CHANNELS, Box, EngineOrder, FrameVerdict, ReaderName, TextRegion
from touchline.platform.stack.parent_death_guard import die_with

from .areas import Pixels
from .judge import FrameClassifier
from .memory import ReadMemory
from .readers import NoData, Reader, open_reader
from .text_stream import TextStream, TrackedRegion

# What the engine process does with pictures, and what it keeps between them: the oldest stream is forgotten.

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
            raise RuntimeError("this engine has no OCR reader")
        regions = self._stream(asked["stream"], self._reader).read(picture, asked["at_ms"], asked["upper"])
        return {"regions": [asdict(_as_region(region, self._reader.language)) for region in regions]}

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


def _as_region(region: TrackedRegion, language: str | None) -> TextRegion:
    area = region.area
    box = Box(area.x, area.y, area.width, area.height)
    return TextRegion(region.words.text, box, round(region.words.confidence, 4), language, region.since_ms)


# What the engine process gives up before the first picture, inside the isolation of bubblewrap.
# Invariant: the limits first, for another user could not set them all; the death signal last, for it does not survive
# the change.

OPEN_FILES = 64


def isolate_engine(order: EngineOrder) -> None:
    """After everything that must be read has been read."""
    resource.setrlimit(resource.RLIMIT_AS, (order.memory_bytes, order.memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(order.user_id, order.user_id, order.user_id)
        os.setresuid(order.user_id, order.user_id, order.user_id)
    system.drop_capabilities()
    die_with(os.getppid(), signal.SIGKILL)


def allow_cpu(seconds: int) -> None:
    """From now on. The system counts, and ends the process in the middle of whatever library it is in."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def serve(line: socket.socket) -> None:
    first = _receive(line, most_bytes=0)
    if first is None:
        return
    order = EngineOrder(**first.document)
    try:
        reader = _opened(order)
    except NoData as error:
        _say(line, {"error": "language", "language": str(error)})
        return
    work = EngineTasks(reader)
    isolate_engine(order)
    _say(line, {"ready": True})
    while (question := _receive(line, order.most_bytes)) is not None:
        allow_cpu(order.picture_cpu_s)
        _say(line, _answer(work, question))


def _opened(order: EngineOrder) -> Reader | None:
    cv2.setNumThreads(order.threads)
    return open_reader(ReaderName(order.reader), order.languages, order.threads) if order.reader else None


def _answer(work: EngineTasks, question: Message) -> dict[str, Any]:
    asked = question.document
    try:
        picture = np.frombuffer(question.payload, np.uint8).reshape(asked["height"], asked["width"], CHANNELS)
        return work.tasks[asked["task"]](asked, picture)
    except MemoryError:
        return {"error": "memory"}
    except Exception as error:
        return {"error": "defect", "why": f"{type(error).__name__}: {error}"[:500]}


def _say(line: socket.socket, document: dict[str, Any]) -> None:
    line.sendall(head_of(Message(document)))


def _receive(line: socket.socket, most_bytes: int) -> Message | None:
    """Nothing when the other side has hung up."""
    head = _exactly(line, LENGTHS.size)
    if head is None:
        return None
    document, payload = lengths_in(bytes(head), most_bytes)
    text, pixels = _exactly(line, document), _exactly(line, payload)
    return None if text is None or pixels is None else Message(document_in(bytes(text)), bytes(pixels))


def _exactly(line: socket.socket, length: int) -> bytearray | None:
    received, filled = bytearray(length), 0
    while filled < length:
        count = line.recv_into(memoryview(received)[filled:])
        if not count:
            return None
        filled += count
    return received

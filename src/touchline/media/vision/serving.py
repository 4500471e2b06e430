"""The life of the engine process: load, confine, then one answer for each question, until nobody asks any more.

Invariant: its standard input is the only thing it talks to; a question that fails gets an answer that says so.
"""

from __future__ import annotations

import socket
from typing import Any

import cv2
import numpy as np

from touchline.media.engines.messages import LENGTHS, Message, document_in, head_of, lengths_in
from touchline.media.engines.model import CHANNELS, EngineOrder, ReaderName

from .isolation import isolate_engine
from .languages import NoData
from .readers import Reader, open_reader
from .work import EngineTasks


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

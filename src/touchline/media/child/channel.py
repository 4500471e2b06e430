"""What a child says to its parent, in JSON lines, and the files that it gets for the asking.

Invariant: nothing else can write there, whatever a library prints.

From what went wrong to whose fault it is.

Invariant: what the codecs raise is the input's fault; what Python raises is ours, unless a limit was met.
"""

from __future__ import annotations

import errno
import io
import json
import socket
import sys
import traceback
from threading import Lock
from typing import TYPE_CHECKING, Any

from touchline.media.model import MediaFailure

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
WHY_LENGTH = 500


class InputRefused(Exception):
    """The input cannot be worked on, for a reason that we know."""

    def __init__(self, failure: MediaFailure, why: str) -> None:
        super().__init__(why)
        self.failure = failure
        self.why = why


def explain(error: Exception) -> tuple[MediaFailure, str]:
    failure, why = _classified(error)
    return failure, why[:WHY_LENGTH]


def _classified(error: Exception) -> tuple[MediaFailure, str]:
    number = getattr(error, "errno", None)
    if isinstance(error, InputRefused):
        return error.failure, error.why
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return MediaFailure.LIMIT, "it exceeds the memory limit"
    if number == errno.EFBIG:
        return MediaFailure.LIMIT, "an output file exceeds the size limit"
    if number in NO_ROOM:
        return MediaFailure.STORAGE, "the disk is full"
    return _of_the_codecs(error) or (MediaFailure.DEFECT, _place(error))


def _of_the_codecs(error: Exception) -> tuple[MediaFailure, str] | None:
    codecs: Any = sys.modules.get("av.error")
    if codecs is None:  # a task that opens no video
        return None
    unknown = codecs.DecoderNotFoundError, codecs.PatchWelcomeError, codecs.NotImplementedError
    why: str = getattr(error, "strerror", None) or type(error).__name__
    if isinstance(error, unknown):
        return MediaFailure.UNSUPPORTED, why
    return (MediaFailure.DAMAGED, why) if isinstance(error, codecs.FFmpegError) else None


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.name}, line {frame.lineno} of {frame.filename.rpartition('/')[2]})"


class Channel:
    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._percent = -1
        self._saying, self._asking = Lock(), Lock()  # files may be written by another thread than the rest is done by

    def started(self) -> None:
        self._say({"started": True})

    def progress(self, share: float) -> None:
        """The share of the work that is done, by media time. At most a hundred lines."""
        percent = max(0, min(100, int(share * 100)))
        if percent > self._percent:
            self._percent = percent
            self._say({"progress": percent})

    def beat(self, share: float) -> None:
        """Progress that is also told where it is the same as before."""
        self._percent = -1
        self.progress(share)

    def create(self, name: str) -> Output:
        """A new file in the output folder, which a child cannot reach itself."""
        with self._asking:
            self._say({"create": name})
            _, descriptors, *_ = socket.recv_fds(self._socket, 1, 1)
        if not descriptors:
            raise InputRefused(MediaFailure.DEFECT, f"no file {name} was given")
        return Output(descriptors[0], name, self)

    def complete(self, name: str) -> None:
        self._say({"complete": name})

    def result(self, document: dict[str, Any]) -> None:
        self._say({"result": document})

    def failure(self, failure: MediaFailure, why: str) -> None:
        self._say({"failure": failure, "why": why})

    def _say(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._saying:
            self._socket.sendall(line)


class Output(io.FileIO):
    """A file that can be written, and read again until it is closed, which says that it is complete."""

    def __init__(self, descriptor: int, name: str, channel: Channel) -> None:
        super().__init__(descriptor, "r+")
        self.path = name
        self._channel = channel

    def write(self, data: ReadableBuffer) -> int:
        """All of it, or an error that says why not: the libraries do not look at how much was written."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[super().write(rest) :]
        return size

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._channel.complete(self.path)

"""One folder of the output, in which a muxer makes files as it goes. A thread writes them down.

Invariant: what a file was when it was closed is remembered, because it cannot be opened again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .channel import Channel, Output
from .scribe import WriterThread
from .wholeness import NOT_WRITTEN, WrittenFile, inspect_written


class OutputFolder:
    def __init__(self, name: str, channel: Channel, kept: Iterable[str]) -> None:
        """`kept`: those whose content is asked for afterwards."""
        self.name = name
        self._channel = channel
        self._scribe = WriterThread()
        self._written: dict[str, WrittenFile] = {}
        self._kept = {self.path(each): b"" for each in kept}

    def path(self, name: str) -> str:
        return f"{self.name}/{name}"

    def open(self, url: str, flags: int, options: Mapping[str, str]) -> MuxedFile:
        """What a muxer calls for each of its files."""
        return MuxedFile(url, self._channel, self, self._scribe)

    def remember(self, output: Output) -> None:
        self._written[output.path] = inspect_written(output.fileno())
        if output.path in self._kept:
            output.seek(0)
            self._kept[output.path] = output.read()

    def written(self, name: str) -> WrittenFile:
        """Nothing of what was never opened."""
        self._scribe.settle()
        return self._written.get(self.path(name), NOT_WRITTEN)

    def content(self, name: str) -> bytes:
        self._scribe.settle()
        return self._kept[self.path(name)]


class MuxedFile:
    """A file in the hands of a muxer. Asking for it takes as long as the parent needs to hear: that is waited for
    aside too."""

    def __init__(self, path: str, channel: Channel, folder: OutputFolder, scribe: WriterThread) -> None:
        self._path = path
        self._channel = channel
        self._folder = folder
        self._scribe = scribe
        self._output: Output | None = None
        self._is_open = True
        scribe.add(self._create)

    def write(self, data: bytes) -> int:
        self._scribe.add(lambda: self._write(data))
        return len(data)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._scribe.add(self._close)

    def _create(self) -> None:
        self._output = self._channel.create(self._path)

    def _write(self, data: bytes) -> None:
        if self._output:
            self._output.write(data)

    def _close(self) -> None:
        if self._output:
            self._folder.remember(self._output)
            self._output.close()

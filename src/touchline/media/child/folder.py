"""One folder of the output, in which a muxer makes files as it goes.

Invariant: what a file was when the muxer closed it is remembered, because it cannot be opened again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .channel import Channel, Output
from .wholeness import NOTHING, Written, look_at


class Folder:
    def __init__(self, name: str, channel: Channel, kept: Iterable[str]) -> None:
        """`kept`: those whose content is asked for afterwards."""
        self.name = name
        self._channel = channel
        self._written: dict[str, Written] = {}
        self._kept = {self.path(each): b"" for each in kept}

    def path(self, name: str) -> str:
        return f"{self.name}/{name}"

    def open(self, url: str, flags: int, options: Mapping[str, str]) -> Part:
        """What a muxer calls for each of its files."""
        return Part(self._channel.create(url), self)

    def remember(self, output: Output) -> None:
        self._written[output.path] = look_at(output.fileno())
        if output.path in self._kept:
            output.seek(0)
            self._kept[output.path] = output.read()

    def written(self, name: str) -> Written:
        """Nothing of what was never opened."""
        return self._written.get(self.path(name), NOTHING)

    def content(self, name: str) -> bytes:
        return self._kept[self.path(name)]


class Part:
    """A file in the hands of a muxer."""

    def __init__(self, output: Output, folder: Folder) -> None:
        self._output = output
        self._folder = folder

    def write(self, data: bytes) -> int:
        return self._output.write(data)

    def close(self) -> None:
        if not self._output.closed:
            self._folder.remember(self._output)
            self._output.close()

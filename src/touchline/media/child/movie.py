"""The MP4 file of a clip, with its index in front, so that it plays while it is loaded.

The muxer moves the index to the front at the end: it opens the file once more, to read.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import av
from av.container import OutputContainer

from touchline.media.model import MediaFailure

from .channel import Channel, Output
from .failures import InputRefused
from .wholeness import check_written, inspect_written

FRONT = "+faststart"


@contextmanager
def open_movie(name: str, channel: Channel) -> Generator[OutputContainer]:
    with channel.create(name) as file:

        def reopened(url: str, flags: int, options: Mapping[str, str]) -> _Hand:
            return _Hand(file)

        with av.open(_Hand(file), "w", format="mp4", container_options={"movflags": FRONT}, io_open=reopened) as movie:
            yield movie
        written = inspect_written(file.fileno())
        check_written(written, b"mdat")
        if written.boxes.get(b"moov", written.size_bytes) >= written.size_bytes:
            raise InputRefused(MediaFailure.STORAGE, "the index of the clip could not be moved to its front")


class _Hand:
    """One of those that hold the file: each has its own place in it."""

    def __init__(self, file: Output) -> None:
        self._file = file
        self._place = 0

    def write(self, data: bytes) -> int:
        self._file.seek(self._place)
        self._place += self._file.write(data)
        return len(data)

    def read(self, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, self._place)
        self._place += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: os.fstat(self._file.fileno()).st_size}
        self._place = bases[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """The file is closed by whoever made it."""

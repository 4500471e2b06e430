"""A segment: videos, their hashes, and the tables to look hashes up, in one immutable file that is mapped into memory.

names, name_ends    the ids of the videos, one behind the other, and where each ends
ends                where the samples of each video end
frames              for each sample the number of its hash, from one on; 0 has no information
bands, buckets      the hashes, each once, sorted by each band in turn (see `bands.py`); the first are in order
posting_starts, postings    where each hash occurs
nexts               for each of `postings` a digest of the next sample
edges               hashes of pictures before one without information
details             for each sample of careful fingerprints the second hash
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.errors import DamagedIndex
from touchline.media.fingerprint.model import Fingerprint, Hashes, Style

from .bands import BANDS, BUCKETS
from .building import Arrays, Videos, build
from .files import write

MAGIC, VERSION = b"TLSG", 3
HEAD = struct.Struct("<4sIII")  # magic, version, length and checksum of the list of arrays
ALIGNMENT = 64
KINDS = {
    "names": np.uint8,
    "name_ends": np.uint32,
    "ends": np.uint32,
    "frames": np.uint32,
    "postings": np.uint32,
    "nexts": np.uint16,
    "posting_starts": np.uint32,
    "bands": np.uint64,
    "buckets": np.uint32,
    "edges": np.uint64,
    "details": np.uint64,
}


class IndexSegment:
    def __init__(self, path: Path, style: Style) -> None:
        self.path = path
        self._style = style
        try:
            self._map, self._listed = _opened(path)
            arrays = {name: self._array(name) for name in KINDS}
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise DamagedIndex(f"{path.name} of the index is damaged", why=str(error)) from error
        self.names, self.name_ends, self.ends = arrays["names"], arrays["name_ends"], arrays["ends"]
        self.frames, self.bands, self.buckets = arrays["frames"], arrays["bands"], arrays["buckets"]
        self.postings, self.posting_starts, self.edges = arrays["postings"], arrays["posting_starts"], arrays["edges"]
        self.nexts, self.details = arrays["nexts"], arrays["details"]
        self._check_sizes()

    def _array(self, name: str) -> NDArray[Any]:
        offset, count, _ = self._listed[name]
        return np.frombuffer(self._map, KINDS[name], int(count), int(offset))

    def _check_sizes(self) -> None:
        tables = BANDS if len(self.buckets) else 1
        fits = (
            len(self.ends) == len(self.name_ends) > 0
            and int(self.ends[-1]) == len(self.frames)
            and int(self.name_ends[-1]) == len(self.names)
            and len(self.bands) == tables * len(self.unique)
            and len(self.nexts) == len(self.postings)
            and len(self.buckets) in (0, BANDS * (BUCKETS + 1))
            and len(self.details) == (len(self.frames) if self._style is Style.CAREFUL else 0)
        )
        if not fits:
            raise DamagedIndex(f"{self.path.name} of the index is damaged", why="its arrays do not fit together")

    @cached_property
    def unique(self) -> Hashes:
        return self.bands[: len(self.posting_starts) - 1]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.ends)

    def video_id(self, number: int) -> str:
        begin = int(self.name_ends[number - 1]) if number else 0
        return self.names[begin : int(self.name_ends[number])].tobytes().decode()

    def video_ids(self) -> Iterator[str]:
        return (self.video_id(number) for number in range(len(self)))

    def fingerprint(self, number: int) -> Fingerprint:
        place = slice(int(self.starts[number]), int(self.ends[number]))
        return Fingerprint(self.hashes_at(self.frames[place]), self._style, self.details[place])

    def hashes_at(self, frames: NDArray[np.uint32]) -> Hashes:
        if not len(self.unique):
            return np.zeros(frames.shape, np.uint64)
        found = self.unique[np.maximum(frames, 1) - 1]
        found[frames == 0] = 0
        return found

    def check(self) -> None:
        """Reads all of it."""
        for name, (_, _, checksum) in self._listed.items():
            if crc32(self._array(name).data) != checksum:
                raise DamagedIndex(f"{self.path.name} of the index is damaged", why=f"the checksum of {name} is wrong")


def write_segment(path: Path, videos: Videos) -> int:
    """Returns how many samples are in it."""
    arrays = build(videos)
    listed, offset = {}, 0
    for name, values in arrays.items():
        offset += -offset % ALIGNMENT
        listed[name] = (offset, len(values), crc32(values.data))
        offset += values.nbytes
    text = json.dumps(listed).encode()
    write(path, _parts(HEAD.pack(MAGIC, VERSION, len(text), crc32(text)) + text, arrays))
    return len(arrays["frames"])


def _parts(head: bytes, arrays: Arrays) -> Iterator[bytes | memoryview]:
    """Each array begins at a round place, counted from the end of the head."""
    yield head + bytes(-len(head) % ALIGNMENT)
    for values in arrays.values():
        yield values.data.cast("B") if len(values) else b""
        yield bytes(-values.nbytes % ALIGNMENT)


def _opened(path: Path) -> tuple[mmap.mmap, dict[str, tuple[int, int, int]]]:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    magic, version, length, checksum = HEAD.unpack_from(mapped)
    if magic != MAGIC or version != VERSION:
        raise ValueError("it does not begin like a segment of this version")
    text = mapped[HEAD.size : HEAD.size + length]
    if crc32(text) != checksum:
        raise ValueError("the checksum of its head is wrong")
    begin = HEAD.size + length + -(HEAD.size + length) % ALIGNMENT
    return mapped, {name: (begin + offset, count, check) for name, (offset, count, check) in json.loads(text).items()}

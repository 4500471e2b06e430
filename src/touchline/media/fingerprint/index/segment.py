"""A segment: videos, their hashes, and the tables to look hashes up, in one immutable file that is mapped into memory.

names, name_ends    the ids of the videos, one behind the other, and where each ends
ends                where the samples of each video end
frames              for each sample the number of its hash, from one on; 0 has no information
bands, buckets      the hashes, each once, sorted by each band in turn; the first are in order
posting_starts, postings    where each hash occurs
nexts               for each of `postings` a digest of the next sample
edges               hashes of pictures before one without information
details             for each sample of careful fingerprints the second hash
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import struct
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from touchline.kernel import NotFound
from touchline.media.errors import DamagedIndex, IndexBusy
from touchline.media.fingerprint.model import NEAR, Fingerprint, Hashes, Style


@dataclass(frozen=True)
class SegmentEntry:
    """One immutable file of the index, and which of its videos were removed since."""

    name: str
    videos: int
    samples: int
    removed: tuple[int, ...] = ()  # by their place in the file, in order

    @cached_property
    def is_removed(self) -> frozenset[int]:
        return frozenset(self.removed)

    @property
    def live(self) -> int:
        return self.videos - len(self.removed)


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """All of an index at one moment."""

    generation: int = 0
    style: Style | None = None  # of its fingerprints; none before the first
    segments: tuple[SegmentEntry, ...] = ()


# How hashes are looked up: by four bands of 16 bits, in buckets. If all bits together differ in at most ten places,
# then for any radii that with one more for each band make eleven, some band differs within its radius. So it is
# enough to look into the buckets near the query's own, band by band; the radii are those that make the fewest
# candidates. Invariant: no near hash is missed, whatever the hashes are like.

BANDS, BAND_BITS = 4, 16
BUCKETS = 1 << BAND_BITS
USUAL_RADIUS, LARGEST_RADIUS = 2, 3
PROBE_COST = 8  # looking into a bucket costs as much as so many candidates
SHIFTS = np.array([48, 32, 16, 0], np.uint64)


def _masks() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All patterns of differing bits, the fewest first, and how many there are within each radius."""
    values = np.arange(BUCKETS, dtype=np.int64)
    bits = np.bitwise_count(values)
    order = np.argsort(bits, kind="stable")
    ends = np.array([np.count_nonzero(bits <= radius) for radius in range(LARGEST_RADIUS + 1)])
    return order[: ends[-1]], ends


def _choices() -> NDArray[np.int64]:
    """All sets of radii that miss nothing; -1 leaves a band out."""
    radii = product(range(-1, LARGEST_RADIUS + 1), repeat=BANDS)
    return np.array([each for each in radii if sum(each) + BANDS == NEAR + 1])


MASKS, MASK_ENDS = _masks()
CHOICES = _choices()
TABLES = np.arange(BANDS, dtype=np.int64)[:, None] * (BUCKETS + 1)


def band_values(hashes: Hashes, band: int) -> NDArray[np.int64]:
    return ((hashes >> SHIFTS[band]) & np.uint64(BUCKETS - 1)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class BandPlan:
    """Where to look for one hash, and how many candidates are there. Arrays: a row for each band."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    radii: list[int]
    cost: int

    def candidates(self, bands: Hashes) -> Hashes:
        """Joining some hundred pieces of memory is quicker than gathering their hashes one by one."""
        ends = [int(MASK_ENDS[radius]) if radius >= 0 else 0 for radius in self.radii]
        starts = np.concatenate([self.starts[band, :end] for band, end in enumerate(ends)]) * bands.itemsize
        lengths = np.concatenate([self.lengths[band, :end] for band, end in enumerate(ends)]) * bands.itemsize
        memory = bands.data.cast("B")
        pieces = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        joined = b"".join([memory[start:end] for start, end in pieces])
        if len(joined) != lengths.sum():
            raise IndexError("a bucket ends behind the last hash")
        return np.frombuffer(joined, np.uint64)


def plans(hashes: Hashes, buckets: NDArray[np.uint32], too_much: int) -> list[BandPlan]:
    """For each hash. Larger radii are tried only for those that cost too much: they help where a band is worn out."""
    found = _plans(hashes, buckets, USUAL_RADIUS)
    costly = [number for number, plan in enumerate(found) if plan.cost > too_much]
    for number in costly:
        found[number] = _plans(hashes[number : number + 1], buckets, LARGEST_RADIUS)[0]
    return found


def _plans(hashes: Hashes, buckets: NDArray[np.uint32], largest: int) -> list[BandPlan]:
    own = np.stack([band_values(hashes, band) for band in range(BANDS)], axis=1)
    places = (own[:, :, None] ^ MASKS[: MASK_ENDS[largest]]) + TABLES
    starts = buckets[places].astype(np.int64)
    lengths = buckets[places + 1] - starts
    ends = MASK_ENDS[: largest + 1]
    within = np.cumsum(lengths, axis=2)[:, :, ends - 1] + PROBE_COST * ends
    costs = np.concatenate([np.zeros((len(hashes), BANDS, 1), np.int64), within], axis=2)
    choices = CHOICES[CHOICES.max(axis=1) <= largest]
    totals = costs[:, np.arange(BANDS), choices + 1].sum(axis=2)
    best = totals.argmin(axis=1)
    return [
        BandPlan(starts[number], lengths[number], choices[choice].tolist(), int(totals[number, choice]))
        for number, choice in enumerate(best.tolist())
    ]


def ranges(starts: NDArray[np.uint32], lengths: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """All numbers of all ranges, one range behind the other. What is below zero on the way comes back at its end."""
    ends = np.cumsum(lengths, dtype=lengths.dtype)
    count = int(ends[-1]) if len(ends) else 0
    numbers: NDArray[Any] = np.repeat(starts - (ends - lengths), lengths)
    return numbers + np.arange(count, dtype=starts.dtype)


# From fingerprints to the arrays of a segment. See `segment.py` for what each of them is.

DIGESTS = 1 << 16  # of 16 bits
LEAST_FOR_BANDS = 1 << 15  # fewer hashes are looked through quicker than looked up
Arrays = dict[str, NDArray[Any]]
Videos = Sequence[tuple[str, Fingerprint]]


def build(videos: Videos) -> Arrays:
    hashes = np.concatenate([fingerprint.hashes for _, fingerprint in videos], dtype=np.uint64)
    names = [video_id.encode() for video_id, _ in videos]
    ends = np.cumsum([len(fingerprint) for _, fingerprint in videos], dtype=np.uint32)
    return {
        "names": np.frombuffer(b"".join(names), np.uint8),
        "name_ends": np.cumsum([len(name) for name in names], dtype=np.uint32),
        "ends": ends,
        **_of_hashes(hashes),
        "edges": np.unique(hashes[_before_a_gap(hashes)]),
        "details": np.concatenate([fingerprint.details for _, fingerprint in videos], dtype=np.uint64),
    }


def _of_hashes(hashes: Hashes) -> Arrays:
    places = np.flatnonzero(hashes)
    unique, numbers = np.unique(hashes[places], return_inverse=True)
    frames = np.zeros(len(hashes), np.uint32)
    frames[places] = numbers + 1
    counts = np.bincount(numbers, minlength=len(unique))
    postings = places[np.argsort(numbers, kind="stable")]
    return {
        "frames": frames,
        "postings": postings.astype(np.uint32),
        "nexts": digests(np.append(frames, np.uint32(0))[postings + 1], len(unique)),
        "posting_starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
        **_of_unique(unique),
    }


def digests(frames: NDArray[Any], size: int) -> NDArray[np.uint16]:
    """Of numbers of hashes, of which there are so many. Near hashes often begin alike, so that they have few together;
    what has no information has 0."""
    return (frames * np.uint64(DIGESTS - 1) // np.uint64(size or 1)).astype(np.uint16)


def _of_unique(unique: Hashes) -> Arrays:
    if len(unique) < LEAST_FOR_BANDS:
        return {"bands": unique, "buckets": np.zeros(0, np.uint32)}
    bands, buckets = [unique], [_buckets(band_values(unique, 0))]
    for band in range(1, BANDS):
        values = band_values(unique, band)
        bands.append(unique[np.argsort(values, kind="stable")])
        buckets.append(_buckets(values) + band * len(unique))
    return {"bands": np.concatenate(bands), "buckets": np.concatenate(buckets).astype(np.uint32)}


def _buckets(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of the buckets begins, and where the last one ends."""
    counts = np.bincount(values, minlength=BUCKETS)
    return np.concatenate([[0], np.cumsum(counts)])


def _before_a_gap(hashes: Hashes) -> NDArray[np.bool_]:
    """Pictures before ones without information: there a row of near pictures may be stretched."""
    empty = hashes == 0
    edge = np.zeros(len(hashes), np.bool_)
    edge[:-1] = ~empty[:-1] & empty[1:]
    return edge


# The files of an index: written aside, forced to disk, then renamed into their place. Invariant: a name that a
# manifest has mentioned never gets another content.

MANIFEST, LOCK, DRAFT, SEGMENT = "manifest.json", "lock", ".draft", ".segment"
MANIFEST_VERSION = 1
_MANIFESTS = TypeAdapter(IndexManifest)


def read_manifest(folder: Path) -> IndexManifest:
    try:
        return _decoded((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        hint = "Create one by adding a video: `touchline media index add`."
        raise NotFound(f"there is no index in {folder}", hint=hint) from error
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise DamagedIndex(f"the index in {folder} is damaged", why=f"its manifest cannot be read: {error}") from error


def write_manifest(folder: Path, manifest: IndexManifest) -> None:
    body: dict[str, Any] = _MANIFESTS.dump_python(manifest, mode="json")
    document = {"version": MANIFEST_VERSION, "manifest": body, "checksum": _checksum(body)}
    write(folder / MANIFEST, [json.dumps(document).encode()])


def _decoded(content: bytes) -> IndexManifest:
    document = json.loads(content)
    if document["version"] != MANIFEST_VERSION:
        raise ValueError(f"its version is {document['version']}, not {MANIFEST_VERSION}")
    if _checksum(document["manifest"]) != document["checksum"]:
        raise ValueError("its checksum is wrong")
    return _MANIFESTS.validate_python(document["manifest"])


def _checksum(body: dict[str, Any]) -> int:
    return crc32(json.dumps(body, sort_keys=True).encode())


def write(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Whole or not at all, also when the machine stops."""
    draft = path.with_name(path.name + DRAFT)
    with draft.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _force_folder(path.parent)


def _force_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path, manifest: IndexManifest) -> None:
    """Remove what no manifest needs: drafts of writers that died, and segments that were replaced."""
    needed = {entry.name for entry in manifest.segments}
    for path in folder.iterdir():
        if path.suffix == DRAFT or (path.suffix == SEGMENT and path.name not in needed):
            with suppress(FileNotFoundError):
                path.unlink()


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """The system takes the lock away from a writer that died."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise IndexBusy(f"another process writes to the index in {folder}") from error
    finally:
        os.close(descriptor)


MAGIC, SEGMENT_VERSION = b"TLSG", 3
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
            raise DamagedIndex(f"{self.path.name} of the index is damaged", why="its arrays are inconsistent")

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
    write(path, _parts(HEAD.pack(MAGIC, SEGMENT_VERSION, len(text), crc32(text)) + text, arrays))
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
    if magic != MAGIC or version != SEGMENT_VERSION:
        raise ValueError("it is not a segment of this version")
    text = mapped[HEAD.size : HEAD.size + length]
    if crc32(text) != checksum:
        raise ValueError("the checksum of its header is wrong")
    begin = HEAD.size + length + -(HEAD.size + length) % ALIGNMENT
    return mapped, {name: (begin + offset, count, check) for name, (offset, count, check) in json.loads(text).items()}

"""An archive of fingerprints on disk that finds every copy of a clip. One writer, many readers.

Invariant: a reader sees the state of one commit, whole; what was committed survives a crash at any moment.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from touchline.kernel import InvalidInput, NotFound
from touchline.media.errors import DamagedIndex
from touchline.media.fingerprint.comparison import MatchRule, better, rule_of
from touchline.media.fingerprint.model import NO_MATCH, Comparison, Fingerprint, Style
from touchline.media.fingerprint.waves import mirrored

from .query import search
from .segment import (
    MANIFEST,
    SEGMENT,
    IndexManifest,
    IndexSegment,
    SegmentEntry,
    locked,
    read_manifest,
    sweep,
    write_manifest,
    write_segment,
)

MOST_ATTEMPTS = 100
LONGEST_ID = 255  # bytes
LEAST_LIVE = 0.75  # of a segment's videos; with fewer it is written again
Video = tuple[str, Fingerprint]


@dataclass(frozen=True, slots=True)
class IndexMatch:
    """A video of the index that shows what the query shows, which is the first of the comparison."""

    video_id: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class IndexInfo:
    generation: int
    style: Style | None
    videos: int
    samples: int  # with those of removed videos that still take room
    segments: int
    size_bytes: int


class IndexReader:
    """One moment of an index, which stays as it is until `refresh`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, IndexSegment] = {}
        self._manifest = IndexManifest()
        self.refresh()

    def refresh(self) -> None:
        """To the state of the last commit. A writer may replace files between our looking at the list and at them."""
        for _ in range(MOST_ATTEMPTS):
            manifest = read_manifest(self.folder)
            try:
                self._open = {entry.name: self._segment(entry, manifest) for entry in manifest.segments}
            except FileNotFoundError as error:
                if read_manifest(self.folder) == manifest:
                    raise DamagedIndex(f"the index in {self.folder} is damaged", why=str(error)) from error
                continue
            self._manifest = manifest
            return
        raise DamagedIndex(f"the index in {self.folder} cannot be read", why="its files keep changing")

    def _segment(self, entry: SegmentEntry, manifest: IndexManifest) -> IndexSegment:
        segment = self._open.get(entry.name) or IndexSegment(self.folder / entry.name, manifest.style or Style.DENSE)
        if (len(segment), len(segment.frames)) != (entry.videos, entry.samples):
            raise DamagedIndex(f"{entry.name} of the index is damaged", why="it does not match the manifest")
        return segment

    def _segments(self) -> Iterator[tuple[SegmentEntry, IndexSegment]]:
        return ((entry, self._open[entry.name]) for entry in self._manifest.segments)

    def find(self, query: Fingerprint, rule: MatchRule | None = None) -> list[IndexMatch]:
        """Every video that matches, those with the longest rows first."""
        check_style(self._manifest, query)
        found = [
            IndexMatch(segment.video_id(number), comparison)
            for entry, segment in self._segments()
            for number, comparison in _found(query, segment, entry, rule or rule_of(query.style)).items()
        ]
        return sorted(found, key=lambda each: (-each.comparison.run, -each.comparison.matched, each.video_id))

    def segment(self, name: str) -> IndexSegment:
        return self._open[name]

    def videos(self) -> Iterator[tuple[str, Fingerprint]]:
        for entry, segment in self._segments():
            for number in range(len(segment)):
                if number not in entry.is_removed:
                    yield segment.video_id(number), segment.fingerprint(number)

    def video_ids(self) -> Iterator[str]:
        for entry, segment in self._segments():
            yield from (name for number, name in enumerate(segment.video_ids()) if number not in entry.is_removed)

    def fingerprint(self, video_id: str) -> Fingerprint:
        for entry, segment in self._segments():
            for number, name in enumerate(segment.video_ids()):
                if name == video_id and number not in entry.is_removed:
                    return segment.fingerprint(number)
        raise NotFound(f"there is no video {video_id} in the index")

    def check(self) -> None:
        """Every byte, against its checksum."""
        for _, segment in self._segments():
            segment.check()

    @property
    def manifest(self) -> IndexManifest:
        return self._manifest

    def info(self) -> IndexInfo:
        entries = self._manifest.segments
        return IndexInfo(
            generation=self._manifest.generation,
            style=self._manifest.style,
            videos=sum(entry.live for entry in entries),
            samples=sum(entry.samples for entry in entries),
            segments=len(entries),
            size_bytes=sum((self.folder / entry.name).stat().st_size for entry in entries),
        )


def _found(query: Fingerprint, segment: IndexSegment, entry: SegmentEntry, rule: MatchRule) -> dict[int, Comparison]:
    found = dict(search(query, segment, entry, rule))
    if query.style is Style.CAREFUL:
        for number, turned in search(mirrored(query), segment, entry, rule):
            found[number] = better(found.get(number, NO_MATCH), turned)
    return found


def check_style(manifest: IndexManifest, fingerprint: Fingerprint) -> None:
    if manifest.style not in (None, fingerprint.style):
        why = f"the index has style {manifest.style}, this fingerprint has {fingerprint.style}"
        raise InvalidInput("the fingerprint has another style than the index", why=why)


class IndexWriter:
    """Each call is one commit: a new segment aside, then the manifest that names it.

    Segments are merged so that each is at least twice as large as the next: few to search, and each video is written
    again only as often as its segment doubles. Invariant: a call that returned is on disk; one that did not changed
    nothing.
    """

    def __init__(self, folder: Path, reader: IndexReader) -> None:
        self._folder = folder
        self._reader = reader

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Generator[IndexWriter]:
        """The only writer of the folder, which is created if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            if not (folder / MANIFEST).exists():
                write_manifest(folder, IndexManifest())
            reader = IndexReader(folder)
            sweep(folder, reader.manifest)
            yield cls(folder, reader)

    @property
    def style(self) -> Style | None:
        return self._reader.manifest.style

    def add(self, videos: Iterable[Video]) -> None:
        """A video whose id is there already takes its place."""
        added = {_checked(video_id): fingerprint for video_id, fingerprint in videos}
        for fingerprint in added.values():
            check_style(replace(self._reader.manifest, style=self._style(added)), fingerprint)
        if added:
            self._commit(self._without(added), list(added.items()))

    def remove(self, video_ids: Collection[str]) -> None:
        known = set(self._reader.video_ids())
        if missing := sorted(set(video_ids) - known):
            raise NotFound(f"there is no video {missing[0]} in the index")
        self._commit(self._without(video_ids), [])

    def rebuild(self) -> None:
        """All of it again, checked, as one segment."""
        self._reader.check()
        self._write([], list(self._reader.videos()))

    def _style(self, added: dict[str, Fingerprint]) -> Style | None:
        """An index that has none yet takes that of its first video."""
        return self._reader.manifest.style or next((each.style for each in added.values()), None)

    def _without(self, video_ids: Collection[str]) -> list[SegmentEntry]:
        gone = set(video_ids)
        entries: list[SegmentEntry] = []
        for entry in self._reader.manifest.segments:
            numbers = [number for number, name in enumerate(self._segment(entry).video_ids()) if name in gone]
            entries.append(replace(entry, removed=tuple(sorted({*entry.removed, *numbers}))))
        return entries

    def _commit(self, entries: list[SegmentEntry], added: list[Video]) -> None:
        worn = [entry for entry in entries if entry.live < LEAST_LIVE * entry.videos]
        kept = [entry for entry in entries if entry not in worn]
        merged = [video for entry in worn for video in self._live(entry)] + added
        size = sum(len(fingerprint) for _, fingerprint in merged)
        while merged and kept and kept[-1].samples < 2 * size:
            size += kept[-1].samples
            merged = [*self._live(kept.pop()), *merged]
        self._write(kept, merged)

    def _write(self, kept: list[SegmentEntry], merged: list[Video]) -> None:
        generation = self._reader.manifest.generation + 1
        if merged:
            name = f"{generation:010}{SEGMENT}"
            samples = write_segment(self._folder / name, merged)
            kept = [*kept, SegmentEntry(name, len(merged), samples)]
        style = self._style(dict(merged)) if kept else None
        manifest = IndexManifest(generation, style, tuple(sorted(kept, key=lambda entry: -entry.samples)))
        write_manifest(self._folder, manifest)
        self._reader.refresh()
        sweep(self._folder, manifest)

    def _live(self, entry: SegmentEntry) -> list[Video]:
        segment = self._segment(entry)
        numbers = (number for number in range(len(segment)) if number not in entry.is_removed)
        return [(segment.video_id(number), segment.fingerprint(number)) for number in numbers]

    def _segment(self, entry: SegmentEntry) -> IndexSegment:
        return self._reader.segment(entry.name)


def _checked(video_id: str) -> str:
    size = len(video_id.encode(errors="surrogatepass"))
    if not video_id.isprintable() or not 1 <= size <= LONGEST_ID:
        why = f"it has {size} bytes, or unprintable characters; the limit is {LONGEST_ID} bytes"
        raise InvalidInput("this is not a valid id for a video", field="video_id", why=why)
    return video_id

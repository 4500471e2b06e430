"""Writing to an index. Each call is one commit: a new segment aside, then the manifest that names it.

Segments are merged so that each is at least twice as large as the next: few to search, and each video is written again
only as often as its segment doubles. Invariant: a call that returned is on disk; one that did not changed nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from touchline.kernel.errors import InvalidInput, NotFound
from touchline.media.fingerprint.model import Fingerprint, Style

from .files import MANIFEST, SEGMENT, locked, sweep, write_manifest
from .model import IndexManifest, SegmentEntry
from .reader import IndexReader, check_style
from .segment import IndexSegment, write_segment

LONGEST_ID = 255  # bytes
LEAST_LIVE = 0.75  # of a segment's videos; with fewer it is written again
Video = tuple[str, Fingerprint]


class IndexWriter:
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
        why = f"it has {size} bytes, or letters that cannot be shown; {LONGEST_ID} are allowed"
        raise InvalidInput("this cannot be the id of a video", field="video_id", why=why)
    return video_id

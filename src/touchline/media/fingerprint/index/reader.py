"""Reading an index: one moment of it, which stays as it is until `refresh`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from touchline.kernel.errors import InvalidInput, NotFound
from touchline.media.fingerprint.errors import DamagedIndex
from touchline.media.fingerprint.matching import MatchRule, better, rule_of
from touchline.media.fingerprint.model import NO_MATCH, Comparison, Fingerprint, Style
from touchline.media.fingerprint.waves import mirrored

from .files import read_manifest
from .model import IndexInfo, IndexManifest, IndexMatch, SegmentEntry
from .searching import search
from .segment import IndexSegment

MOST_ATTEMPTS = 100


class IndexReader:
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
        raise DamagedIndex(f"the index in {self.folder} cannot be read", why="its files change all the time")

    def _segment(self, entry: SegmentEntry, manifest: IndexManifest) -> IndexSegment:
        segment = self._open.get(entry.name) or IndexSegment(self.folder / entry.name, manifest.style or Style.DENSE)
        if (len(segment), len(segment.frames)) != (entry.videos, entry.samples):
            raise DamagedIndex(f"{entry.name} of the index is damaged", why="its manifest has other numbers")
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
        why = f"the index has {manifest.style} ones, and this is {fingerprint.style}"
        raise InvalidInput("an index holds fingerprints of one style", why=why)

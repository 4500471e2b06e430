"""The hostile corpus: families of files, each made from small good ones when it is asked for.

A family gives its members in a fixed order, so that a seed chooses the same ones again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from tests.support import videos
from tests.support.videos import Recipe, Studio

from . import bombs, references, stills
from .elements import Element, boxes, ebml

TINY = replace(videos.MP4, name="tiny.mp4", seconds=0.4, size=(64, 36), encoder={"preset": "ultrafast", "g": "5"})
FRONT = replace(TINY, name="tiny-front.mp4", muxer={"movflags": "+faststart"})
PIECES = replace(TINY, name="tiny-pieces.mp4", muxer={"movflags": "+frag_keyframe+empty_moov"})
MATROSKA = replace(TINY, name="tiny.mkv")
LIVE = replace(TINY, name="tiny-live.mkv", muxer={"live": "1"})
STREAM = replace(TINY, name="tiny.ts")
FLASH = replace(TINY, name="tiny.flv")
AVI = replace(TINY, name="tiny.avi", video="mpeg4", audio="libmp3lame", encoder={})
WEBM = replace(TINY, name="tiny.webm", video="libvpx", audio="libopus", encoder={"deadline": "realtime"})
MOTION = replace(TINY, name="tiny-motion.mov", video="mjpeg", audio=None, pixels="yuvj420p", encoder={})
GOOD = (TINY, FRONT, PIECES, MATROSKA, STREAM, FLASH, AVI, WEBM, MOTION)
SIGNATURES = (b"\x1a\x45\xdf\xa3", b"\x00\x00\x01\xba", b"FLV\x01", b"OggS", bytes.fromhex("3026b2758e66cf11"))
CLUSTER = bytes.fromhex("1f43b675")
MUTATIONS = 40
SPREADS = (1, 8, 64)


@dataclass(frozen=True)
class Hostile:
    name: str
    content: bytes


@dataclass(frozen=True)
class Target:
    """What the files point at."""

    file: str
    address: str


Family = Callable[[Studio, Target], Iterator[Hostile]]


def _content(studio: Studio, recipe: Recipe) -> bytes:
    return studio.make(recipe).read_bytes()


def _cut(data: bytes, elements: Iterator[Element], name: str) -> Iterator[Hostile]:
    """At each boundary, in the middle of each header and of each content."""
    for element in elements:
        middle = (element.content + element.end) // 2
        for place in sorted({element.start, (element.start + element.content) // 2, element.content, middle}):
            if 0 < place < len(data):
                yield Hostile(f"{name} {element.kind!r} {place}", data[:place])


def truncated(studio: Studio, target: Target) -> Iterator[Hostile]:
    for recipe in (TINY, FRONT, PIECES):
        data = _content(studio, recipe)
        yield from _cut(data, boxes(data), recipe.name)
    data = _content(studio, MATROSKA)
    yield from _cut(data, ebml(data), MATROSKA.name)
    data = _content(studio, STREAM)
    packets = (Element(b"packet", at, at + 4, at + 188) for at in range(0, len(data), 188))
    yield from _cut(data, packets, STREAM.name)


def lying(studio: Studio, target: Target) -> Iterator[Hostile]:
    good = _content(studio, FRONT)
    for name, content in (*bombs.eternal(good), *bombs.lying_words(good)):
        yield Hostile(name, content)


def empty(studio: Studio, target: Target) -> Iterator[Hostile]:
    """Streams without a picture in them."""
    yield from (Hostile(name, content) for name, content in bombs.without_samples(_content(studio, FRONT)))
    pieces, stream, live = (_content(studio, recipe) for recipe in (PIECES, STREAM, LIVE))
    first = next(element for element in boxes(pieces) if element.kind == b"moof")
    yield Hostile("header only", pieces[: first.start])
    yield Hostile("header, fragments without content", pieces[: first.end])
    tables = [stream[at : at + 188] for at in range(0, len(stream), 188) if stream[at + 1] & 31 in (0, 16)]
    yield Hostile("tables of a stream only", b"".join(tables) * 4)
    cluster = next(element for element in ebml(live) if element.kind == CLUSTER)
    yield Hostile("no cluster", live[: cluster.start])
    yield Hostile("an empty cluster", live[: cluster.content])
    yield Hostile("flash without tags", _content(studio, FLASH)[:13])


def bulky(studio: Studio, target: Target) -> Iterator[Hostile]:
    good = _content(studio, FRONT)
    members = (*bombs.many_tracks(good), *bombs.expanding(good), *bombs.huge_pictures(_content(studio, MOTION)))
    for name, content in members:
        yield Hostile(name, content)


def pointing_elsewhere(studio: Studio, target: Target) -> Iterator[Hostile]:
    good, subtitled = _content(studio, FRONT), _content(studio, AVI)
    for name, content in references.texts(target.file, target.address):
        yield Hostile(name, content)
    for name, content in references.hidden(good, subtitled, target.file, target.address):
        yield Hostile(name, content)


def noisy(studio: Studio, target: Target) -> Iterator[Hostile]:
    for number, signature in enumerate((b"", *SIGNATURES, _content(studio, FRONT)[:200])):
        for size in (10, 1000, 100_000):
            yield Hostile(f"noise {number} {size}", signature + Random(size).randbytes(size))


def mutated(studio: Studio, target: Target) -> Iterator[Hostile]:
    for recipe in GOOD:
        data = _content(studio, recipe)
        for number in range(MUTATIONS):
            chance, content = Random(f"{recipe.name} {number}"), bytearray(data)
            for _ in range(SPREADS[number % len(SPREADS)]):
                content[chance.randrange(len(content))] = chance.randrange(256)
            yield Hostile(f"{recipe.name} {number}", bytes(content))


def still(studio: Studio, target: Target) -> Iterator[Hostile]:
    """Picture files: cut, changed, and larger than they are."""
    for name, data in stills.good():
        chance = Random(name)
        for share in (0.01, 0.3, 0.9):
            yield Hostile(f"{name} {share:.0%}", data[: max(8, int(len(data) * share))])
        for number in range(MUTATIONS // 4):
            content = bytearray(data)
            for _ in range(SPREADS[number % len(SPREADS)]):
                content[chance.randrange(8, len(content))] = chance.randrange(256)
            yield Hostile(f"{name} {number}", bytes(content))
    yield from (Hostile(name, content) for name, content in stills.huge())


FAMILIES: dict[str, Family] = {
    family.__name__: family for family in (truncated, lying, empty, bulky, pointing_elsewhere, noisy, mutated, still)
}

"""Which bytes a request wants, by its headers (RFC 9110). Pure."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from touchline_world.days.model import Delivery, Service, Trouble
from touchline_world.frames import Posters
from touchline_world.http import fault_response
from touchline_world.world import World

from .documents import HostedVariant, MediaIndex, media_index

_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.ASCII | re.IGNORECASE)


class Unsatisfiable(Exception):
    """There is nothing of this range."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    start: int
    stop: int  # the first byte that is no longer wanted

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Version:
    """Of the file, as its headers tell it."""

    tag: str  # with its quotes
    changed: datetime


def requested_range(header: str | None, size: int) -> ByteRange | None:
    """None: the whole. So is everything that is no single range of bytes, as the RFC allows."""
    match = _RANGE.fullmatch(header) if header else None
    if match is None or match[1] == match[2] == "":
        return None
    if not match[1]:
        span = ByteRange(max(size - int(match[2]), 0), size)
    else:
        start = int(match[1])
        if match[2] and int(match[2]) < start:
            return None
        span = ByteRange(start, min(int(match[2]) + 1, size) if match[2] else size)
    if span.start >= span.stop:
        raise Unsatisfiable
    return span


def is_unchanged(version: Version, none_match: str | None, modified_since: str | None) -> bool:
    """Whether the other side has this version already. The tag, if it was sent, decides alone."""
    if none_match is not None:
        tags = [tag.strip().removeprefix("W/") for tag in none_match.split(",")]
        return "*" in tags or version.tag in tags
    since = _date(modified_since)
    return since is not None and version.changed.replace(microsecond=0) <= since


def still_applies(version: Version, if_range: str | None) -> bool:
    """Whether a range is wanted of this version, or the whole of another one."""
    if if_range is None or if_range.strip() == version.tag:
        return True
    return _date(if_range) == version.changed.replace(microsecond=0)


def _date(header: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(header) if header else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


CHUNK = 256 * 1024
SLOW_TURNS_PER_SECOND = 5


@dataclass(frozen=True, slots=True)
class SlowRate:
    """How fast a slow body comes."""

    bytes_per_second: int = 200_000


async def from_file(path: Path, span: ByteRange, chunk: int = CHUNK) -> AsyncIterator[bytes]:
    """Opened anew for each part: whoever hangs up while a thread opens it leaves no open file behind."""
    at, left = span.start, len(span)
    while left > 0 and (read := await asyncio.to_thread(_read, path, at, min(chunk, left))):
        at, left = at + len(read), left - len(read)
        yield read


def _read(path: Path, at: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(most)


async def slowly(path: Path, span: ByteRange, pace: SlowRate) -> AsyncIterator[bytes]:
    chunk = max(1, pace.bytes_per_second // SLOW_TURNS_PER_SECOND)
    async for read in from_file(path, span, chunk):
        yield read
        await asyncio.sleep(len(read) / pace.bytes_per_second)


def broken(key: str, length: int) -> bytes:
    """The same bytes for the same video, and no video in them."""
    return random.Random(key).randbytes(length)  # noqa: S311 - for the look of it


BUSY_TIMES = 2
RETRY_AFTER_S = 2

_PAGE = (
    '<?xml version="1.0" encoding="iso-8859-1"?>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">\n'
    "<head><title>{status} - {title}</title></head>\n<body><h1>{status} - {title}</h1></body>\n</html>\n"
)


class RequestCounts:
    """How often each video was asked for: the only thing that the world remembers."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def count(self, key: str) -> int:
        """With this one."""
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]


def refusal(delivery: Delivery, key: str, visits: RequestCounts) -> Response | None:
    match delivery:
        case Delivery.GONE:
            return page(404, "Not Found")
        case Delivery.FORBIDDEN:
            return page(403, "Forbidden")
        case Delivery.BLOCKED:
            return page(451, "Unavailable For Legal Reasons")
        case Delivery.BUSY if visits.count(key) <= BUSY_TIMES:
            return PlainTextResponse("Too Many Requests", 429, {"Retry-After": str(RETRY_AFTER_S)})
        case Delivery.EMPTY:
            return Response(b"", media_type="video/mp4", headers={"Accept-Ranges": "bytes"})
        case _:
            return None


def page(status: int, title: str) -> Response:
    return Response(_PAGE.format(status=status, title=title), status, media_type="text/html")


METHODS = ["GET", "HEAD"]
BROKEN_BYTES = 100_000
POSTER_AT_PERCENT = 30


def routes(world: World, stills: Posters, visits: RequestCounts, pace: SlowRate | None = None) -> list[BaseRoute]:
    cdn = _Cdn(world, stills, visits, pace or SlowRate(), media_index(world.day))
    return [
        Route("/{kind:str}/{id:str}/vid/avc1/{size:str}/{name:str}.mp4", cdn.video, methods=METHODS),
        Route("/{kind:str}/{id:str}/pl/{name:str}.m3u8", cdn.playlist, methods=METHODS),
        Route("/{kind:str}_thumb/{id:str}/img/{name:str}.jpg", cdn.poster, methods=METHODS),
    ]


@dataclass(frozen=True, slots=True)
class _Cdn:
    world: World
    stills: Posters
    visits: RequestCounts
    pace: SlowRate
    places: MediaIndex = field(repr=False)

    async def video(self, request: Request) -> Response:
        found = self._find(request)
        if isinstance(found, Response):
            return found
        if request.path_params["size"] != "{}x{}".format(*found.size):
            return page(404, "Not Found")
        placed = found.placed
        refused = refusal(placed.clip.delivery, placed.folder, self.visits)
        if refused is not None:
            return refused
        path = await self.world.videos.file(found.recipe)
        return self._file(request, found, path)

    async def playlist(self, request: Request) -> Response:
        """One piece, the file itself: players and downloaders take it like any other."""
        found = self._find(request)
        if isinstance(found, Response):
            return found
        seconds = found.placed.duration_ms / 1000
        up = "../" * 3
        lines = (
            "#EXTM3U",
            "#EXT-X-VERSION:7",
            f"#EXT-X-TARGETDURATION:{int(seconds) + 1}",
            "#EXT-X-PLAYLIST-TYPE:VOD",
            f"#EXTINF:{seconds:.3f},",
            f"{up}{found.path}",
            "#EXT-X-ENDLIST",
        )
        return Response("\n".join(lines) + "\n", media_type="application/x-mpegURL")

    async def poster(self, request: Request) -> Response:
        found = self._find(request)
        if isinstance(found, Response):
            return found
        path = await self.world.videos.file(found.recipe)
        at_ms = found.placed.duration_ms * POSTER_AT_PERCENT // 100
        picture = await self.stills.jpeg(path, at_ms)
        return Response(picture, media_type="image/jpeg", headers={"Cache-Control": "max-age=604800"})

    def _find(self, request: Request) -> HostedVariant | Response:
        trouble = fault_response(self.world, Service.MEDIA)
        if isinstance(trouble, Response):
            return trouble
        if trouble is Trouble.ERRORS:
            return page(500, "Internal Server Error")
        asked = request.path_params
        found = self.places.find(f"{asked['kind']}/{asked['id']}", asked["name"])
        if found is None or found.placed.post.at_ms > self.world.clock.day_ms():
            return page(404, "Not Found")
        return Response(b"", media_type="video/mp4") if trouble is Trouble.EMPTY else found

    def _file(self, request: Request, found: HostedVariant, path: Path) -> Response:
        version = Version(f'"{found.recipe.key}"', self.world.clock.at(found.placed.post.at_ms))
        headers = _headers(version)
        asked = request.headers
        if is_unchanged(version, asked.get("if-none-match"), asked.get("if-modified-since")):
            return Response(status_code=304, headers=headers)
        size = BROKEN_BYTES if found.placed.clip.delivery is Delivery.BROKEN else path.stat().st_size
        try:
            span = requested_range(asked.get("range"), size) if still_applies(version, asked.get("if-range")) else None
        except Unsatisfiable:
            return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{size}"})
        part = span or ByteRange(0, size)
        headers["Content-Length"] = str(len(part))
        if span:
            headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
        return _answer(request, 206 if span else 200, headers, self._body(found, path, part))

    def _body(self, found: HostedVariant, path: Path, part: ByteRange) -> AsyncIterator[bytes]:
        match found.placed.clip.delivery:
            case Delivery.SLOW:
                return slowly(path, part, self.pace)
            case Delivery.CUT_OFF:
                return from_file(path, ByteRange(part.start, part.start + len(part) // 2))
            case Delivery.BROKEN:
                return _once(broken(found.recipe.key, BROKEN_BYTES)[part.start : part.stop])
            case _:
                return from_file(path, part)


def _headers(version: Version) -> dict[str, str]:
    return {
        "Accept-Ranges": "bytes",
        "ETag": version.tag,
        "Last-Modified": format_datetime(version.changed.replace(microsecond=0), usegmt=True),
        "Cache-Control": "max-age=604800, must-revalidate",
        "Access-Control-Allow-Origin": "*",
    }


def _answer(request: Request, status: int, headers: Mapping[str, str], body: AsyncIterator[bytes]) -> Response:
    if request.method == "HEAD":
        return Response(status_code=status, headers={**headers, "Content-Type": "video/mp4"})
    return StreamingResponse(body, status, headers, "video/mp4")


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content

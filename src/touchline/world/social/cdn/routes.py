"""The network's video CDN: files by range, posters, playlists, and each way in which a video fails to arrive.

Invariant: a path is looked up among the day's clips; nothing of it is ever part of a file's name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from email.utils import format_datetime
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from touchline.world.context import World
from touchline.world.days.model import Delivery, Service, Trouble
from touchline.world.social.clips import Places, Variant, places_of
from touchline.world.stills import Stills
from touchline.world.troubles import answer_in_trouble

from .answers import Visits, page, refusal
from .bodies import Pace, broken, from_file, slowly
from .ranges import Span, Unsatisfiable, Version, is_unchanged, still_applies, wanted_span

METHODS = ["GET", "HEAD"]
BROKEN_BYTES = 100_000
POSTER_AT_PERCENT = 30


def routes(world: World, stills: Stills, visits: Visits, pace: Pace | None = None) -> list[BaseRoute]:
    cdn = _Cdn(world, stills, visits, pace or Pace(), places_of(world.day))
    return [
        Route("/{kind:str}/{id:str}/vid/avc1/{size:str}/{name:str}.mp4", cdn.video, methods=METHODS),
        Route("/{kind:str}/{id:str}/pl/{name:str}.m3u8", cdn.playlist, methods=METHODS),
        Route("/{kind:str}_thumb/{id:str}/img/{name:str}.jpg", cdn.poster, methods=METHODS),
    ]


@dataclass(frozen=True, slots=True)
class _Cdn:
    world: World
    stills: Stills
    visits: Visits
    pace: Pace
    places: Places = field(repr=False)

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

    def _find(self, request: Request) -> Variant | Response:
        trouble = answer_in_trouble(self.world, Service.MEDIA)
        if isinstance(trouble, Response):
            return trouble
        if trouble is Trouble.ERRORS:
            return page(500, "Internal Server Error")
        asked = request.path_params
        found = self.places.find(f"{asked['kind']}/{asked['id']}", asked["name"])
        if found is None or found.placed.post.at_ms > self.world.clock.day_ms():
            return page(404, "Not Found")
        return Response(b"", media_type="video/mp4") if trouble is Trouble.EMPTY else found

    def _file(self, request: Request, found: Variant, path: Path) -> Response:
        version = Version(f'"{found.recipe.key}"', self.world.clock.at(found.placed.post.at_ms))
        headers = _headers(version)
        asked = request.headers
        if is_unchanged(version, asked.get("if-none-match"), asked.get("if-modified-since")):
            return Response(status_code=304, headers=headers)
        size = BROKEN_BYTES if found.placed.clip.delivery is Delivery.BROKEN else path.stat().st_size
        try:
            span = wanted_span(asked.get("range"), size) if still_applies(version, asked.get("if-range")) else None
        except Unsatisfiable:
            return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{size}"})
        part = span or Span(0, size)
        headers["Content-Length"] = str(len(part))
        if span:
            headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
        return _answer(request, 206 if span else 200, headers, self._body(found, path, part))

    def _body(self, found: Variant, path: Path, part: Span) -> AsyncIterator[bytes]:
        match found.placed.clip.delivery:
            case Delivery.SLOW:
                return slowly(path, part, self.pace)
            case Delivery.CUT_OFF:
                return from_file(path, Span(part.start, part.start + len(part) // 2))
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

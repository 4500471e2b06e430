"""Live streams over HTTP: playlists that wait for the next part, segments, parts and the poster.

Invariant: nothing is looked up before the token was read: the media app has done that. What a player waits for comes
in time, or it is told to ask again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import parse_qs

from touchline.kernel import NotFound, TenantId, Unavailable
from touchline.serve.playback.files import IMMUTABLE_CACHE, PLAYLIST_CACHE, content_type_of, no_such_file

from .playlists import LIVE, MASTER, POSTER, FileName, Reload, file_of, live_playlist, master_playlist, parse_reload
from .service import LiveStream, LiveStreams
from .window import wait_time

FIRST_SEGMENT = timedelta(seconds=15)  # a player may come a moment before the stream can be played
SHORT_CACHE = "private, max-age=2"


@dataclass(frozen=True, slots=True)
class LiveFile:
    content: bytes
    content_type: str
    cache_control: str


@dataclass(slots=True)
class LiveMedia:
    streams: LiveStreams
    _texts: dict[tuple[str, tuple[int, int], bool, bool], bytes] = field(
        default_factory=dict["tuple[str, tuple[int, int], bool, bool]", bytes]
    )

    def find(self, tenant_id: TenantId, artifact_hash: str) -> LiveStream | None:
        return self.streams.find(tenant_id, artifact_hash)

    async def file(self, stream: LiveStream, name: str, query: bytes) -> LiveFile:
        """NotFound: it is not there, or not any more. Unavailable: it did not come in time."""
        content_type = content_type_of(name)
        if content_type is None:
            raise no_such_file()
        match name:
            case str() if name == MASTER:
                content, cache = await self._master(stream), PLAYLIST_CACHE
            case str() if name == LIVE:
                content, cache = await self._playlist(stream, query), PLAYLIST_CACHE
            case str() if name == POSTER:
                content, cache = self._poster(stream), SHORT_CACHE
            case _:
                content, cache = await self._media(stream, name), IMMUTABLE_CACHE
        return LiveFile(content, content_type, cache)

    async def _master(self, stream: LiveStream) -> bytes:
        await self._until_playable(stream)
        return master_playlist(stream.variant).encode()

    async def _playlist(self, stream: LiveStream, query: bytes) -> bytes:
        wanted = parse_reload(parse_qs(query.decode("latin-1")))
        await self._until_playable(stream)
        if not await stream.window.wait(wanted, wait_time(stream.window.view)):
            raise Unavailable("the next part of the stream is late", hint="Ask again.")
        view = stream.window.view
        key = str(stream.authorized.session_id), view.next_part, view.has_ended, wanted.skip
        if key not in self._texts:
            self._texts = {
                other: text for other, text in self._texts.items() if other[0] != key[0] or other[1:3] == key[1:3]
            }
            self._texts[key] = live_playlist(view, skip=wanted.skip).encode()
        return self._texts[key]

    async def _until_playable(self, stream: LiveStream) -> None:
        if not stream.window.view.segments and not await stream.window.wait(Reload(0, 0), FIRST_SEGMENT):
            raise Unavailable("this stream cannot be played yet", why="its first segment is still to come")

    def _poster(self, stream: LiveStream) -> bytes:
        if not stream.window.poster:
            raise NotFound("there is no picture of this stream yet")
        return stream.window.poster

    async def _media(self, stream: LiveStream, name: str) -> bytes:
        wanted = file_of(name)
        if wanted is None:
            raise no_such_file()
        window = stream.window
        if wanted.kind == "init":
            return await window.init_bytes(wanted.number)
        if wanted.kind == "part":
            await self._announced(stream, wanted)
        segment = window.find(wanted.number)
        if segment is None or (wanted.kind == "segment" and not segment.is_closed):
            raise no_such_file()
        if wanted.kind == "segment":
            return await window.read(segment, 0, segment.size)
        if wanted.part >= len(segment.parts):
            raise no_such_file()
        part = segment.parts[wanted.part]
        return await window.read(segment, part.offset, part.size)

    async def _announced(self, stream: LiveStream, wanted: FileName) -> None:
        """The part that the playlist hints at is waited for."""
        view = stream.window.view
        if (wanted.number, wanted.part) == view.next_part and not view.has_ended:
            await stream.window.wait(Reload(wanted.number, wanted.part), wait_time(view))

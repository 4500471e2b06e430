"""Media from this node's folder, with ranges, by the gateway's tokens; its inventory, for `fsck`; and its health.

Invariants: nothing is looked up before the token was read. A name is one of those that the copy lists, or there is no
such file. A copy that is being read or was a moment ago counts as in use.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import BinaryIO
from urllib.parse import parse_qs
from uuid import UUID

from prometheus_client import CONTENT_TYPE_LATEST, Counter, generate_latest

from touchline.kernel import Clock, Forbidden, InvalidInput, NotFound, TenantId, TouchlineError, Unavailable
from touchline.media.model import POSTER_WIDTHS, smaller_poster
from touchline.platform.http_server import SENDFILE, Receive, Scope, Send, is_from_page, send_problem
from touchline.platform.objects.rules import ByteRange
from touchline.serve.live.media import LiveMedia
from touchline.serve.live.service import LiveStream
from touchline.serve.playback.files import (
    CLIP,
    MANIFEST,
    POSTER,
    cache_control_of,
    content_type_of,
    no_such_file,
    wanted_bytes,
)
from touchline.serve.playback.suspension import LONGEST_TRUST
from touchline.serve.playback.tokens import Grant, InventoryTokens, MediaTokens, refused

from .folder import CopyFolder, LocalCopy

REQUESTS = Counter("touchline_node_media_requests", "Media requests served by this node, by result.", ["outcome"])
SENT = Counter("touchline_node_media_bytes", "Bytes of media sent by this node.")
CHUNK_BYTES = 1024**2
READ_AHEAD_BYTES = 8 * 1024**2
COPIES_A_PAGE = 5000
RANGE_NOT_SATISFIABLE = 416
READY, NOT_READY = b'{"status": "ready"}', b'{"status": "not ready"}'
METHODS = ("GET", "HEAD")
# Pages of the gateway, which has another address, fetch media here. The address itself is the right to see them.
OPEN_TO_PAGES = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Content-Range, Accept-Ranges, Content-Length"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
PREFLIGHT = ((b"access-control-allow-methods", b"GET, HEAD"), (b"access-control-allow-headers", b"Range"))

Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A file, opened, and the part of it that is sent; None: all of it."""

    method: str
    file: BinaryIO
    part: ByteRange | None
    size: int
    by_kernel: bool  # the server can

    @property
    def extent(self) -> tuple[int, int]:
        return (self.part.start, self.part.stop or self.size) if self.part else (0, self.size)


@dataclass(slots=True)
class TenantAccess:
    """Whose media may be sent, as the artifacts role said last: a suspended tenant's are refused, and all of them when
    nothing was heard for so long that somebody may have been suspended meanwhile."""

    clock: Clock
    suspended: frozenset[UUID] = frozenset()
    heard_at: datetime | None = None

    def hear(self, suspended: frozenset[UUID]) -> None:
        self.suspended, self.heard_at = suspended, self.clock.now()

    def require(self, tenant_id: TenantId) -> None:
        if self.heard_at is None or self.clock.now() - self.heard_at > LONGEST_TRUST:
            hint = "The gateway has it: ask for the address again without this node."
            raise Unavailable(
                "this node cannot check access now", why="it is not connected to the artifacts role", hint=hint
            )
        if tenant_id in self.suspended:
            raise refused()


@dataclass(frozen=True, slots=True)
class FolderInventory:
    """What lies in the folder at this moment, a page at a time, for whoever has the cluster secret."""

    node_id: str
    folder: CopyFolder
    tokens: InventoryTokens
    clock: Clock

    async def page(self, path: str, query: bytes) -> bytes:
        """`/inventory/{token}?after={hash}&limit={copies}`"""
        self.tokens.check(path.removeprefix("/inventory/"), self.node_id, self.clock.now())
        if not self.folder.is_there():
            raise Unavailable("the node's folder is missing", why=self.node_id)
        asked = parse_qs(query.decode("latin-1"))
        limit = asked.get("limit", [""])[0]
        most = min(int(limit), COPIES_A_PAGE) if limit.isascii() and limit.isdecimal() and 0 < len(limit) < 6 else 0
        if not most:
            raise InvalidInput("not a number of copies", field="limit", why=f"it is 1 to {COPIES_A_PAGE}")
        copies, next_after = await asyncio.to_thread(self.folder.on_disk, asked.get("after", [""])[0], most)
        shown = [
            {**asdict(copy), "tenant_id": str(copy.tenant_id), "cached_at": copy.cached_at.isoformat()}
            for copy in copies
        ]
        return json.dumps({"copies": shown, "next_after": next_after}).encode()


@dataclass(slots=True)
class MediaApp:
    folder: CopyFolder
    tokens: MediaTokens
    clock: Clock
    inventory: FolderInventory
    live: LiveMedia
    trouble: Callable[[], str] = lambda: "it has just begun"  # why the node is not ready; empty: it is
    load: int = 0
    access: TenantAccess = field(init=False)

    def __post_init__(self) -> None:
        self.access = TenantAccess(self.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path.startswith("/media/"):
            await self._media(scope, send)
        elif is_from_page(asked_headers(scope)) or scope["method"] not in METHODS:
            hint = "Pages get media here, and nothing else."
            await send_problem(send, Forbidden("requests from web pages are refused", hint=hint))
        elif path.startswith("/inventory/"):
            await self._inventory(scope, send)
        else:
            await self._health(path, send)

    async def _inventory(self, scope: Scope, send: Send) -> None:
        try:
            await _text(send, 200, await self.inventory.page(scope["path"], scope.get("query_string", b"")))
        except TouchlineError as error:
            await send_problem(send, error)

    def is_in_use(self, copy: LocalCopy, for_a_while: timedelta) -> bool:
        accessed_at = copy.last_accessed_at
        return copy.open_files > 0 or (accessed_at is not None and self.clock.now() - accessed_at < for_a_while)

    async def _health(self, path: str, send: Send) -> None:
        match path:
            case "/health/live":
                await _text(send, 200, b'{"status": "live"}')
            case "/health/ready":
                ready = not self.trouble()
                await _text(send, 200 if ready else 503, READY if ready else NOT_READY)
            case "/metrics":
                await _text(send, 200, generate_latest(), CONTENT_TYPE_LATEST)
            case _:
                await send_problem(send, no_such_file())

    async def _media(self, scope: Scope, send: Send) -> None:
        if scope["method"] == "OPTIONS":
            await _text(send, 204, b"", headers=(*OPEN_TO_PAGES, *PREFLIGHT))
            return
        self.load += 1
        try:
            grant, name = self._granted(scope)
            stream = self.live.find(grant.tenant_id, grant.artifact_hash)
            if stream:
                await self._send_live(scope, send, stream, name)
            else:
                await self._send(scope, send, *self._copy(scope, grant, name))
            REQUESTS.labels("ok").inc()
        except TouchlineError as error:
            REQUESTS.labels(error.code).inc()
            await send_problem(send, error, headers=OPEN_TO_PAGES)
        finally:
            self.load -= 1

    def _granted(self, scope: Scope) -> tuple[Grant, str]:
        """Whose media, and which file of them."""
        parts = scope["path"].split("/", 4)
        if len(parts) != 5 or scope["method"] not in METHODS:
            raise no_such_file()
        _, _, token, artifact_hash, name = parts
        grant = self.tokens.read(token, artifact_hash, self.clock.now())
        self.access.require(grant.tenant_id)
        if grant.share_link_id is not None:
            raise refused()  # whether the link has ended, only gateways know
        if b"%" in scope.get("raw_path", b""):
            raise no_such_file()  # none of our names needs it, and a slash or a dot could hide behind it
        return grant, name

    async def _send_live(self, scope: Scope, send: Send, stream: LiveStream, name: str) -> None:
        file = await self.live.file(stream, name, scope.get("query_string", b""))
        self.access.require(stream.authorized.tenant_id)  # a player may have waited
        headers = [(b"cache-control", file.cache_control.encode()), *OPEN_TO_PAGES]
        if scope["method"] == "HEAD":
            length = (b"content-length", b"%d" % len(file.content))
            await _start(send, 200, [(b"content-type", file.content_type.encode()), length, *headers])
            return
        SENT.inc(len(file.content))
        await _text(send, 200, file.content, file.content_type, headers)

    def _copy(self, scope: Scope, grant: Grant, name: str) -> tuple[LocalCopy, str]:
        copy = self.folder.find(grant.tenant_id, grant.artifact_hash)
        if copy is None:
            hint = "The gateway has it: ask for the address again without this node."
            raise NotFound("this node does not have the video", why=grant.artifact_hash, hint=hint)
        name = _narrower(copy, scope) if name == POSTER else name
        if name not in copy.files or content_type_of(name) is None:
            raise no_such_file()
        return copy, name

    async def _send(self, scope: Scope, send: Send, copy: LocalCopy, name: str) -> None:
        now = self.clock.now()
        copy.last_accessed_at = now
        copy.accesses += scope["method"] == "GET" and name in (MANIFEST, CLIP)
        asked = asked_headers(scope)
        etag = f'"{copy.folder}-{copy.files[name]}"'
        headers = _headers(name, etag)
        if asked.get("if-none-match") in ("*", etag):
            await _start(send, 304, headers)
            return
        size = copy.files[name]
        try:
            condition = asked.get("if-range")
            part = wanted_bytes(asked.get("range") if condition in (None, etag) else None, size)
        except InvalidInput:
            await _text(send, RANGE_NOT_SATISFIABLE, b"", headers=[*headers, (b"content-range", b"bytes */%d" % size)])
            return
        file = await asyncio.to_thread(self._open, copy, name, part.start if part else 0)
        copy.open_files += 1
        try:
            answer = Answer(scope["method"], file, part, size, SENDFILE in scope.get("extensions", {}))
            await self._body(send, copy.tenant_id, answer, headers)
        finally:
            copy.open_files -= 1
            copy.last_accessed_at = self.clock.now()
            file.close()

    def _open(self, copy: LocalCopy, name: str, start: int) -> BinaryIO:
        """On a thread: what is sent first is on its way from the disk, so that nobody waits for that later."""
        file = os.fdopen(self.folder.open_file(copy, name), "rb", buffering=0)
        os.posix_fadvise(file.fileno(), start, READ_AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
        return file

    def _go_on(self, tenant_id: TenantId) -> None:
        """An answer under way can only be broken off: nobody takes a part for all."""
        try:
            self.access.require(tenant_id)
        except TouchlineError as error:
            raise OSError(str(error)) from error

    async def _body(self, send: Send, tenant_id: TenantId, answer: Answer, headers: Headers) -> None:
        (start, stop), is_wanted = answer.extent, answer.method == "GET"
        more = [(b"content-length", b"%d" % (stop - start))]
        if answer.part:
            more.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, answer.size)))
        status = 206 if answer.part else 200
        await _start(send, status, [*headers, *more], more_body=is_wanted and stop > start)
        while is_wanted and start < stop:
            count = min(CHUNK_BYTES, stop - start)
            self._go_on(tenant_id)
            await send(await self._chunk(answer, start, count, more_body=start + count < stop))
            start += count
            SENT.inc(count)

    async def _chunk(self, answer: Answer, start: int, count: int, *, more_body: bool) -> dict[str, object]:
        if answer.by_kernel:
            return {"type": SENDFILE, "file": answer.file, "offset": start, "count": count, "more_body": more_body}
        chunk = await asyncio.to_thread(os.pread, answer.file.fileno(), count, start)
        if len(chunk) < count:
            raise OSError("the file is shorter than it was")  # ends the connection: nobody takes a part for all
        return {"type": "http.response.body", "body": chunk, "more_body": more_body}


def asked_headers(scope: Scope) -> dict[str, str]:
    return {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}


def _headers(name: str, etag: str) -> list[tuple[bytes, bytes]]:
    content_type = content_type_of(name) or "application/octet-stream"
    found = {"content-type": content_type, "cache-control": cache_control_of(name), "etag": etag}
    if name == CLIP:
        found["content-disposition"] = 'attachment; filename="clip.mp4"'
    own = [(key.encode(), value.encode()) for key, value in {**found, "accept-ranges": "bytes"}.items()]
    return [*own, *OPEN_TO_PAGES]


def _narrower(copy: LocalCopy, scope: Scope) -> str:
    """The poster in the smallest size that is made and wide enough."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("width", [""])[0]
    width = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 6 else 0
    made = next((each for each in POSTER_WIDTHS if each >= width > 0), None)
    smaller = smaller_poster(POSTER, made) if made else POSTER
    return smaller if smaller in copy.files else POSTER


async def _start(send: Send, status: int, headers: Headers, *, more_body: bool = False) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    if not more_body:
        await send({"type": "http.response.body", "body": b""})


async def _text(
    send: Send, status: int, body: bytes, content_type: str = "application/json", headers: Headers = ()
) -> None:
    own = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})

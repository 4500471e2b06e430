"""Takes publishers from a media server that stands in front, over HTTP:

    POST /auth             that server asks whether a publisher may begin (the form of MediaMTX's HTTP authentication)
    POST /streams/{path}   that server sends what the publisher of this path sends, as MPEG-TS, until it ends

Invariants: the key comes with the question alone, so no command line and no address has it. A path that was admitted is
claimed once, by the address that asked for it, within `CLAIM_S`, and is nobody else's until it has ended: what one
publisher sends never reaches the stream of another. A sink is ended exactly once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs

import uvicorn

from touchline.kernel import (
    Conflict,
    DeadlineExceeded,
    InvalidInput,
    LimitExceeded,
    NotFound,
    TouchlineError,
    Unauthenticated,
)
from touchline.platform.http_server import (
    App,
    HostCheck,
    HttpLimits,
    HttpServer,
    Receive,
    Scope,
    Send,
    is_this_machine,
    send_problem,
)
from touchline.serve.live.model import Admission, Container, PublishRequest, Sink

from .connections import RefusalLog, end
from .rtmp import ListenAddress, listening
from .settings import PublishSettings

AUTH, STREAMS = "/auth", "/streams/"
CLAIM_S = 20.0  # from the answer until the media server sends
MAX_QUESTION_BYTES = 16 * 1024
MAX_WAITING = 100


@asynccontextmanager
async def external_listener(settings: PublishSettings, admission: Admission) -> AsyncGenerator[ListenAddress]:
    """Answers the media server as long as the block runs; then ends all that came through it."""
    listener = listening(settings.external_host, settings.external_port, "publish.external_port")
    app = ExternalApp(settings, admission)
    server = _server(HostCheck(app), settings)
    running = asyncio.create_task(server.serve([listener]))
    try:
        host, number = listener.getsockname()[:2]
        yield ListenAddress(host, number)
    finally:
        await app.close()
        server.should_exit = True
        await running


@dataclass(frozen=True, slots=True)
class Question:
    """What a media server asks."""

    action: str
    path: str
    key: str = field(repr=False)
    peer: str

    @classmethod
    def parse(cls, body: bytes) -> Question:
        try:
            document: object = json.loads(body)
        except ValueError:
            document = None
        if not isinstance(document, Mapping):
            raise InvalidInput("the question of the media server is not a JSON object")
        members = cast("Mapping[str, object]", document)
        texts = {name: value for name, value in members.items() if isinstance(value, str)}
        queried = parse_qs(texts.get("query", "")).get("key", [""])[0]
        key = texts.get("password", "") or texts.get("token", "") or queried
        return cls(texts.get("action", ""), texts.get("path", ""), key, texts.get("ip", ""))


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Admitted, and not claimed yet."""

    key: str = field(repr=False)
    sink: Sink
    address: str  # of the media server
    deadline: asyncio.TimerHandle


class ExternalApp:
    """ASGI."""

    def __init__(self, settings: PublishSettings, admission: Admission) -> None:
        self._settings, self._admission = settings, admission
        self._refusals = RefusalLog()
        self._waiting: dict[str, _Waiting] = {}
        self._sending: set[str] = set()  # the paths that nobody else may have now
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        address = scope["client"][0] if scope.get("client") else ""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine of the server's
        self._tasks.add(task)
        try:
            await self._answer(scope, address, receive)
            await _send_empty(send)
        except TouchlineError as error:
            self._refusals.log(address, error)
            await send_problem(send, error)
        finally:
            self._tasks.discard(task)

    async def close(self) -> None:
        for path in list(self._waiting):
            await self._give_up(path)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, scope: Scope, address: str, receive: Receive) -> None:
        path: str = scope["path"]
        if scope["method"] == "POST" and path == AUTH:
            await self._authenticate(Question.parse(await _body(receive)), address)
        elif scope["method"] in {"POST", "PUT"} and path.startswith(STREAMS):
            await self._take(path.removeprefix(STREAMS), address, receive)
        else:
            raise NotFound("there is no such page")

    async def _authenticate(self, question: Question, address: str) -> None:
        """Who reads from this machine is the command that sends a stream here."""
        if question.action in {"read", "playback"} and question.peer and is_this_machine(question.peer):
            return
        if question.action != "publish" or not question.key:
            raise Unauthenticated(
                "the stream key is missing", hint="Give it as the password, or as `key` in the query."
            )
        path, waiting = question.path, self._waiting.get(question.path)
        if waiting is not None and waiting.key == question.key and waiting.address == address:
            return  # some protocols make the media server ask twice
        if waiting is not None or path in self._sending:
            raise Conflict("another publisher has this path", hint="Wait until it has ended, or use another path.")
        if len(self._waiting) >= MAX_WAITING:
            raise LimitExceeded("too many publishers wait for the media server to send")
        self._sending.add(path)  # nobody else asks for it meanwhile
        try:
            sink = await self._admission(PublishRequest(question.key, Container.MPEG_TS, question.peer))
        finally:
            self._sending.discard(path)
        loop = asyncio.get_running_loop()
        deadline = loop.call_later(CLAIM_S, lambda: self._background(self._give_up(path)))
        self._waiting[path] = _Waiting(question.key, sink, address, deadline)

    def _background(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _give_up(self, path: str) -> None:
        if waiting := self._waiting.pop(path, None):
            waiting.deadline.cancel()
            await end(waiting.sink)

    async def _take(self, path: str, address: str, receive: Receive) -> None:
        waiting = self._waiting.get(path)
        if waiting is None or waiting.address != address:
            raise NotFound("no publisher of this path was admitted", hint="The media server asks first, at /auth.")
        del self._waiting[path]
        waiting.deadline.cancel()
        self._sending.add(path)
        try:
            await self._pass_on(waiting.sink, receive)
        finally:
            self._sending.discard(path)
            await end(waiting.sink)

    async def _pass_on(self, sink: Sink, receive: Receive) -> None:
        idle_s = self._settings.idle_time.total_seconds()
        more = True
        while more:
            try:
                async with asyncio.timeout(idle_s):
                    message = await receive()
            except TimeoutError as error:
                raise DeadlineExceeded("the media server sent nothing for too long", why=f"{idle_s:g} s") from error
            if body := message.get("body", b""):
                await sink.write(body)
            more = message["type"] == "http.request" and message.get("more_body", False)


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_QUESTION_BYTES:
            raise LimitExceeded("the question of the media server is too long")
        more = message["type"] == "http.request" and message.get("more_body", False)
    return body


async def _send_empty(send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _server(app: App, settings: PublishSettings) -> HttpServer:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
    )
    return _Server(config, HttpLimits(connections=settings.max_connections))


class _Server(HttpServer):
    """The signals are handled by the process, which has more to stop than this."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

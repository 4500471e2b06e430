"""The HTTP server of the owner: statements in, bytes out, the engine's calls in threads so that /ping always answers.

Invariant: a statement holds its slot until the engine is done with it, whatever became of the client. A request
waits in a file that has no name once it is open, so that it goes with the process however that ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, TypeAlias, cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from touchline.kernel import is_storage_full
from touchline.platform.http_server import HostCheck

from . import protocol
from .engine import EmbeddedEngine, Statement, StatementResult
from .options import MIB, OwnerLimits
from .queries import insert_into

_IN_MEMORY = 4 * MIB
_WRITE_AT_ONCE = MIB // 2
_UNCOMPRESSED = frozenset({"", "identity"})


class Spool:
    """A request body on disk. Writing and decompressing block: call both from a thread."""

    def __init__(self, folder: Path, method: str, most_bytes: int) -> None:
        self._unpacker = None if method in _UNCOMPRESSED else protocol.BodyDecompressor(method)
        self.file = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY, dir=str(folder))
        self._most_bytes = most_bytes

    def write(self, data: bytes) -> None:
        for piece in self._unpacker.feed(data) if self._unpacker else (data,):
            if self.file.tell() + len(piece) > self._most_bytes:
                raise protocol.refusal(
                    protocol.ErrorCode.QUERY_IS_TOO_LARGE, f"The request holds more than {self._most_bytes} bytes"
                )
            self.file.write(piece)

    def finish(self) -> None:
        if self._unpacker:
            self._unpacker.finish()
        self.file.seek(0)


async def spool_request(spool: Spool, query: str, chunks: AsyncIterable[bytes]) -> SpooledTemporaryFile[bytes]:
    """Receives the whole request first, so that a client that disconnects midway changes nothing."""
    try:
        if query:
            spool.file.write(query.encode() + b"\n")
        await _receive(chunks, spool)
        await asyncio.to_thread(spool.finish)
    except BaseException:
        spool.file.close()
        raise
    return spool.file


async def _receive(chunks: AsyncIterable[bytes], spool: Spool) -> None:
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        if len(waiting) >= _WRITE_AT_ONCE:
            await asyncio.to_thread(spool.write, bytes(waiting))
            waiting.clear()
    if waiting:
        await asyncio.to_thread(spool.write, bytes(waiting))


FORM_TYPE = "multipart/form-data"
_MOST_BYTES = 8 * MIB


async def read_form(chunks: AsyncIterable[bytes]) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > _MOST_BYTES:
            raise protocol.refusal(
                protocol.ErrorCode.QUERY_IS_TOO_LARGE, f"The form holds more than {_MOST_BYTES} bytes"
            )
    return bytes(body)


def parse_form(content_type: str, body: bytes) -> dict[str, str]:
    """Its fields; a file would be an external table."""
    head = f"Content-Type: {content_type}\r\n\r\n"
    form = BytesParser().parsebytes(head.encode("latin-1") + body)
    if not form.is_multipart() or form.defects:
        raise protocol.refusal(protocol.ErrorCode.BAD_ARGUMENTS, "The form cannot be read")
    return dict(_field(part) for part in cast("list[Message]", form.get_payload()))


def _field(part: Message) -> tuple[str, str]:
    name = part.get_param("name", header="content-disposition")
    if part.get_filename() is not None:
        raise protocol.refusal(protocol.ErrorCode.NOT_IMPLEMENTED, "This server has no external tables")
    if not isinstance(name, str):
        raise protocol.refusal(protocol.ErrorCode.BAD_ARGUMENTS, "A field of the form has no name")
    value = part.get_payload(decode=True)
    if not isinstance(value, bytes):
        raise protocol.refusal(protocol.ErrorCode.BAD_ARGUMENTS, f"The field {name} of the form cannot be read")
    try:
        return name, value.decode()
    except UnicodeDecodeError:
        raise protocol.refusal(protocol.ErrorCode.BAD_ARGUMENTS, f"The field {name} of the form is not UTF-8") from None


logger = logging.getLogger(__name__)

Work: TypeAlias = Callable[[], StatementResult]

_OK = "Ok.\n"
_FORMAT_CLAUSE = re.compile(r"\bFORMAT\s+(\w+)\s*(?:SETTINGS\b[^;]*)?;?\s*\Z", re.IGNORECASE | re.ASCII)
_LONGEST_END = 1000
_CLIENT_GONE = Response(status_code=499)  # nobody reads it
_POLL_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class OwnerIdentity:
    credentials: protocol.OwnerCredentials
    database: str
    folder: Path


class OwnerServer:
    def __init__(self, engine: EmbeddedEngine, identity: OwnerIdentity, limits: OwnerLimits) -> None:
        self._engine = engine
        self._identity = identity
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.concurrent_statements, thread_name_prefix="statement")
        self._slots = asyncio.Semaphore(limits.concurrent_statements)
        self._running: set[str] = set()

    def application(self) -> HostCheck:
        routes = [
            Route("/ping", self.ping, methods=["GET"]),
            Route("/", self.query, methods=["GET", "POST"]),
        ]
        return HostCheck(Starlette(routes=routes))

    async def ping(self, request: Request) -> Response:
        return PlainTextResponse(_OK)

    async def query(self, request: Request) -> Response:
        try:
            self._identity.credentials.check(request.headers)
            return await self._answer(request)
        except protocol.ServerException as error:
            return _failure(error)
        except ClientDisconnect:
            return _CLIENT_GONE
        except Exception as error:
            if is_storage_full(error):  # for the file that a large request is spooled to
                return _failure(
                    protocol.refusal(protocol.ErrorCode.NOT_ENOUGH_SPACE, "No space left on device for the request")
                )
            logger.exception("a request failed")
            return _failure(
                protocol.refusal(protocol.ErrorCode.UNKNOWN_EXCEPTION, "Internal error; see the log of the server")
            )

    @property
    def idle(self) -> bool:
        return not self._running

    async def wind_down(self, grace_s: float) -> None:
        """Gives running statements some time, then cancels them: their clients still get a response."""
        await asyncio.sleep(grace_s)
        while self._running:
            await self._cancel(*self._running)
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _answer(self, request: Request) -> Response:
        method, headers, chunks = request.method, request.headers, request.stream()
        fields = await _form_fields(headers.get("content-type", ""), chunks)
        asked = protocol.parse_request(method, {**request.query_params, **fields}, headers, self._identity.database)
        if method == "GET" and not asked.query:
            return PlainTextResponse(_OK)
        spool = Spool(self._identity.folder, headers.get("content-encoding", ""), self._limits.insert_bytes)
        with await spool_request(spool, asked.query, chunks) as file:
            statement, work = await asyncio.to_thread(self._planned, asked, file)
            await self._take_slot(asked.query_id)
            answer = await self._finished(request, asked.query_id, work)
        return _success(statement, answer) if answer else _CLIENT_GONE

    def _planned(self, asked: protocol.QueryRequest, file: SpooledTemporaryFile[bytes]) -> tuple[Statement, Work]:
        """A raw insert passes its file to the engine; everything else is text."""
        insert = protocol.find_insert(file.read(protocol.HEAD_BYTES))
        if not insert:
            statement = _statement(asked, self._text(file), asked.format)
            return statement, lambda: self._engine.run(statement)
        if asked.parameters:
            raise protocol.refusal(
                protocol.ErrorCode.NOT_IMPLEMENTED, "This server takes no parameters with the data of an insert"
            )
        file.seek(insert.data_offset)
        statement = _statement(asked, insert_into(insert.table, insert.columns), insert.format)
        return statement, lambda: self._engine.insert(statement, insert, cast("BinaryIO", file))

    def _text(self, file: SpooledTemporaryFile[bytes]) -> str:
        file.seek(0)
        text = file.read(self._limits.statement_bytes + 1)
        if len(text) > self._limits.statement_bytes:
            message = f"The statement is longer than {self._limits.statement_bytes} bytes; send data as a raw insert"
            raise protocol.refusal(protocol.ErrorCode.QUERY_IS_TOO_LARGE, message)
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise protocol.refusal(protocol.ErrorCode.SYNTAX_ERROR, "The statement is not UTF-8") from None

    async def _take_slot(self, query_id: str) -> None:
        try:
            async with asyncio.timeout(self._limits.queue_wait_ms / 1000):
                await self._slots.acquire()
        except TimeoutError:
            most = self._limits.concurrent_statements
            message = f"Too many simultaneous queries: {most} are already running"
            raise protocol.refusal(protocol.ErrorCode.TOO_MANY_SIMULTANEOUS_QUERIES, message) from None
        if query_id in self._running:
            self._slots.release()
            message = f"Query with id = {query_id} is already running"
            raise protocol.refusal(protocol.ErrorCode.QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING, message)
        self._running.add(query_id)

    async def _finished(self, request: Request, query_id: str, work: Work) -> StatementResult | None:
        """The result, or None when the client disconnected first: then its statement is cancelled."""
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, work)
        running.add_done_callback(lambda _: self._give_back(query_id))
        gone = loop.create_task(_disconnected(request))
        try:
            await asyncio.wait({running, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if running.done():
            return running.result()
        while not running.done():  # more than once: a statement that is still being read cannot be cancelled yet
            await self._cancel(query_id)
            await asyncio.wait({running}, timeout=_POLL_INTERVAL_S)
        with suppress(protocol.ServerException):
            running.result()
        return None

    async def _cancel(self, *query_ids: str) -> None:
        for query_id in query_ids:
            with suppress(protocol.ServerException):
                await asyncio.to_thread(self._engine.cancel, query_id)

    def _give_back(self, query_id: str) -> None:
        self._running.discard(query_id)
        self._slots.release()


def _statement(asked: protocol.QueryRequest, sql: str, data_format: str) -> Statement:
    return Statement(sql, asked.query_id, asked.database, data_format, asked.parameters, asked.settings)


async def _form_fields(content_type: str, chunks: AsyncIterable[bytes]) -> dict[str, str]:
    if not content_type.startswith(FORM_TYPE):
        return {}
    return await asyncio.to_thread(parse_form, content_type, await read_form(chunks))


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _success(statement: Statement, answer: StatementResult) -> Response:
    headers = {
        "X-ClickHouse-Query-Id": statement.query_id,
        "X-ClickHouse-Timezone": "UTC",
        "X-ClickHouse-Summary": json.dumps(answer.summary),
    }
    if answer.returns_rows:
        clause = _FORMAT_CLAUSE.search(statement.sql[-_LONGEST_END:])
        headers["X-ClickHouse-Format"] = clause[1] if clause else statement.format
    return Response(answer.body, headers=headers, media_type="application/octet-stream")


def _failure(error: protocol.ServerException) -> Response:
    headers = {"X-ClickHouse-Exception-Code": str(error.code)}
    return PlainTextResponse(error.text + "\n", error.http_status, headers=headers)

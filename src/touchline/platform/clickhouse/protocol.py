"""ClickHouse's HTTP interface, as far as the owner speaks it: error codes, requests, raw inserts, compressed bodies.

Invariant: every failure reaches the client as "Code: N. DB::Exception: …" with N in a header, as from a real server;
a feature that is not here is refused by name, and nothing that would change the answer is ignored.
"""

from __future__ import annotations

import hmac
import re
import sys
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from importlib import import_module
from typing import Any, Protocol, cast
from uuid import uuid4

from starlette.datastructures import Headers


class ErrorCode(IntEnum):
    """The codes that the owner itself returns; the engine has hundreds more."""

    BAD_ARGUMENTS = 36
    NOT_IMPLEMENTED = 48
    SYNTAX_ERROR = 62
    UNKNOWN_FORMAT = 73
    UNKNOWN_COMPRESSION_METHOD = 89
    UNKNOWN_SETTING = 115
    TOO_MANY_SIMULTANEOUS_QUERIES = 202
    QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING = 216
    QUERY_IS_TOO_LARGE = 229
    MEMORY_LIMIT_EXCEEDED = 241
    NOT_ENOUGH_SPACE = 243
    CANNOT_DECOMPRESS = 271
    QUERY_IS_PROHIBITED = 392
    TOO_MANY_ROWS_OR_BYTES = 396
    ACCESS_DENIED = 497
    AUTHENTICATION_FAILED = 516
    UNKNOWN_EXCEPTION = 1002


# As a real server answers them (exceptionCodeToHTTPStatus); whatever is not named is a 500.
_STATUSES: dict[int, frozenset[int]] = {
    401: frozenset({194}),
    403: frozenset({192, 193, 497, 512, 516}),
    400: frozenset(
        {6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676}
    ),
    404: frozenset({46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511}),
    408: frozenset({159}),
    413: frozenset({229}),
    501: frozenset({48}),
    503: frozenset({76, 209, 439}),
}
_CODE = re.compile(r"\s*Code: (\d+)\. DB::Exception: ")
# The owner hides the engine's function `file` behind one without arguments (see `engine.load_chdb`).
_HIDDEN_FUNCTION = "arguments for function file doesn't match"


class ServerException(Exception):
    """A failure as ClickHouse words it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    @property
    def http_status(self) -> int:
        return next((status for status, codes in _STATUSES.items() if self.code in codes), 500)


def refusal(code: ErrorCode, message: str) -> ServerException:
    return ServerException(code, f"Code: {code.value}. DB::Exception: {message}. ({code.name})")


def from_engine(error: Exception) -> ServerException:
    """The engine raises plain exceptions whose text already has the right form."""
    text = str(error)
    match = _CODE.match(text)
    if _HIDDEN_FUNCTION in text:
        return refusal(ErrorCode.ACCESS_DENIED, "The function file is disabled: SQL cannot read files here")
    if match:
        return ServerException(int(match[1]), text.strip())
    return refusal(ErrorCode.UNKNOWN_EXCEPTION, text.strip() or type(error).__name__)


_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUERY_ID = re.compile(r"[!-~]{1,128}")
_PARAMETER_PREFIX = "param_"
_READING_METHOD = "GET"

# They tell how to send a response; we send it in one piece, unchanged.
_TRANSPORT = frozenset({"wait_end_of_query", "buffer_size", "client_protocol_version", "stacktrace"})

_UNSUPPORTED = {
    "session_id": "sessions: create the client with autogenerate_session_id=False",
    "session_timeout": "sessions",
    "session_check": "sessions",
    "close_session": "sessions",
    "role": "roles",
    "quota_key": "quotas",
    "user": "credentials in the URL: send them as a header",
    "password": "credentials in the URL: send them as a header",
    "compress": "ClickHouse's own compression of answers",
    "decompress": "ClickHouse's own compression of bodies: use Content-Encoding",
}
_OFF = frozenset({"", "0"})


@dataclass(frozen=True, slots=True)
class OwnerCredentials:
    user: str
    password: str = field(repr=False)

    def check(self, headers: Headers) -> None:
        """Takes as long for a wrong user as for a wrong password."""
        user, password = _given_credentials(headers)
        same_user = hmac.compare_digest(user.encode(), self.user.encode())
        same_password = hmac.compare_digest(password.encode(), self.password.encode())
        if not (same_user and same_password):
            raise refusal(ErrorCode.AUTHENTICATION_FAILED, "Authentication failed: no such user, or a wrong password")


@dataclass(frozen=True, slots=True)
class QueryRequest:
    query: str
    query_id: str
    database: str
    format: str
    parameters: Mapping[str, str]
    settings: Mapping[str, str]


def parse_request(method: str, given: Mapping[str, str], headers: Headers, database: str) -> QueryRequest:
    """`given` holds all named values, from the URL or a form."""
    rest = {name: value for name, value in given.items() if name not in _TRANSPORT}
    for name in rest.keys() & _UNSUPPORTED.keys():
        if rest.pop(name) not in _OFF:
            raise refusal(ErrorCode.NOT_IMPLEMENTED, f"This server has no {_UNSUPPORTED[name]}")
    return QueryRequest(
        query=rest.pop("query", ""),
        query_id=_query_id(rest.pop("query_id", "")),
        database=rest.pop("database", "") or headers.get("x-clickhouse-database", "") or database,
        format=rest.pop("default_format", "") or headers.get("x-clickhouse-format", "") or "TabSeparated",
        parameters=_parameters(rest),
        settings=_settings(rest, method),
    )


def _query_id(given: str) -> str:
    """The id is returned in a header, so its characters are limited."""
    if given and not _QUERY_ID.fullmatch(given):
        raise refusal(ErrorCode.BAD_ARGUMENTS, "A query id has at most 128 printable ASCII characters")
    return given or str(uuid4())


def _parameters(rest: Mapping[str, str]) -> dict[str, str]:
    prefix = _PARAMETER_PREFIX
    return {name.removeprefix(prefix): value for name, value in rest.items() if name.startswith(prefix)}


def _settings(rest: Mapping[str, str], method: str) -> dict[str, str]:
    settings = {name: value for name, value in rest.items() if not name.startswith(_PARAMETER_PREFIX)}
    for name in settings:
        if not _SETTING.fullmatch(name):
            raise refusal(ErrorCode.UNKNOWN_SETTING, f"{name!r} is not the name of a setting")
    if method == _READING_METHOD and settings.get("readonly", "0") == "0":
        settings["readonly"] = "2"  # reads only, with settings: as a real server treats GET
    return settings


def _given_credentials(headers: Headers) -> tuple[str, str]:
    kind, _, encoded = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return headers.get("x-clickhouse-user", ""), headers.get("x-clickhouse-key", "")
    try:
        user, _, password = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return user, password


HEAD_BYTES = 64 * 1024

# Formats that hold data and nothing else: `Values` may hold expressions, so that one is read as a statement.
FORMATS = {
    name.casefold(): name
    for name in ("Arrow", "ArrowStream", "Parquet", "Native", "RowBinary", "JSONEachRow", "CSV", "TabSeparated", "TSV")
}

_NAME = rb"(?:[A-Za-z_][A-Za-z0-9_]*|`(?:[^`\\]|\\.)+`|\"(?:[^\"\\]|\\.)+\")"
_PATH = rb"%b(?:\s*\.\s*%b)*" % (_NAME, _NAME)
_COLUMNS = rb"\(\s*%b(?:\s*,\s*%b)*\s*\)" % (_PATH, _PATH)
_HEAD = re.compile(
    rb"\s*INSERT\s+INTO\s+(?:TABLE\s+)?(?P<table>%b)(?:\s*(?P<columns>%b))?" % (_PATH, _COLUMNS)
    + rb"\s*\bFORMAT\s+(?P<format>\w+)(?:[ \t]*\r?\n|[ \t]+|\Z)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class InsertHead:
    table: str
    columns: str  # with their brackets; blank when none are named
    format: str
    data_offset: int


def find_insert(head: bytes) -> InsertHead | None:
    match = _HEAD.match(head)
    if not match or match["format"].lower() == b"values":
        return None
    try:
        table, columns, name = ((match[part] or b"").decode() for part in ("table", "columns", "format"))
    except UnicodeDecodeError:
        raise refusal(ErrorCode.SYNTAX_ERROR, "The statement is not UTF-8") from None
    if name.casefold() not in FORMATS:
        known = ", ".join(FORMATS.values())
        raise refusal(ErrorCode.UNKNOWN_FORMAT, f"This server takes no inserts in format {name}; it takes {known}")
    return InsertHead(table, columns, FORMATS[name.casefold()], match.end())


PIECE = 1024**2


class Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class ZlibDecompressor:
    """zlib's decompressor with the interface of the other two."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = PIECE) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _zstd() -> Decompressor:
    module = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    return cast("Decompressor", module.ZstdDecompressor())


def _lz4() -> Decompressor:
    frame: Any = import_module("lz4.frame")
    return cast("Decompressor", frame.LZ4FrameDecompressor())


_METHODS: dict[str, Callable[[], Decompressor]] = {
    "gzip": lambda: ZlibDecompressor(zlib.MAX_WBITS | 16),
    "deflate": lambda: ZlibDecompressor(zlib.MAX_WBITS),
    "zstd": _zstd,
    "lz4": _lz4,
}


class BodyDecompressor:
    """One body, in any number of frames: clickhouse-connect closes one with every block."""

    def __init__(self, method: str) -> None:
        if method not in _METHODS:
            known = ", ".join(_METHODS)
            raise refusal(
                ErrorCode.UNKNOWN_COMPRESSION_METHOD, f"Unknown compression {method!r}; known methods are {known}"
            )
        self._method = method
        self._frame: Decompressor | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields the decompressed data in pieces of limited size."""
        try:
            while data:
                frame = self._frame = self._frame or _METHODS[self._method]()
                yield frame.decompress(data, PIECE)
                while not frame.eof and not frame.needs_input:
                    yield frame.decompress(b"", PIECE)
                data = (frame.unused_data or b"") if frame.eof else b""
                if frame.eof:
                    self._frame = None
        except Exception as error:
            raise self._broken(str(error)) from None  # each of the libraries has errors of its own

    def finish(self) -> None:
        if self._frame is not None:
            raise self._broken("it is truncated")

    def _broken(self, why: str) -> Exception:
        return refusal(ErrorCode.CANNOT_DECOMPRESS, f"Cannot decompress the body as {self._method}: {why}")

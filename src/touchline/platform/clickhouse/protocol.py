"""The words of ClickHouse's HTTP interface: error codes, their texts and their HTTP statuses.

Invariant: every failure reaches the client as "Code: N. DB::Exception: …" with N in a header, as from a real server.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Code(IntEnum):
    """The codes that the owner itself gives; the engine has hundreds more."""

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
# The owner hides the engine's function `file` behind one without arguments (see `library`).
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


def refusal(code: Code, message: str) -> ServerException:
    return ServerException(code, f"Code: {code.value}. DB::Exception: {message}. ({code.name})")


def from_engine(error: Exception) -> ServerException:
    """The engine raises plain exceptions whose text is already as it should be."""
    text = str(error)
    match = _CODE.match(text)
    if _HIDDEN_FUNCTION in text:
        return refusal(Code.ACCESS_DENIED, "The function file is refused: SQL does not read files here")
    if match:
        return ServerException(int(match[1]), text.strip())
    return refusal(Code.UNKNOWN_EXCEPTION, text.strip() or type(error).__name__)

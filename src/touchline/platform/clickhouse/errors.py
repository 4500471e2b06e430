"""What clickhouse-connect raises, as the errors of the kernel.

Invariant: Unavailable says nothing about the data; whatever the server did not understand is our own mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from clickhouse_connect.driver.exceptions import ClickHouseError, Error
from urllib3.exceptions import HTTPError, ReadTimeoutError

from touchline.kernel.errors import (
    DeadlineExceeded,
    Defect,
    LimitExceeded,
    Misconfigured,
    RateLimited,
    StorageFull,
    TouchlineError,
    Unavailable,
)

Make: TypeAlias = Callable[[str], TouchlineError]

_LONGEST_WHY = 300
_PREFIX = "DB::Exception: "
_NOT_CLICKHOUSE = "received HTTP status"  # without a code of ClickHouse: a proxy, or a server that is going away
_NO_SPACE = ("No space left on device", "Disk quota exceeded")
_CREDENTIALS_HINT = "Check `user`, `password` and the user's rights in the settings of ClickHouse."


def _late(why: str) -> TouchlineError:
    return DeadlineExceeded("ClickHouse did not finish in time", why=why)


def _too_much(why: str) -> TouchlineError:
    return LimitExceeded("ClickHouse would need more than it may use", why=why)


def _full(why: str) -> TouchlineError:
    return StorageFull("the disk of ClickHouse is full", why=why)


def _busy(why: str) -> TouchlineError:
    return RateLimited("ClickHouse has too much to do", why=why)


def _away(why: str) -> TouchlineError:
    return Unavailable("ClickHouse did not answer", why=why)


def _closed(why: str) -> TouchlineError:
    return Misconfigured("ClickHouse refuses the user", why=why, hint=_CREDENTIALS_HINT)


_BY_CODE: dict[int, Make] = {
    158: _too_much,  # TOO_MANY_ROWS
    159: _late,  # TIMEOUT_EXCEEDED
    160: _late,  # TOO_SLOW
    192: _closed,  # UNKNOWN_USER
    193: _closed,  # WRONG_PASSWORD
    194: _closed,  # REQUIRED_PASSWORD
    202: _busy,  # TOO_MANY_SIMULTANEOUS_QUERIES
    209: _late,  # SOCKET_TIMEOUT
    210: _away,  # NETWORK_ERROR
    229: _too_much,  # QUERY_IS_TOO_LARGE
    236: _away,  # ABORTED
    241: _too_much,  # MEMORY_LIMIT_EXCEEDED
    243: _full,  # NOT_ENOUGH_SPACE
    252: _busy,  # TOO_MANY_PARTS
    307: _too_much,  # TOO_MANY_BYTES
    394: _away,  # QUERY_WAS_CANCELLED
    396: _too_much,  # TOO_MANY_ROWS_OR_BYTES
    439: _busy,  # CANNOT_SCHEDULE_TASK
    516: _closed,  # AUTHENTICATION_FAILED
    745: _busy,  # SERVER_OVERLOADED
}


def from_client(error: ClickHouseError | HTTPError) -> TouchlineError:
    """An answer that says no is told by its code; without one, nothing but the way there has failed."""
    if isinstance(error, Error) and error.code is not None:
        make = _full if _says_full(error) else _BY_CODE.get(error.code, _mistake)
        return make(f"{error.name or error.code}: {_first_words(error)}")
    if any(isinstance(cause, ReadTimeoutError) for cause in _causes(error)):
        return _late("the connection stayed silent")
    if any(isinstance(cause, HTTPError) for cause in _causes(error)):
        return _away("the connection failed")
    if _NOT_CLICKHOUSE in str(error):
        return _away(_first_words(error))
    return _mistake(_first_words(error))


def _says_full(error: Exception) -> bool:
    """A write that fails half-way has one of many codes, and the words of the operating system."""
    return any(words in str(error) for words in _NO_SPACE)


def _mistake(why: str) -> TouchlineError:
    return Defect("ClickHouse does not accept a statement", why=why)


def _first_words(error: Exception) -> str:
    """Enough to know what is wrong; a statement with thousands of values in it stays out of the logs."""
    return " ".join(str(error).rpartition(_PREFIX)[2].split())[:_LONGEST_WHY]


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__ or _wrapped(cause)


def _wrapped(error: BaseException) -> BaseException | None:
    reason = getattr(error, "reason", None)  # urllib3 keeps the last failure of its retries here
    return reason if isinstance(reason, BaseException) and reason is not error else None

from __future__ import annotations

import pytest
from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError, OperationalError, ProgrammingError
from urllib3.exceptions import HTTPError, MaxRetryError, NewConnectionError, ProtocolError, ReadTimeoutError

from touchline.kernel import (
    DeadlineExceeded,
    Defect,
    LimitExceeded,
    Misconfigured,
    RateLimited,
    TouchlineError,
    Unavailable,
)
from touchline.platform.clickhouse.client import error_from_client
from touchline.platform.clickhouse.protocol import ErrorCode, from_engine, refusal


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def pool_error(kind: type[HTTPError], *rest: object) -> HTTPError:
    return kind(None, *rest)


TIMEOUT = pool_error(ReadTimeoutError, "/", "late")
REFUSED = pool_error(MaxRetryError, "/", pool_error(NewConnectionError, "no"))
LATE_RETRY = pool_error(MaxRetryError, "/", TIMEOUT)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DatabaseError("Code: 60. DB::Exception: x", code=60, name="UNKNOWN_TABLE"), Defect),
        (DatabaseError("x", code=159), DeadlineExceeded),
        (DatabaseError("x", code=202), RateLimited),
        (DatabaseError("x", code=241), LimitExceeded),
        (DatabaseError("x", code=394), Unavailable),
        (DatabaseError("x", code=516), Misconfigured),
        (OperationalError("x", code=252), RateLimited),
        (DatabaseError("HTTP driver received HTTP status 502"), Unavailable),
        (caused(OperationalError("x"), TIMEOUT), DeadlineExceeded),
        (caused(OperationalError("x"), LATE_RETRY), DeadlineExceeded),
        (caused(OperationalError("x"), REFUSED), Unavailable),
        (ProtocolError("broken"), Unavailable),
        (ProgrammingError("x"), Defect),
    ],
)
def test_what_each_error_means(error: ClickHouseError | HTTPError, expected: type[TouchlineError]) -> None:
    assert type(error_from_client(error)) is expected


def test_the_reason_is_short_and_starts_with_the_name() -> None:
    text = f"Received ClickHouse exception, code: 62, server response: Code: 62. DB::Exception: Wrong {'x' * 9999}"
    why = error_from_client(DatabaseError(text, code=62, name="SYNTAX_ERROR")).why
    assert why.startswith("SYNTAX_ERROR: Wrong xxx")
    assert len(why) < 400


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("Code: 60. DB::Exception: Table x does not exist. (UNKNOWN_TABLE)", 60, 404),
        ("Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR) (version 26.9)", 62, 400),
        ("Code: 241. DB::Exception: Memory. (MEMORY_LIMIT_EXCEEDED)", 241, 500),
        ("something without a code", 1002, 500),
        ("", 1002, 500),
    ],
)
def test_the_engine_speaks_for_itself(text: str, code: int, status: int) -> None:
    error = from_engine(RuntimeError(text))
    assert (error.code, error.http_status) == (code, status)
    assert error.text.startswith(f"Code: {code}. DB::Exception: ")


def test_a_hidden_function_is_named() -> None:
    said = "Code: 42. DB::Exception: Number of arguments for function file doesn't match: passed 1, should be 0. (X)"
    assert from_engine(RuntimeError(said)).code == ErrorCode.ACCESS_DENIED


def test_a_refusal_looks_like_clickhouse() -> None:
    error = refusal(ErrorCode.NOT_IMPLEMENTED, "No")
    assert (error.text, error.http_status) == ("Code: 48. DB::Exception: No. (NOT_IMPLEMENTED)", 501)

"""What a request asks for: who sends it, its parameters and settings, and what this server does not do.

Invariant: a feature that is not here is refused by name; nothing that would change the answer is ignored.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from starlette.datastructures import Headers

from .protocol import Code, refusal

_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUERY_ID = re.compile(r"[!-~]{1,128}")
_PARAMETER_PREFIX = "param_"
_READING_METHOD = "GET"

# They say how to send an answer that we send in one piece, as it is.
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
class Credentials:
    user: str
    password: str = field(repr=False)

    def check(self, headers: Headers) -> None:
        """Takes as long for a wrong user as for a wrong password."""
        user, password = _offered(headers)
        same_user = hmac.compare_digest(user.encode(), self.user.encode())
        same_password = hmac.compare_digest(password.encode(), self.password.encode())
        if not (same_user and same_password):
            raise refusal(Code.AUTHENTICATION_FAILED, "Authentication failed: no such user, or a wrong password")


@dataclass(frozen=True, slots=True)
class QueryRequest:
    query: str
    query_id: str
    database: str
    format: str
    parameters: Mapping[str, str]
    settings: Mapping[str, str]


def parse_request(method: str, given: Mapping[str, str], headers: Headers, database: str) -> QueryRequest:
    """`given` is everything with a name, from the URL or a form."""
    rest = {name: value for name, value in given.items() if name not in _TRANSPORT}
    for name in rest.keys() & _UNSUPPORTED.keys():
        if rest.pop(name) not in _OFF:
            raise refusal(Code.NOT_IMPLEMENTED, f"This server has no {_UNSUPPORTED[name]}")
    return QueryRequest(
        query=rest.pop("query", ""),
        query_id=_query_id(rest.pop("query_id", "")),
        database=rest.pop("database", "") or headers.get("x-clickhouse-database", "") or database,
        format=rest.pop("default_format", "") or headers.get("x-clickhouse-format", "") or "TabSeparated",
        parameters=_parameters(rest),
        settings=_settings(rest, method),
    )


def _query_id(given: str) -> str:
    """It goes back in a header."""
    if given and not _QUERY_ID.fullmatch(given):
        raise refusal(Code.BAD_ARGUMENTS, "A query id has at most 128 visible characters of ASCII")
    return given or str(uuid4())


def _parameters(rest: Mapping[str, str]) -> dict[str, str]:
    prefix = _PARAMETER_PREFIX
    return {name.removeprefix(prefix): value for name, value in rest.items() if name.startswith(prefix)}


def _settings(rest: Mapping[str, str], method: str) -> dict[str, str]:
    settings = {name: value for name, value in rest.items() if not name.startswith(_PARAMETER_PREFIX)}
    for name in settings:
        if not _SETTING.fullmatch(name):
            raise refusal(Code.UNKNOWN_SETTING, f"{name!r} is no name of a setting")
    if method == _READING_METHOD and settings.get("readonly", "0") == "0":
        settings["readonly"] = "2"  # reads only, with settings: as a real server treats GET
    return settings


def _offered(headers: Headers) -> tuple[str, str]:
    kind, _, encoded = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return headers.get("x-clickhouse-user", ""), headers.get("x-clickhouse-key", "")
    try:
        user, _, password = b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return user, password

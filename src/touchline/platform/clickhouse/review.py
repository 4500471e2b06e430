"""Which statements may run at all. What one may touch is the engine's to check, by the grants of its user.

Invariant: the engine's own parser says what a statement is; words in its text only ever add a doubt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from .library import Connection
from .protocol import Code, from_engine, refusal
from .queries import ENGINES, PARSE, as_parameter

READ_ONLY = "READ_ONLY"
_MUTATING = "MUTATING"
_INLINE_DATA = "INSERT with inline data"  # the parser's complaint when it is asked for such a tree
_ENGINE_KINDS = frozenset({"TABLE_ENGINE", "DATABASE_ENGINE"})

_REFUSED = (
    "This server refuses the statement: it runs SELECT, SHOW, DESCRIBE, EXPLAIN, INSERT, CREATE, ALTER, DROP, DELETE, "
    "UPDATE, TRUNCATE, RENAME, EXCHANGE and OPTIMIZE, without temporary tables, without files (INTO OUTFILE, FROM "
    "INFILE), and with settings for synchronous work given beside the text"
)


def review(connection: Connection, sql: str) -> str:
    """The class of a statement that may run. The request's settings come later: they would change how it is parsed."""
    report = connection.classify_query(sql)
    query_class = str(report["query_class"].name)
    if report["statement_count"] != 1:
        raise _syntax_error(connection, sql)
    if query_class not in {READ_ONLY, _MUTATING}:
        raise refusal(Code.QUERY_IS_PROHIBITED, _REFUSED)
    if query_class == _MUTATING:
        _review_change(connection, sql)
    return query_class


def _review_change(connection: Connection, sql: str) -> None:
    """Two things that the engine does for anybody: reading a file into an INSERT, and tables of dangerous engines."""
    try:
        tree = _parsed(connection, sql)
    except RuntimeError as error:
        if _INLINE_DATA in str(error) and "infile" not in sql.casefold():
            return
        raise refusal(Code.QUERY_IS_PROHIBITED, _REFUSED) from None
    if "infile" in tree:
        raise refusal(Code.QUERY_IS_PROHIBITED, _REFUSED)
    for name in _engines(tree):
        if name not in ENGINES:
            known = ", ".join(ENGINES)
            raise refusal(Code.QUERY_IS_PROHIBITED, f"This server has no engine {name} for clients; it has {known}")


def _syntax_error(connection: Connection, sql: str) -> Exception:
    """In the engine's words if it has any."""
    try:
        _parsed(connection, sql)
    except RuntimeError as error:
        if _INLINE_DATA not in str(error):
            return from_engine(error)
    return refusal(Code.SYNTAX_ERROR, "Give one statement in each request")


def _parsed(connection: Connection, sql: str) -> dict[str, Any]:
    return json.loads(connection.query(PARSE, "RawBLOB", params={"sql": as_parameter(sql)}).bytes())


def _engines(tree: object) -> Iterator[str]:
    if isinstance(tree, dict):
        node = cast("dict[str, object]", tree)
        if node.get("kind") in _ENGINE_KINDS:
            yield str(node.get("name"))
        for child in node.values():
            yield from _engines(child)
    elif isinstance(tree, list):
        for child in cast("list[object]", tree):
            yield from _engines(child)

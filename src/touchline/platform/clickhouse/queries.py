"""The statements that the owner itself sends to the engine, and how text is quoted in a statement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ENGINES = (
    "Atomic",
    "MergeTree",
    "ReplacingMergeTree",
    "SummingMergeTree",
    "AggregatingMergeTree",
    "CollapsingMergeTree",
    "VersionedCollapsingMergeTree",
    "CoalescingMergeTree",
    "Memory",
    "Null",
)

# No SOURCES: table functions and engines that access files, URLs or other servers stay disabled. The database `default`
# is the engine's own view of the file system, and every connection starts in it: it may be named, nothing more.
GRANTS = (
    "GRANT SHOW, SELECT, INSERT, ALTER TABLE, ALTER VIEW, TRUNCATE, OPTIMIZE, KILL QUERY ON *.*",
    "GRANT CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP DATABASE, DROP TABLE, DROP VIEW ON *.*",
    *(f"GRANT TABLE ENGINE ON {engine}" for engine in ENGINES),
    "REVOKE ALL ON default.*",
    "GRANT SHOW DATABASES ON default.*",
)

# The engine's own parser: what a statement is, or what is wrong with it. Nothing runs.
PARSE = "SELECT parseQueryToJSON({sql:String})"

CANCEL = "KILL QUERY WHERE Settings['log_comment'] = {query_id:String} ASYNC"


# Holds the rows of one insert, in memory, for as long as its connection is open.
STAGE = "_touchline_insert"
COUNT_STAGED = "SELECT count() FROM _touchline_insert"


def create_stage(table: str) -> str:
    return f"CREATE TEMPORARY TABLE {STAGE} AS {table} ENGINE = Memory"


def insert_into(table: str, columns: str) -> str:
    return f"INSERT INTO {table} {columns}"


def insert_staged(table: str) -> str:
    return f"INSERT INTO {table} SELECT * FROM {STAGE}"  # noqa: S608  the table was read as a name, and reviewed


def create_database(name: str) -> str:
    return f"CREATE DATABASE IF NOT EXISTS {quoted_name(name)}"


def read_file(path: Path) -> str:
    return f"SELECT file({quoted_text(str(path))})"


def use_database(database: str) -> str:
    return f"USE {quoted_name(database)}"


def set_settings(settings: Mapping[str, str]) -> str:
    """One statement for all. Values are quoted whatever their type: the engine converts them."""
    return "SET " + ", ".join(f"{name} = {quoted_text(value)}" for name, value in settings.items())


def quoted_name(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quoted_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def as_parameter(text: str) -> str:
    """Parameters are read as one tab-separated field."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")

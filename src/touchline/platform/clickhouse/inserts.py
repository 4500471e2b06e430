"""Where the statement of a raw insert ends and its data begins.

INSERT INTO [TABLE] name [(columns)] FORMAT word, then the rest of the line if it is empty, then data.
Every other INSERT is an ordinary statement, with all of its text for the engine to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .protocol import Code, refusal

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
        raise refusal(Code.SYNTAX_ERROR, "The statement is not UTF-8") from None
    if name.casefold() not in FORMATS:
        known = ", ".join(FORMATS.values())
        raise refusal(Code.UNKNOWN_FORMAT, f"This server takes no inserts in format {name}; it takes {known}")
    return InsertHead(table, columns, FORMATS[name.casefold()], match.end())

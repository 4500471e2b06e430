"""Log lines on stderr: JSON for machines, one short line for a terminal.

Invariant: nothing reaches the stream without passing the redactor.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

from touchline.contracts.settings import Section

from .redaction import redact

# What the standard library puts on every record; the rest was passed by the caller as `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Format(StrEnum):
    AUTO = "auto"
    JSON = "json"
    HUMAN = "human"


class LogSettings(Section):
    level: Level = Level.INFO
    """Messages below this level are not written."""

    format: Format = Format.AUTO
    """`json` writes one object a line, `human` one short line; `auto` is human on a terminal only."""


class JsonFormatter(logging.Formatter):
    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _moment(record).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "role": self._role,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        line |= {name: _redacted(value) for name, value in _extra(record).items() if name not in line}
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class HumanFormatter(logging.Formatter):
    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {name}={value}" for name, value in _extra(record).items())
        time = _moment(record).strftime("%H:%M:%S")
        line = f"{time} {record.levelname.lower():7} {self._role} {record.name}: {record.getMessage()}{extra}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return redact(line)


def configure(role: str, settings: LogSettings, stream: TextIO | None = None) -> None:
    """Send everything this process logs to one stream, in one format."""
    handler = logging.StreamHandler(stream or sys.stderr)
    human = settings.format is Format.HUMAN or (settings.format is Format.AUTO and handler.stream.isatty())
    handler.setFormatter(HumanFormatter(role) if human else JsonFormatter(role))
    logging.basicConfig(handlers=[handler], level=settings.level.upper(), force=True)


def _moment(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def _redacted(value: Any) -> Any:
    """Numbers stay numbers; all else is redacted as its text."""
    return value if value is None or isinstance(value, (bool, int, float)) else redact(str(value))

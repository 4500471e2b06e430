"""Which bytes a request wants, by its headers (RFC 9110). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.ASCII | re.IGNORECASE)


class Unsatisfiable(Exception):
    """There is nothing of this range."""


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    stop: int  # the first byte that is no longer wanted

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Version:
    """Of the file, as its headers tell it."""

    tag: str  # with its quotes
    changed: datetime


def wanted_span(header: str | None, size: int) -> Span | None:
    """None: the whole. So is everything that is no single range of bytes, as the RFC allows."""
    match = _RANGE.fullmatch(header) if header else None
    if match is None or match[1] == match[2] == "":
        return None
    if not match[1]:
        span = Span(max(size - int(match[2]), 0), size)
    else:
        start = int(match[1])
        if match[2] and int(match[2]) < start:
            return None
        span = Span(start, min(int(match[2]) + 1, size) if match[2] else size)
    if span.start >= span.stop:
        raise Unsatisfiable
    return span


def is_unchanged(version: Version, none_match: str | None, modified_since: str | None) -> bool:
    """Whether the other side has this version already. The tag, if it was sent, decides alone."""
    if none_match is not None:
        tags = [tag.strip().removeprefix("W/") for tag in none_match.split(",")]
        return "*" in tags or version.tag in tags
    since = _date(modified_since)
    return since is not None and version.changed.replace(microsecond=0) <= since


def still_applies(version: Version, if_range: str | None) -> bool:
    """Whether a range is wanted of this version, or the whole of another one."""
    if if_range is None or if_range.strip() == version.tag:
        return True
    return _date(if_range) == version.changed.replace(microsecond=0)


def _date(header: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(header) if header else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None

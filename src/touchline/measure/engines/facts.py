"""From evidence to the lines of the fact tables.

Invariant: the same facts, the same bytes: keys in the order of the columns, no spaces.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from touchline.measure.sessions.model import Evidence, ParameterRow, SegmentRow, SessionRow
from touchline.measure.sessions.rules import Directory, Rules, conclude

_encode = msgspec.json.Encoder().encode


class Lines(NamedTuple):
    """Of one session, each ending with a line's end."""

    session_id: str
    session: bytes
    segments: bytes
    parameters: bytes


def lines_of(evidence: Evidence, directory: Directory, rules: Rules, greatest_ts: int) -> Lines:
    facts = conclude(evidence, directory, rules, greatest_ts)
    return Lines(
        evidence.session_id,
        line_of(facts.session),
        b"".join(map(line_of, facts.segments)),
        b"".join(map(line_of, facts.parameters)),
    )


def line_of(row: SessionRow | SegmentRow | ParameterRow) -> bytes:
    return _encode(row) + b"\n"

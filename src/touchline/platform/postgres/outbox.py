"""The writing side of the event log: events enter it in the transaction that made them true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.contracts.events import Envelope

_ROW = "(%s, %s, %s, %s, %s, %s, %s, %s, %s)"

# The rows of one transaction in the order in which they were announced: values are read in order, and the
# identity column counts them as they come.
_APPEND = """
INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
VALUES {rows}
"""
MOST_ROWS = 1000  # a statement takes at most 65,535 parameters


async def append(connection: AsyncConnection[Any], envelopes: Sequence[Envelope]) -> None:
    for start in range(0, len(envelopes), MOST_ROWS):
        chunk = envelopes[start : start + MOST_ROWS]
        values = [value for envelope in chunk for value in _values(envelope)]
        await connection.execute(_APPEND.format(rows=", ".join([_ROW] * len(chunk))).encode(), values)


def _values(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.id,
        envelope.tenant_id,
        envelope.type,
        envelope.version,
        envelope.key,
        envelope.revision,
        envelope.occurred_at,
        envelope.trace,
        Jsonb(dict(envelope.data)),
    )

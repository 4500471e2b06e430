"""Why the gateway closes a live connection: codes for programs, reasons for people.

Invariant: a code means one thing for ever. After each of them a client may connect again and go on from its cursor.
"""

from __future__ import annotations

from enum import Enum


class Closing(Enum):
    """Codes from 4000 on are an application's own; graphql-ws treats none of these as final."""

    NOT_SIGNED_IN = (4403, "the token is not valid: get a new one, then connect again")
    TOO_SLOW = (4413, "events came faster than they were taken: connect again and go on from the last cursor")
    TOO_MANY = (4430, "the tenant has too many live connections: wait a little, then connect again")
    FAILED = (4501, "the live events broke off: connect again and go on from the last cursor")

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]

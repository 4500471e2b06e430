"""What crosses between the readers of RTMP and SRT and what becomes of the bytes.

Invariant: a reader knows keys and bytes and nothing else. Whether a key may publish, and for how long, is said by
`Admission`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias


class Container(StrEnum):
    """The form in which a reader passes on what a publisher sends."""

    FLV = "flv"
    MPEG_TS = "mpegts"


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """A publisher that wants to begin."""

    key: str = field(repr=False)  # a secret: never in logs, errors or addresses
    container: Container
    peer: str  # the publisher's address, for logs


class Sink(Protocol):
    """Takes the bytes of one admitted publisher. Whoever writes waits as long as the bytes cannot be taken."""

    async def write(self, data: bytes) -> None:
        """TouchlineError: this publisher is to be hung up on, and why."""
        ...

    async def end(self) -> None:
        """The publisher is gone, by intention or not. Called once, whatever happened before."""
        ...


# Raises a TouchlineError where the key is refused: `Forbidden` for a wrong one, `Conflict` where the stream is live
# already.
Admission: TypeAlias = Callable[[PublishRequest], Awaitable[Sink]]

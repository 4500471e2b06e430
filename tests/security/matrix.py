"""The tenant matrix: every case is run as one tenant with another's ids and with unknown ones, and must not tell them
apart, show anything of the other, or change anything of the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Ids: TypeAlias = Mapping[str, str]  # by kind
Snapshot: TypeAlias = Callable[[], Awaitable[Any]]

# What differs from answer to answer without telling anything: fresh ids, times, signed addresses, cursors.
VOLATILE = (
    re.compile(r"https?://[^\"\s]+"),
    re.compile(r"/media/[^\"\s]+"),
    re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?"),
    re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    re.compile(r"\b[0-9a-z]{32}\b"),
    re.compile(r"sha256:[0-9a-f]{64}"),
    re.compile(r"\"[a-z0-9]{16}\""),
    re.compile(r"\"[A-Za-z0-9_-]{40,}\""),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One field, route or call."""

    name: str
    takes_ids: bool
    run: Callable[[Ids], Awaitable[Any]]  # the whole answer, as JSON


@dataclass(frozen=True, slots=True)
class Sides:
    """What the other tenant has, what nobody has, and what must never show."""

    theirs: Sequence[Ids]
    unknown: Ids
    secrets: frozenset[str]
    snapshot: Snapshot


async def differences(cases: Iterable[Case], sides: Sides, allowed: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong, in words; nothing when the walls hold."""
    found: list[str] = []
    watched = _Watched(sides.snapshot, await sides.snapshot())
    for case in cases:
        wrong = await _differences(case, sides, watched)
        if case.name in (allowed or {}):
            if not wrong:
                found.append(f"{case.name} tells nothing apart any more: take it off the list of exceptions")
        else:
            found += wrong
    return found


@dataclass(slots=True)
class _Watched:
    """Looking past all walls takes longest: what was seen after one case is what was there before the next."""

    look: Snapshot
    last: Any

    async def has_changed(self) -> bool:
        before, self.last = self.last, await self.look()
        return self.last != before


async def _differences(case: Case, sides: Sides, watched: _Watched) -> list[str]:
    found: list[str] = []
    expected = comparable(await case.run(sides.unknown), sides.unknown)
    for ids in sides.theirs:
        answer = await case.run(ids)
        if case.takes_ids and comparable(answer, ids) != expected:
            found.append(f"{case.name} tells another tenant's id from an unknown one:\n  {answer}\n  {expected}")
        if shown := [secret for secret in sides.secrets - set(ids.values()) if secret in json.dumps(answer)]:
            found.append(f"{case.name} shows what is another tenant's: {shown}")
    if await watched.has_changed():
        found.append(f"{case.name} changes what is another tenant's")
    return found


def comparable(answer: Any, ids: Ids) -> str:
    """An answer without the ids that were sent, and without what is fresh in every answer.

    A short id may stand in the middle of a digest by chance: only whole words are ids.
    """
    text = json.dumps(answer, sort_keys=True, default=str)
    for sent in sorted(ids.values(), key=len, reverse=True):
        text = re.sub(rf"(?<![0-9A-Za-z]){re.escape(sent)}(?![0-9A-Za-z])", "<id>", text)
    for pattern in VOLATILE:
        text = pattern.sub("<fresh>", text)
    return text

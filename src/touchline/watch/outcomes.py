"""What became of each match of a chunk: one outcome each, whatever happened to the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from touchline.kernel import TouchlineError
from touchline.kernel.errors import Defect
from touchline.platform.retry import is_transient

logger = logging.getLogger(__name__)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class FixtureOutcome:
    fixture_id: int
    what: str  # what was done, or the code of what went wrong
    ok: bool = True


async def one_by_one(
    items: Iterable[tuple[int, Item]],
    work: Callable[[Item], Awaitable[FixtureOutcome]],
    *,
    last_try: bool,
) -> list[FixtureOutcome]:
    """All of them, also after one that failed. What passes by itself is raised at the end, unless this is the last try:
    doing the others once more changes nothing.
    """
    outcomes: list[FixtureOutcome] = []
    passing: Exception | None = None
    for fixture_id, item in items:
        try:
            outcomes.append(await work(item))
        except Exception as error:  # whatever it is, it is this match's alone
            logger.exception("[MONITOR] Fixture failed", extra={"fixture": fixture_id})
            outcomes.append(FixtureOutcome(fixture_id, code_of(error), ok=False))
            passing = passing or (error if is_transient(error) else None)
    if passing and not last_try:
        raise passing
    return outcomes


def code_of(error: Exception) -> str:
    return error.code if isinstance(error, TouchlineError) else Defect.code

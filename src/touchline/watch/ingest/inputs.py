"""The input of IngestWorkflow as people type it in Temporal's page. Pure.

Invariant: what makes no sense is refused with a reason; a run that nobody can start properly does not hang.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from touchline.kernel.errors import InvalidInput
from touchline.watch.feed.values import field, identity, members, names, whole

from .messages import IngestInput

NAMES = ("target_date", "fixture_ids", "look_ahead_days", "aliases_at_once", "until_answered")
MOST_IDS_BY_HAND = 1000
HINT = 'Write {}, {"target_date": "2025-12-26"} or {"fixture_ids": [1379142]}.'


def read_input(given: Any) -> IngestInput:
    """Nothing at all means the same as an empty object."""
    if given is None:
        return IngestInput()
    given_names = names(given)
    if given_names is None:
        raise _refused("the whole", "it is no object")
    if unknown := sorted(set(given_names) - set(NAMES)):
        raise _refused(unknown[0], "there is no such input")
    return IngestInput(
        target_date=_date(field(given, "target_date")),
        fixture_ids=_ids(field(given, "fixture_ids")),
        look_ahead_days=_number(given, "look_ahead_days", 60) or IngestInput().look_ahead_days,
        aliases_at_once=_number(given, "aliases_at_once", 50) or IngestInput().aliases_at_once,
        until_answered=_flag(given, "until_answered"),
    )


def _date(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError) as error:
        raise _refused("target_date", f"{value!r:.40} is no date") from error


def _ids(value: Any) -> list[int] | None:
    if value is None:
        return None
    ids = [identity(each) for each in members(value)]
    if not isinstance(value, list) or not ids or None in ids:
        raise _refused("fixture_ids", "it is no list of ids")
    if len(ids) > MOST_IDS_BY_HAND:
        raise _refused("fixture_ids", f"more than {MOST_IDS_BY_HAND} at once")
    return [each for each in ids if each]


def _number(given: Any, name: str, most: int) -> int | None:
    value = field(given, name)
    if value is not None and whole(value, 1, most) is None:
        raise _refused(name, f"it is no number from 1 to {most}")
    return whole(value, 1, most)


def _flag(given: Any, name: str) -> bool:
    value = field(given, name)
    if value is not None and not isinstance(value, bool):
        raise _refused(name, "it is neither true nor false")
    return bool(value)


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput(f"this cannot be ingested: {name}", field=name, why=why, hint=HINT)

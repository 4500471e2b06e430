from __future__ import annotations

from typing import Any

import pytest

from touchline.kernel import InvalidInput
from touchline.watch.fixtures.workflow import MOST_IDS_BY_HAND, IngestInput, read_input


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, IngestInput()),
        ({}, IngestInput()),
        ({"target_date": "2025-12-26"}, IngestInput(target_date="2025-12-26")),
        ({"fixture_ids": [1379142, "1347263"]}, IngestInput(fixture_ids=[1379142, 1347263])),
        ({"target_date": None, "look_ahead_days": 7}, IngestInput(look_ahead_days=7)),
    ],
)
def test_what_people_type(given: Any, expected: IngestInput) -> None:
    assert read_input(given) == expected


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ([], "the whole"),
        ("2025-12-26", "the whole"),
        ({"fixture_id": [1]}, "fixture_id"),
        ({"target_date": "26.12.2025"}, "target_date"),
        ({"target_date": 20251226}, "target_date"),
        ({"fixture_ids": []}, "fixture_ids"),
        ({"fixture_ids": 1379142}, "fixture_ids"),
        ({"fixture_ids": [1, None]}, "fixture_ids"),
        ({"fixture_ids": [1] * (MOST_IDS_BY_HAND + 1)}, "fixture_ids"),
        ({"look_ahead_days": 0}, "look_ahead_days"),
        ({"aliases_at_once": "many"}, "aliases_at_once"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_input(given)
    assert caught.value.field == field

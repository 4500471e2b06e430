from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import (
    InvalidInput,
    artifact_hash,
    ids,
    new_artifact_hash,
    new_internal_name,
    new_playback_id,
    parse_artifact_hash,
    parse_internal_name,
    parse_playback_id,
    uuid7,
    video_id,
)

MOMENTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(MOMENTS)
def test_uuid7_has_the_version_and_variant_of_its_standard(now: datetime) -> None:
    made = uuid7(now)
    assert made.version == 7
    assert made.variant == RFC_4122


@given(MOMENTS)
def test_uuid7_carries_its_milliseconds(now: datetime) -> None:
    made_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=uuid7(now).int >> 80)
    assert timedelta(0) <= now - made_at < timedelta(milliseconds=1)


@given(st.lists(MOMENTS, min_size=2, max_size=10, unique_by=lambda moment: moment.replace(microsecond=0)))
def test_uuid7_sorts_by_the_time_it_was_made(moments: list[datetime]) -> None:
    made = [uuid7(moment) for moment in sorted(moments)]
    assert sorted(made) == made
    assert sorted(str(one) for one in made) == [str(one) for one in made]


def test_uuid7_of_one_moment_differ() -> None:
    now = datetime(2026, 3, 31, tzinfo=UTC)
    assert len({uuid7(now) for _ in range(1000)}) == 1000


@given(st.uuids())
def test_a_hash_and_its_video_id_are_one_value(identity: UUID) -> None:
    assert video_id(artifact_hash(identity)) == identity
    assert parse_artifact_hash(artifact_hash(identity)) == identity.hex


@pytest.mark.parametrize(
    ("make", "parse", "length"),
    [
        (new_artifact_hash, parse_artifact_hash, 32),
        (new_playback_id, parse_playback_id, 16),
        (new_internal_name, parse_internal_name, 32),
    ],
)
def test_a_new_id_has_the_shape_that_is_read(make: Callable[[], str], parse: Callable[[str], str], length: int) -> None:
    made = {make() for _ in range(100)}
    assert len(made) == 100
    assert all(parse(one) == one and len(one) == length for one in made)


def test_playback_ids_are_typed_by_people_and_internal_names_carry_a_route() -> None:
    assert parse_playback_id("ABCD0123EFGH4567") == "abcd0123efgh4567"
    name = new_internal_name()
    assert parse_internal_name(f"vod+{name}") == name


@pytest.mark.parametrize(
    ("parse", "text", "field"),
    [
        (parse_artifact_hash, "", "artifact_hash"),
        (parse_artifact_hash, "0" * 31, "artifact_hash"),
        (parse_artifact_hash, "G" * 32, "artifact_hash"),
        (parse_artifact_hash, "a" * 32 + "\n", "artifact_hash"),
        (parse_artifact_hash, "٣" * 32, "artifact_hash"),
        (parse_playback_id, "../../etc/passwd", "playback_id"),
        (parse_internal_name, "vod+vod+" + "a" * 32, "internal_name"),
    ],
)
def test_anything_else_is_refused_by_field(parse: Callable[[str], str], text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse(text)
    assert raised.value.field == field


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (ids.parse_artifact_hash, ids.parse_playback_id, ids.parse_internal_name):
        try:
            assert parse(text).isalnum()
        except InvalidInput:
            continue

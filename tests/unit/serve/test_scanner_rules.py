"""What an object in the bucket is taken for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import video_id
from touchline.platform.objects.rules import ListedObject, object_key
from touchline.serve.scanner.rules import (
    ORIGINALS,
    Candidate,
    Refusal,
    RefusedObject,
    Skipped,
    artifact_of,
    judge,
    moved_metadata,
    shown_name,
)

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SETTLE = timedelta(minutes=5)
HOME = "videos/original/a1b2c3d4-e5f6-4890-abcd-ef1234567890/master.mp4"


def listed(key: str, size_bytes: int = 10, etag: str = "e", age: timedelta = SETTLE) -> ListedObject:
    return ListedObject(key, size_bytes, etag, NOW - age)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("videos/original/../../secrets.mp4", Refusal.HOSTILE_KEY),
        ("videos/original/.hidden.mp4", Refusal.HOSTILE_KEY),
        ("videos/original//match.mp4", Refusal.HOSTILE_KEY),
        ("videos/original/a\x01b.mp4", Refusal.HOSTILE_KEY),
        ("videos/original/a\u202eb.mp4", Refusal.HOSTILE_KEY),
        ("videos/original/a\\b.mp4", Refusal.HOSTILE_KEY),
        (f"videos/original/{'a' * 300}.mp4", Refusal.HOSTILE_KEY),
        (f"videos/original/{'a/' * 600}b.mp4", Refusal.HOSTILE_KEY),
        ("videos/original/match", Refusal.NO_VIDEO),
        ("videos/original/notes.txt", Refusal.NO_VIDEO),
        ("videos/original/a1b2c3d4-e5f6-4890-abcd-ef1234567890/master", Refusal.NO_VIDEO),
    ],
)
def test_what_is_no_name_of_a_video_is_refused(key: str, reason: Refusal) -> None:
    verdict = judge(listed(key), NOW, SETTLE)
    assert isinstance(verdict, RefusedObject)
    assert (verdict.key, verdict.reason) == (key, reason)
    assert verdict.why


def test_what_is_empty_fresh_or_only_a_folder() -> None:
    empty = judge(listed("videos/original/match.mp4", 0), NOW, SETTLE)
    assert isinstance(empty, RefusedObject)
    assert empty.reason is Refusal.EMPTY
    assert judge(listed("videos/original/cup/", 0), NOW, SETTLE) is Skipped.FOLDER
    assert judge(listed("videos/original/match.mp4", age=SETTLE - timedelta(seconds=1)), NOW, SETTLE) is Skipped.FRESH
    assert judge(listed("videos/original/match.mp4", age=-SETTLE), NOW, timedelta(0)) is Skipped.FRESH


@pytest.mark.parametrize(
    ("key", "is_home"),
    [
        (HOME, True),
        (HOME.replace("a1b2", "A1B2"), False),
        (HOME.replace(".mp4", ".MP4"), False),
        (HOME.replace("master", "other"), False),
        ("videos/original/match.mp4", False),
        ("videos/original/cup/final/match.mkv", False),
    ],
)
def test_where_an_object_is_at_home(key: str, is_home: bool) -> None:
    verdict = judge(listed(key), NOW, SETTLE)
    assert isinstance(verdict, Candidate)
    assert verdict.is_home is is_home
    assert verdict.home.startswith(f"{ORIGINALS}{video_id(verdict.artifact_hash)}/master.")
    if is_home:
        assert video_id(verdict.artifact_hash) == UUID("a1b2c3d4-e5f6-4890-abcd-ef1234567890")


@given(st.text(), st.text(), st.datetimes(timezones=st.just(UTC)))
def test_the_same_object_is_the_same_artifact_and_another_one_is_not(key: str, etag: str, at: datetime) -> None:
    one = ListedObject(key, 1, etag, at)
    assert artifact_of(one) == artifact_of(ListedObject(key, 1, etag, at))
    for other in (ListedObject(key, 1, f"{etag}2", at), ListedObject(f"{key}2", 1, etag, at)):
        assert artifact_of(other) != artifact_of(one)


@given(st.text())
def test_every_key_has_a_verdict_and_every_candidate_a_valid_home(name: str) -> None:
    verdict = judge(listed(ORIGINALS + name), NOW, SETTLE)
    if isinstance(verdict, Candidate):
        assert object_key(verdict.home) == verdict.home


@pytest.mark.parametrize("name", ["match.mp4", "Final größte 決勝.mkv", "\u05e9\u05dc\u05d5\u05dd.mov"])
def test_a_name_outlives_the_move(name: str) -> None:
    verdict = judge(listed(ORIGINALS + name), NOW, SETTLE)
    home = judge(listed(HOME), NOW, SETTLE)
    assert isinstance(verdict, Candidate)
    assert isinstance(home, Candidate)
    assert shown_name(home, moved_metadata(verdict, "north")) == (name, name.rpartition(".")[0])


@pytest.mark.parametrize("told", ["", "no base64!", "Li4vLi4vZXRjL3Bhc3N3ZA==", "AAAA"])
def test_a_name_that_somebody_else_told_is_checked(told: str) -> None:
    home = judge(listed(HOME), NOW, SETTLE)
    assert isinstance(home, Candidate)
    expected = "master.mp4", "a1b2c3d4-e5f6-4890-abcd-ef1234567890"
    assert shown_name(home, {"touchline-name": told}) == expected

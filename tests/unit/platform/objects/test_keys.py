from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.kernel.errors import InvalidInput
from touchline.platform.objects.keys import join_key, object_key

HOSTILE = [
    "",
    "/",
    "/etc/passwd",
    "videos/",
    "videos//master.mp4",
    "..",
    "../secret",
    "videos/../../secret",
    "videos/..",
    "videos/./master.mp4",
    ".uploads/steal",
    "videos/.versions",
    "videos\\..\\master.mp4",
    "line\nbreak",
    "null\0byte",
    "escape\x1b[31m",
    "right-to-left\u202egp4",
    "lone\ud800surrogate",
    "x" * 256,
    "é" * 128,
    "/".join(["segment"] * 129),
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_keys_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        object_key(text)
    assert refused.value.field == "key"


@pytest.mark.parametrize(
    "text", ["a", "videos/original/1/master.mp4", "a b/c+d%20?#&=.ts", "events/Müller.jsonl", "x" * 255, "a/b..c"]
)
def test_harmless_keys_stay_as_they_are(text: str) -> None:
    assert object_key(text) == text


@pytest.mark.parametrize("segments", [("a", "b/c"), ("a", "../b"), ("a", ""), ("a", ".."), ("/", "a"), ()])
def test_a_segment_from_outside_cannot_add_a_level(segments: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        join_key(*segments)


def test_segments_are_joined() -> None:
    assert join_key("videos", "original", "1", "master.mp4") == "videos/original/1/master.mp4"


@given(st.text(max_size=40))
def test_whatever_passes_stays_below_its_folder(text: str) -> None:
    try:
        key = join_key("folder", text)
    except InvalidInput:
        return
    assert key.split("/") == ["folder", text]
    assert not text.startswith(".")
    assert text.isprintable()

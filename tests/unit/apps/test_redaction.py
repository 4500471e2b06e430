from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.apps.redaction import MASK, SHORTEST_SECRET, Redactor


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abc.def-ghi", f"Authorization: Bearer {MASK}"),
        ("GET /media/c2lnbmVkLWZvci15b3U.17/0a1b/index.m3u8", f"GET /media/{MASK}/0a1b/index.m3u8"),
        ("postgresql://app:pa:ss@host:5432/db", f"postgresql://app:{MASK}@host:5432/db"),
        ("redis://:word@host", f"redis://:{MASK}@host"),
        ("http://s3/b?X-Amz-Signature=deadbeef&x=1", f"http://s3/b?X-Amz-Signature={MASK}&x=1"),
        ("password=hunter2 user=me", f"password={MASK} user=me"),
        ("http://host:8080/path a@b", "http://host:8080/path a@b"),
        ("/media/disk/touchline", "/media/disk/touchline"),
        ("42 videos at 12:30", "42 videos at 12:30"),
    ],
)
def test_what_is_hidden_by_its_shape(text: str, redacted: str) -> None:
    assert Redactor()(text) == redacted


@given(st.text(min_size=SHORTEST_SECRET).filter(lambda secret: secret not in MASK), st.text(), st.text())
def test_a_registered_value_never_passes(secret: str, before: str, after: str) -> None:
    redact = Redactor()
    redact.register(secret)
    assert secret not in redact(f"{before} {secret} {after}").replace(MASK, "")


def test_a_secret_that_contains_another_is_hidden_whole() -> None:
    redact = Redactor()
    redact.register("abcdef", "abcdef-ghijkl")
    assert redact("abcdef-ghijkl") == MASK


def test_short_values_do_not_mask_ordinary_words() -> None:
    redact = Redactor()
    redact.register("", "a", "video")
    assert redact("a video") == "a video"

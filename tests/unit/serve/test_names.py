from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput, new_artifact_hash
from touchline.platform.objects.rules import object_key
from touchline.serve.uploads.rules import CONTENT_TYPES, file_kind, original_key, valid_file_name


@pytest.mark.parametrize(
    "name",
    [
        "match.mp4",
        "Finale 2-1.MKV",
        "Größe.mov",
        "試合.webm",
        "نیم‌فاصله.mp4",
        "👨‍👩‍👧.mp4",
        ".hidden.mp4",
        "a..b.mp4",
        "x" * 251 + ".mp4",
    ],
)
def test_names_of_people_are_kept(name: str) -> None:
    assert valid_file_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        ".",
        "..",
        "...",
        "/etc/passwd",
        "../match.mp4",
        "folder/match.mp4",
        "C:\\match.mp4",
        "a\0.mp4",
        "a\n.mp4",
        "a\x1b[31m.mp4",
        "\u202e4pm.exe",
        "a\u2028b.mp4",
        "x" * 252 + ".mp4",
        "ü" * 126 + ".mp4",
        "\ud800.mp4",
    ],
)
def test_names_that_harm_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        valid_file_name(name)
    assert caught.value.field == "file_name"


def test_one_letter_has_one_form() -> None:
    assert valid_file_name("u\u0308.mp4") == "\u00fc.mp4"


@pytest.mark.parametrize("name", ["letter.pdf", "no ending", "mp4", "match.mp4.exe", "match.", "match.mp4 "])
def test_an_ending_that_we_do_not_know_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="extension"):
        file_kind(name)


@given(st.text(max_size=300))
def test_nothing_of_a_name_reaches_a_key_but_a_known_ending(name: str) -> None:
    artifact_hash = new_artifact_hash()
    try:
        kind = file_kind(valid_file_name(name))
    except InvalidInput:
        return
    key = original_key(artifact_hash, kind)
    assert key == object_key(key)
    assert key.count("/") == 3
    assert key.rpartition(".")[2] in CONTENT_TYPES

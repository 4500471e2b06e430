from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from touchline.kernel import InvalidInput
from touchline.watch.browser import session
from touchline.watch.browser.session import Session, import_cookies

NOW = 1_800_000_000.0
NETWORK = "https://x.com"
PROOF = {"domain": ".x.com", "name": "auth_token", "value": "secret", "expirationDate": NOW + 60}
LISTED = [
    PROOF | {"sameSite": "no_restriction"},
    {"domain": "x.com", "name": "lang", "value": "en", "session": True},
    {"domain": ".elsewhere.example", "name": "auth_token", "value": "another"},
    {"domain": ".x.com", "name": "gone", "value": "1", "expirationDate": NOW - 60},
]
LINES = "\n".join(
    [
        "# Netscape HTTP Cookie File",
        f"#HttpOnly_.x.com\tTRUE\t/\tTRUE\t{NOW + 60}\tauth_token\tsecret",
        "x.com\tFALSE\t/\tFALSE\t0\tlang\ten",
        ".elsewhere.example\tTRUE\t/\tTRUE\t0\tauth_token\tanother",
        "not a cookie",
    ]
)


def written(folder: Path, text: str) -> Path:
    file = folder / "cookies"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", [json.dumps(LISTED), json.dumps({"cookies": LISTED, "origins": []}), LINES])
def test_every_kind_of_file(tmp_path: Path, text: str) -> None:
    told = import_cookies(written(tmp_path, text), tmp_path / "session", NETWORK, NOW)
    assert told.cookies == 2
    assert told.expires_at is not None
    assert told.expires_at.timestamp() == NOW + 60
    saved = Session(tmp_path / "session").read()
    assert saved is not None
    kept = {each["name"]: each for each in saved["cookies"]}
    assert {name: each["value"] for name, each in kept.items()} == {"auth_token": "secret", "lang": "en"}
    assert (kept["auth_token"]["expires"], kept["lang"]["expires"]) == (NOW + 60, -1)
    assert kept["auth_token"]["sameSite"] == "None"
    assert (tmp_path / "session").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "session" / session.NAME).stat().st_mode & 0o777 == 0o600


NOBODY = ["", "[]", "{}", "[1]", "{", '{"cookies": 3}', '[{"domain": "x.com"}]', "[" * 100_000, "\0"]


@pytest.mark.parametrize("text", [*NOBODY, json.dumps(LISTED[1:])])
def test_files_that_show_nobody_signed_in(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput):
        import_cookies(written(tmp_path, text), tmp_path / "session", NETWORK, NOW)
    assert Session(tmp_path / "session").saved_at is None


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        import_cookies(tmp_path / "nothing", tmp_path / "session", NETWORK, NOW)


VALUES = st.none() | st.integers() | st.text()
DOCUMENTS = st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@settings(max_examples=40)
@given(DOCUMENTS)
def test_any_document_is_refused_in_words(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    folder = tmp_path_factory.mktemp("cookies")
    with pytest.raises(InvalidInput):
        import_cookies(written(folder, json.dumps(document)), folder / "session", NETWORK, NOW)

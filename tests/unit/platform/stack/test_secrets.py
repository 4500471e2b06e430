from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from touchline.kernel import SetupError
from touchline.platform.stack.folder import ensure_secrets, read_secrets

NAMES = ("postgres", "objects")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "secrets.json"


def test_secrets_are_long_different_safe_in_urls_and_ours_alone(path: Path) -> None:
    secrets = ensure_secrets(path, NAMES)
    assert len(set(secrets.values())) == len(NAMES)
    assert all(re.fullmatch(r"[\w-]{43}", secret) for secret in secrets.values())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_secret_never_changes_and_missing_ones_are_added(path: Path) -> None:
    before = dict(ensure_secrets(path, NAMES))
    after = ensure_secrets(path, (*NAMES, "new"))
    assert {name: after[name] for name in NAMES} == before
    assert read_secrets(path) == after


def test_nothing_is_written_when_nothing_is_missing(path: Path) -> None:
    ensure_secrets(path, NAMES)
    inode = path.stat().st_ino
    ensure_secrets(path, NAMES)
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_file_that_others_can_read_is_refused(path: Path, mode: int) -> None:
    ensure_secrets(path, NAMES)
    path.chmod(mode)
    with pytest.raises(SetupError, match="others can read") as refusal:
        read_secrets(path)
    assert f"chmod 600 {path}" in refusal.value.hint


@pytest.mark.parametrize("text", ["", "[]", '{"postgres": "hidden value"', '{"postgres": ["hidden value"]}'])
def test_a_broken_file_is_refused_and_not_replaced_and_not_shown(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SetupError) as refusal:
        ensure_secrets(path, NAMES)
    assert path.read_text() == text
    assert "hidden value" not in f"{refusal.value} {refusal.value.hint}"
    assert refusal.value.__cause__ is None


def test_printing_them_shows_no_value(path: Path) -> None:
    secrets = ensure_secrets(path, NAMES)
    assert repr(secrets) == "Secrets(postgres, objects)"
    assert json.loads(path.read_text()) == dict(secrets)

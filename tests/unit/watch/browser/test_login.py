from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from playwright.async_api import Page

from touchline.kernel import ManualClock
from touchline.watch.browser.page import Login, LoginState
from touchline.watch.browser.rules import LoginNeeded
from touchline.watch.browser.session import Session
from touchline.watch.settings import BrowserSettings

CLOCK = ManualClock(datetime(2026, 3, 14, tzinfo=UTC))
UNTOUCHED = cast("Page", object())  # without a password nobody fills in a form


async def test_without_a_password_a_person_must_help(tmp_path: Path) -> None:
    session = Session(tmp_path / "session")
    login = Login(BrowserSettings(), session, CLOCK)
    assert login.state is LoginState.MISSING
    with pytest.raises(LoginNeeded, match="no account is signed in") as missing:
        await login.sign_in(UNTOUCHED)
    assert "touchline watch login --cookies" in missing.value.hint

    session.write({"cookies": [], "origins": []})
    assert login.state is LoginState.UNTRIED
    login.worked()
    assert login.state is LoginState.SIGNED_IN
    with pytest.raises(LoginNeeded, match="has expired"):
        await login.sign_in(UNTOUCHED)
    assert login.state is LoginState.EXPIRED


def test_a_new_session_is_untried(tmp_path: Path) -> None:
    session = Session(tmp_path / "session")
    login = Login(BrowserSettings(), session, CLOCK)
    login.worked()
    session.write({"cookies": [], "origins": []})
    assert login.state is LoginState.UNTRIED

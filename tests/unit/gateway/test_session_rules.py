from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.gateway.auth.credentials import DeviceTokens
from touchline.gateway.auth.sessions import rules
from touchline.gateway.auth.sessions.rules import (
    AccessClaims,
    Attempts,
    Refresh,
    SecretState,
    SessionEnding,
    SessionId,
    SignInMethod,
    StoredKey,
    UserSession,
)
from touchline.gateway.settings import AuthSettings
from touchline.kernel import InvalidInput, RateLimited, Role, TenantId, Unauthenticated, UserId

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
SETTINGS = AuthSettings()
GRACE = SETTINGS.refresh_grace
ID = UUID(int=1)
SESSION = UserSession(TenantId(ID), SessionId(ID), UserId(ID), SignInMethod.LINK, NOW - DAY, NOW + DAY, None, 1)


@pytest.mark.parametrize(
    ("case", "session", "secret", "decision"),
    [
        ("the current secret", SESSION, SecretState(), Refresh.ROTATE),
        ("rotated just now, by another tab", SESSION, SecretState(rotated_at=NOW), Refresh.REPEAT),
        ("rotated within the grace", SESSION, SecretState(rotated_at=NOW - GRACE + SECOND), Refresh.REPEAT),
        ("the new one never arrived", SESSION, SecretState(rotated_at=NOW - DAY), Refresh.ROTATE),
        ("the new one was shown just now", SESSION, SecretState(NOW, NOW - DAY), Refresh.REPEAT),
        ("the new one was shown before the grace", SESSION, SecretState(NOW - GRACE, NOW - DAY), Refresh.REUSED),
        ("another one arrived in its place", SESSION, SecretState(NOW - GRACE), Refresh.REUSED),
        ("ended", replace(SESSION, ended_at=NOW), SecretState(), Refresh.OVER),
        ("ended, with an old secret", replace(SESSION, ended_at=NOW), SecretState(NOW - DAY), Refresh.OVER),
        ("expired", replace(SESSION, expires_at=NOW), SecretState(), Refresh.OVER),
        ("expired, with an old secret", replace(SESSION, expires_at=NOW), SecretState(NOW - DAY), Refresh.OVER),
    ],
)
def test_refresh(case: str, session: UserSession, secret: SecretState, decision: Refresh) -> None:
    assert rules.refresh(session, secret, GRACE, NOW) is decision, case


def test_without_grace_every_old_secret_is_an_alarm() -> None:
    assert rules.refresh(SESSION, SecretState(NOW), timedelta(0), NOW) is Refresh.REUSED


@pytest.mark.parametrize("because", [*SessionEnding, None])
def test_whoever_is_signed_out_hears_why(because: SessionEnding | None) -> None:
    assert rules.session_over(because).why


@given(st.timedeltas(min_value=timedelta(0), max_value=40 * DAY))
def test_a_session_lasts_neither_past_its_life_nor_past_its_idle_time(used_after: timedelta) -> None:
    expiry = rules.session_expiry(NOW, SETTINGS, NOW + used_after)
    assert expiry <= NOW + SETTINGS.session_lifetime
    assert expiry <= NOW + used_after + SETTINGS.session_idle


@pytest.mark.parametrize(
    ("issued", "expires", "why"),
    [
        (NOW, NOW + SECOND, ""),
        (NOW + SETTINGS.leeway, NOW + DAY, ""),
        (NOW + SETTINGS.leeway + SECOND, NOW + DAY, "not valid yet"),
        (NOW - DAY, NOW - SETTINGS.leeway + SECOND, ""),
        (NOW - DAY, NOW - SETTINGS.leeway, "expired"),
    ],
)
def test_times_of_an_access_token(issued: datetime, expires: datetime, why: str) -> None:
    claims = AccessClaims(TenantId(ID), UserId(ID), Role.VIEWER, SessionId(ID), issued, expires)
    if not why:
        rules.require_current(claims, SETTINGS.leeway, NOW)
        return
    with pytest.raises(Unauthenticated, match=why):
        rules.require_current(claims, SETTINGS.leeway, NOW)


FREE, LONGEST = SETTINGS.attempts_per_email, SETTINGS.longest_wait


@pytest.mark.parametrize(
    ("count", "seconds_ago", "seconds"),
    [(0, 0, 0), (FREE - 1, 0, 0), (FREE, 0, 1), (FREE, 1, 0), (FREE + 1, 0, 2), (FREE + 3, 3, 5), (FREE + 9, 0, 60)],
)
def test_attempts_wait_longer_and_longer(count: int, seconds_ago: int, seconds: int) -> None:
    known = Attempts(count, NOW + DAY, NOW - seconds_ago * SECOND)
    wait = rules.waiting_time(known, FREE, LONGEST, NOW)
    assert wait == seconds * SECOND
    if wait:
        with pytest.raises(RateLimited, match=f"wait {seconds} s") as limited:
            rules.require_no_wait(wait)
        assert limited.value.retry_after == wait
    else:
        rules.require_no_wait(wait)


@given(st.integers(min_value=0, max_value=10**9), st.timedeltas(timedelta(0), timedelta(hours=1)))
def test_no_wait_is_longer_than_the_longest_and_each_ends(count: int, later: timedelta) -> None:
    known = Attempts(count, NOW + DAY, NOW)
    assert timedelta(0) <= rules.waiting_time(known, FREE, LONGEST, NOW + later) <= LONGEST
    assert rules.waiting_time(known, FREE, LONGEST, NOW + LONGEST) == timedelta(0)


def test_a_new_window_forgets_the_old_one() -> None:
    known = Attempts(99, NOW, NOW)
    assert rules.waiting_time(known, FREE, LONGEST, NOW) == timedelta(0)
    assert rules.after_attempt(known, DAY, NOW) == Attempts(1, NOW + DAY, NOW)
    assert rules.after_attempt(Attempts(3, NOW + SECOND, None), DAY, NOW) == Attempts(4, NOW + SECOND, NOW)


DEVICES = DeviceTokens("the secret of this cluster")
DEVICE = DEVICES.issue("ada@example.org")


def test_a_browser_is_known_for_the_e_mail_that_signed_in_from_it() -> None:
    subject = DEVICES.subject(DEVICE, "ADA@example.org ")
    assert subject == DeviceTokens("the secret of this cluster").subject(DEVICE, "ada@example.org")
    assert subject not in {None, rules.email_subject("ada@example.org")}
    assert DEVICES.subject(DEVICE, "eve@example.org") is None
    assert DEVICES.subject(DEVICES.issue("ada@example.org"), "ada@example.org") != subject, "each browser by itself"
    assert DeviceTokens("another secret").subject(DEVICE, "ada@example.org") is None


@given(st.integers(0, len(DEVICE) - 1), st.text(max_size=3))
def test_nobody_else_makes_a_browser_known(where: int, junk: str) -> None:
    changed = DEVICE[:where] + junk + DEVICE[where + 1 :]
    assert changed == DEVICE or DEVICES.subject(changed, "ada@example.org") is None


def test_one_network_is_one_address() -> None:
    same = [
        {"192.0.2.1", "::ffff:192.0.2.1"},
        {"2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::1"},
        {"fe80::1", "fe80::2%eth0"},
        {"", "testclient", "unix:"},
    ]
    subjects = [{rules.address_subject(address) for address in group} for group in same]
    assert all(len(group) == 1 for group in subjects)
    assert len(set.union(*subjects)) == len(same)
    assert rules.address_subject("2001:db8:0:1::1") not in subjects[1]


def test_capitals_do_not_give_more_attempts() -> None:
    assert rules.email_subject(" Ada@Example.ORG ") == rules.email_subject("ada@example.org")


@given(st.text())
def test_any_text_can_be_counted(text: str) -> None:
    assert len(rules.email_subject(text)) == len(rules.address_subject(text)) == 32


def test_passwords_are_long() -> None:
    assert rules.valid_password("x" * 12) == "x" * 12
    for text in ("", "x" * 11, "x" * 1025):
        with pytest.raises(InvalidInput):
            rules.valid_password(text)


def test_the_newest_key_signs_and_old_ones_verify_until_their_last_token_expired() -> None:
    life = SETTINGS.key_lifetime
    old, new = (StoredKey(n, f"{n}", b"", NOW, NOW + n * life, b"") for n in (1, 2))
    assert rules.keys_that_sign([old, new], NOW) == [new, old]
    assert rules.keys_that_sign([old, new], NOW + life) == [new]
    last_token_expires = NOW + life + SETTINGS.access_lifetime + SETTINGS.leeway
    assert rules.still_verifies(old, SETTINGS, last_token_expires)
    assert not rules.still_verifies(old, SETTINGS, last_token_expires + SETTINGS.leeway)

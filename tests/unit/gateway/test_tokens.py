from __future__ import annotations

from uuid import UUID

from hypothesis import given, strategies as st

from touchline.gateway.auth import credentials
from touchline.gateway.auth.rules import TokenId

BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@given(st.uuids())
def test_what_is_made_is_recognized(token_id: UUID) -> None:
    text = credentials.new_api_token(TokenId(token_id))
    assert credentials.parse_api_token(text) == token_id
    assert not credentials.is_link_secret(text)
    assert not credentials.is_session_secret(text)


@given(st.text() | st.text(alphabet=BASE64URL).map("tl_".__add__))
def test_any_text_is_parsed_or_refused_and_never_fails(text: str) -> None:
    if (token_id := credentials.parse_api_token(text)) is not None:
        assert text.startswith(f"tl_{token_id.hex}_")
        assert len(text) == len(credentials.new_api_token(token_id))


@given(st.uuids(), st.integers(0, 78), st.characters())
def test_a_changed_token_is_another_token(token_id: UUID, place: int, character: str) -> None:
    text = credentials.new_api_token(TokenId(token_id))
    changed = text[:place] + character + text[place + 1 :]
    if changed != text and credentials.parse_api_token(changed) is not None:
        assert credentials.fingerprint(changed) != credentials.fingerprint(text)


@given(st.uuids(), st.text(min_size=1))
def test_nothing_may_stand_before_or_behind(token_id: UUID, more: str) -> None:
    text = credentials.new_api_token(TokenId(token_id))
    assert credentials.parse_api_token(text + more) is None
    assert credentials.parse_api_token(more + text) is None


def test_every_secret_is_new_and_says_what_it_is() -> None:
    links, sessions = (
        {make() for _ in range(100)} for make in (credentials.new_link_secret, credentials.new_session_secret)
    )
    assert len(links) == len(sessions) == 100
    assert all(credentials.is_link_secret(text) and not credentials.is_session_secret(text) for text in links)
    assert all(credentials.is_session_secret(text) and not credentials.is_link_secret(text) for text in sessions)
    assert all(credentials.parse_api_token(text) is None for text in links | sessions)


def test_only_the_hash_is_made_of_a_secret() -> None:
    assert credentials.fingerprint("tl_x").hex().startswith("a25de07b")  # SHA-256
    assert len(credentials.fingerprint("tl_x")) == 32

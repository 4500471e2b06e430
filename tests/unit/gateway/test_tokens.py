from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from touchline.gateway.auth import tokens
from touchline.gateway.auth.model import TokenId

BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@given(st.uuids())
def test_what_is_made_is_recognized(token_id: UUID) -> None:
    text = tokens.new_api_token(TokenId(token_id))
    assert tokens.parse_api_token(text) == token_id
    assert not tokens.is_link_secret(text)
    assert not tokens.is_session_secret(text)


@given(st.text() | st.text(alphabet=BASE64URL).map("tl_".__add__))
def test_any_text_is_parsed_or_refused_and_never_fails(text: str) -> None:
    if (token_id := tokens.parse_api_token(text)) is not None:
        assert text.startswith(f"tl_{token_id.hex}_")
        assert len(text) == len(tokens.new_api_token(token_id))


@given(st.uuids(), st.integers(0, 78), st.characters())
def test_a_changed_token_is_another_token(token_id: UUID, place: int, character: str) -> None:
    text = tokens.new_api_token(TokenId(token_id))
    changed = text[:place] + character + text[place + 1 :]
    if changed != text and tokens.parse_api_token(changed) is not None:
        assert tokens.fingerprint(changed) != tokens.fingerprint(text)


@given(st.uuids(), st.text(min_size=1))
def test_nothing_may_stand_before_or_behind(token_id: UUID, more: str) -> None:
    text = tokens.new_api_token(TokenId(token_id))
    assert tokens.parse_api_token(text + more) is None
    assert tokens.parse_api_token(more + text) is None


def test_every_secret_is_new_and_says_what_it_is() -> None:
    links, sessions = ({make() for _ in range(100)} for make in (tokens.new_link_secret, tokens.new_session_secret))
    assert len(links) == len(sessions) == 100
    assert all(tokens.is_link_secret(text) and not tokens.is_session_secret(text) for text in links)
    assert all(tokens.is_session_secret(text) and not tokens.is_link_secret(text) for text in sessions)
    assert all(tokens.parse_api_token(text) is None for text in links | sessions)


def test_only_the_hash_is_made_of_a_secret() -> None:
    assert tokens.fingerprint("tl_x").hex().startswith("a25de07b")  # SHA-256
    assert len(tokens.fingerprint("tl_x")) == 32

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.gateway.graphql.pages import Cursors
from touchline.kernel import InvalidInput, TenantId

OURS, THEIRS = TenantId(UUID(int=1)), TenantId(UUID(int=2))
CURSORS = Cursors("the secret of this cluster")
VODS = CURSORS.of(OURS, "vods")


@given(st.binary(max_size=100))
def test_a_cursor_leads_back_to_its_place(place: bytes) -> None:
    assert VODS.open(VODS.seal(place), "after") == place


def test_one_place_has_one_text_in_every_process() -> None:
    assert VODS.seal(b"place") == Cursors("the secret of this cluster").of(OURS, "vods").seal(b"place")


def test_the_text_tells_nothing() -> None:
    assert "place" not in VODS.seal(b"place" * 10)
    assert VODS.seal(b"place 1")[:8] != VODS.seal(b"place 2")[:8]
    assert "secret" not in repr(VODS)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("another tenant's", CURSORS.of(THEIRS, "vods").seal(b"place")),
        ("another list's", CURSORS.of(OURS, "live").seal(b"place")),
        ("another installation's", Cursors("another secret").of(OURS, "vods").seal(b"place")),
        ("nothing", ""),
        ("a number", "17"),
        ("not ASCII", "é" * 40),
        ("too long", "A" * 10_000),
        ("padded", VODS.seal(b"place") + "="),
        ("with a newline", VODS.seal(b"place") + "\n"),
    ],
)
def test_a_wrong_cursor_is_the_senders_mistake(case: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        VODS.open(text, "page.after")
    assert refused.value.field == "page.after", case


@given(st.binary(min_size=1, max_size=40), st.integers(min_value=0), st.sampled_from("ABab01-_"))
def test_no_changed_cursor_passes(place: bytes, where: int, letter: str) -> None:
    text = VODS.seal(place)
    where %= len(text)
    changed = text[:where] + letter + text[where + 1 :]
    if changed != text:
        with pytest.raises(InvalidInput):
            VODS.open(changed, "after")

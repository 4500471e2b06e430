from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.media.engines.messages import (
    LENGTHS,
    MOST_DOCUMENT_BYTES,
    BrokenMessage,
    Message,
    document_in,
    head_of,
    lengths_in,
)

documents = st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=20) | st.booleans(), max_size=5)


@given(documents, st.binary(max_size=50))
def test_what_is_sent_arrives(document: dict[str, object], payload: bytes) -> None:
    head = head_of(Message(document, payload))
    length, rest = lengths_in(head[: LENGTHS.size], 50)
    assert (length, rest) == (len(head) - LENGTHS.size, len(payload))
    assert document_in(head[LENGTHS.size :]) == document


@pytest.mark.parametrize(("document", "payload"), [(MOST_DOCUMENT_BYTES + 1, 0), (2, 51), (2**32 - 1, 2**64 - 1)])
def test_nobody_makes_room_for_what_is_too_long(document: int, payload: int) -> None:
    with pytest.raises(BrokenMessage):
        lengths_in(LENGTHS.pack(document, payload), 50)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"1", b"\xff"])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(BrokenMessage):
        document_in(text)

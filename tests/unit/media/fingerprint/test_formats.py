from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from touchline.media.errors import InvalidFingerprint
from touchline.media.fingerprint.formats import from_bytes, from_text, to_bytes, to_text
from touchline.media.fingerprint.model import Fingerprint, Style

numbers = st.integers(0, 2**64 - 1)
fingerprints = st.one_of(
    st.builds(Fingerprint.of, st.lists(numbers, max_size=50)),
    st.lists(st.tuples(numbers, numbers), max_size=50).map(
        lambda both: Fingerprint.of([one for one, _ in both], Style.CAREFUL, [other for _, other in both])
    ),
)


@given(fingerprints)
def test_both_forms_give_back_what_was_written(fingerprint: Fingerprint) -> None:
    assert from_text(to_text(fingerprint)) == fingerprint
    assert from_bytes(to_bytes(fingerprint)) == fingerprint


def test_the_text_as_others_write_it() -> None:
    text = "dense:0.25:0.25=32b475b2b2513362,0.50=9f9f9fedaf2fbbf7,0.75=0000000000000000,1.00=b947c5ec4d991216"
    assert to_text(Fingerprint.of([0x32B475B2B2513362, 0x9F9F9FEDAF2FBBF7, 0, 0xB947C5EC4D991216])) == text
    assert to_text(from_text(text)) == text
    assert to_text(Fingerprint.of([])) == "dense:0.25:"


def test_the_text_of_a_careful_one() -> None:
    text = "careful:0.25:0.25=32b475b2b2513362:9f9f9fedaf2fbbf7"
    assert to_text(Fingerprint.of([0x32B475B2B2513362], Style.CAREFUL, [0x9F9F9FEDAF2FBBF7])) == text
    assert to_text(Fingerprint.of([], Style.CAREFUL)) == "careful:0.25:"


def test_samples_that_are_left_out_have_no_information() -> None:
    assert from_text("dense:0.25:0.50=00000000000000ff") == Fingerprint.of([0, 255])
    careful = from_text("careful:0.25:0.50=00000000000000ff:00000000000000fe")
    assert careful == Fingerprint.of([0, 255], Style.CAREFUL, [0, 254])


def test_the_bytes_as_they_always_were() -> None:
    dense, careful = Fingerprint.of([258]), Fingerprint.of([258], Style.CAREFUL, [3])
    assert to_bytes(dense).hex() == "544c465001000000fa00000001000000020100000000000009935dfc"
    assert to_bytes(careful).hex()[8:-8] == "02010000fa0000000100000002010000000000000300000000000000"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dense:0.5:0.50=00000000000000ff",
        "sparse:0.25:",
        "dense:0.25:0.25=ff",
        "dense:0.25:0.25=00000000000000fg",
        "dense:0.25:0.25=00000000000000FF",
        "dense:0.25:0.00=00000000000000ff",
        "dense:0.25:0.30=00000000000000ff",
        "dense:0.25:-0.25=00000000000000ff",
        "dense:0.25:0.50=00000000000000ff,0.25=00000000000000ff",
        "dense:0.25:0.25=00000000000000ff,0.25=00000000000000ff",
        "dense:0.25:0.25=00000000000000ff,",
        "dense:0.25:0.25=00000000000000ff:00000000000000ff",
        "careful:0.25:0.25=00000000000000ff",
        "careful:0.25:0.25=00000000000000ff:ff",
        "dense:0.25:9999999.00=00000000000000ff",
        "dense:0.25:\u0660.\u0662\u0665=00000000000000ff",
    ],
)
def test_other_texts(text: str) -> None:
    with pytest.raises(InvalidFingerprint):
        from_text(text)


@given(fingerprints, st.data())
def test_changed_bytes(fingerprint: Fingerprint, data: st.DataObject) -> None:
    content = bytearray(to_bytes(fingerprint))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidFingerprint):
        from_bytes(bytes(content))


@given(fingerprints, st.data())
def test_bytes_cut_off_or_added(fingerprint: Fingerprint, data: st.DataObject) -> None:
    content = to_bytes(fingerprint)
    for changed in (content[: data.draw(st.integers(0, len(content) - 1))], content + b"\0"):
        with pytest.raises(InvalidFingerprint):
            from_bytes(changed)


@given(st.binary(max_size=60), st.text(max_size=60))
def test_anything_else_is_refused_and_not_a_crash(content: bytes, text: str) -> None:
    for beginning in (b"", b"TLFP\x01"):
        with pytest.raises(InvalidFingerprint):
            from_bytes(beginning + content)
    for prefix in ("", "dense:0.25:"):
        with suppress(InvalidFingerprint):
            assert isinstance(from_text(prefix + text), Fingerprint)

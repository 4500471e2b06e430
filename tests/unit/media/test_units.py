from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from touchline.media.child.range_scan import ChangedSets, ParameterSets, Syntax, is_idr, joined

SEQUENCE = bytes.fromhex("6764000cacd941419f9e1000000300100000030320f1429960")
PICTURE = bytes.fromhex("68ef8fcbfdf8f8")
OTHER_SEQUENCE = bytes.fromhex("6764000c10b2d02833f3c200000300020000c8001e285540")  # the same pictures with id 7
OTHER_PICTURE = bytes.fromhex("681022f023cb")
CONFIGURATION = bytes.fromhex("0164000cffe100196764000cacd941419f9e1000000300100000030320f142996001000768ef8fcbfdf8f8")
IDR, SLICE = b"\x65\x88\x80", b"\x41\x9a\x01"
UNIT = st.binary(min_size=1, max_size=40).map(lambda data: b"\x41" + data.replace(b"\0", b"\1"))


def learned(*units: bytes) -> ParameterSets:
    sets = ParameterSets()
    sets.learn(units)
    return sets


@given(st.lists(UNIT, min_size=1))
def test_what_is_joined_is_split_again(units: list[bytes]) -> None:
    assert Syntax(4).split(joined(units)) == units
    assert Syntax(None).split(b"".join(b"\0\0\0\1" + unit for unit in units)) == units


@given(st.binary(max_size=200), st.sampled_from([None, 1, 2, 4]))
def test_noise_is_no_error(data: bytes, width: int | None) -> None:
    units = Syntax(width).split(data)
    assert sum(len(unit) for unit in units) <= len(data)
    assert is_idr(units) in (True, False)


@given(st.binary(max_size=200))
@example(b"\x01\0\0\0\0\x01")
def test_a_header_of_noise_is_no_error(data: bytes) -> None:
    sets = ParameterSets()
    try:
        sets.learn_header(data)
    except ChangedSets:
        return
    assert sets.free_id is None or 0 <= sets.free_id < 32


def test_sets_stand_in_the_header_and_nowhere_else() -> None:
    assert joined([SEQUENCE, PICTURE, b"\x09\xf0", IDR]) == b"\0\0\0\3" + IDR
    assert is_idr([SEQUENCE, IDR])
    assert not is_idr([SLICE])


def test_a_header_holds_two_encoders() -> None:
    sets = ParameterSets()
    sets.learn_header(CONFIGURATION)
    assert sets.free_id == 1
    sets.learn_header(b"\0\0\0\1" + OTHER_SEQUENCE + b"\0\0\0\1" + OTHER_PICTURE)
    again = ParameterSets()
    again.learn_header(sets.configuration())
    assert again.configuration() == sets.configuration()
    assert sets.configuration()[:6] == bytes([1, 0x64, 0, 0x0C, 0xFF, 0xE2])
    assert all(unit in sets.configuration() for unit in (SEQUENCE, PICTURE, OTHER_SEQUENCE, OTHER_PICTURE))
    with pytest.raises(ChangedSets):
        sets.learn([OTHER_SEQUENCE + b"\1"])


def test_the_same_set_twice_changes_nothing() -> None:
    assert learned(SEQUENCE, PICTURE, SEQUENCE).configuration() == learned(SEQUENCE, PICTURE).configuration()

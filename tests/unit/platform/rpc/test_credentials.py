from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.platform.rpc.protocol import ReplayGuard

NOW = 1_000_000
TOLERANCE_MS = 30_000


def guard(most: int = 100) -> ReplayGuard:
    return ReplayGuard(timedelta(milliseconds=TOLERANCE_MS), most)


@pytest.mark.parametrize(
    ("time_ms", "admitted"),
    [
        (NOW, True),
        (NOW - TOLERANCE_MS, True),
        (NOW + TOLERANCE_MS, True),
        (NOW - TOLERANCE_MS - 1, False),
        (NOW + TOLERANCE_MS + 1, False),
    ],
)
def test_a_call_is_neither_old_nor_from_the_future(time_ms: int, admitted: bool) -> None:
    assert guard().admit(b"nonce", time_ms, NOW) is admitted


def test_a_call_comes_once() -> None:
    seen = guard()
    assert seen.admit(b"nonce", NOW, NOW)
    assert not seen.admit(b"nonce", NOW, NOW)
    assert not seen.admit(b"nonce", NOW + 1, NOW)
    assert seen.admit(b"other", NOW, NOW)


def test_what_is_forgotten_is_refused_by_its_time() -> None:
    seen = guard(most=2)
    assert all(seen.admit(bytes([n]), NOW + n, NOW) for n in range(4))
    assert not seen.admit(bytes([1]), NOW + 1, NOW)
    assert not seen.admit(b"never seen", NOW + 1, NOW)
    assert seen.admit(b"never seen", NOW + 2, NOW)


def test_a_clock_that_goes_back_opens_nothing() -> None:
    seen = guard()
    assert seen.admit(b"nonce", NOW, NOW)
    assert seen.admit(b"later", NOW + 2 * TOLERANCE_MS, NOW + 2 * TOLERANCE_MS)
    assert not seen.admit(b"nonce", NOW, NOW)


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.integers(-40_000, 40_000), st.integers(0, 90_000))),
)
def test_no_call_is_ever_admitted_twice(most: int, calls: list[tuple[bytes, int, int]]) -> None:
    seen, now, admitted = guard(most), NOW, set[bytes]()
    times: dict[bytes, int] = {}
    for nonce, offset, passed in calls:
        now += passed
        time_ms = times.setdefault(nonce, now + offset)  # the same call always carries the same time
        if seen.admit(nonce, time_ms, now):
            assert nonce not in admitted
            admitted.add(nonce)
        assert len(seen._seen) <= most

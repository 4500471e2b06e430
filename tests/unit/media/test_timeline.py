from __future__ import annotations

from fractions import Fraction

import pytest
from av.packet import Packet
from hypothesis import given, strategies as st

from touchline.media.child.source import PacketTimeline

MILLISECOND = Fraction(1, 1000)
Times = tuple[int | None, int | None]  # shown, decoded
TIME = st.integers(-(2**40), 2**40) | st.none()


def packets(*times: Times, last: int = 0) -> list[Packet]:
    made: list[Packet] = []
    for shown, decoded in times:
        packet = Packet(b"x")
        packet.pts, packet.dts, packet.duration = shown, decoded, last
        made.append(packet)
    return made


def through(timeline: PacketTimeline, *times: Times, last: int = 0) -> list[tuple[int | None, int | None, int | None]]:
    placed = [placed for packet in packets(*times, last=last) for placed in timeline.take(packet)]
    return [(packet.pts, packet.dts, packet.duration) for packet in [*placed, *timeline.finish()]]


def test_good_times_stay_and_durations_are_filled_in() -> None:
    timeline = PacketTimeline(MILLISECOND, Fraction(25))
    assert through(timeline, (0, 0), (40, 40), (100, 100)) == [(0, 0, 40), (40, 40, 60), (100, 100, 40)]


def test_the_last_packet_keeps_its_own_duration() -> None:
    assert through(PacketTimeline(MILLISECOND, Fraction(25)), (0, 0), (40, 40), last=33)[-1] == (40, 40, 33)


def test_a_late_start_becomes_zero() -> None:
    timeline = PacketTimeline(MILLISECOND, Fraction(25), Fraction(10))
    assert through(timeline, (10_000, 10_000), (10_040, 10_040)) == [(0, 0, 40), (40, 40, 40)]


def test_missing_first_decoding_times_are_counted_back() -> None:
    """Reordered pictures in Matroska."""
    timeline = PacketTimeline(MILLISECOND, Fraction(25))
    assert through(timeline, (0, None), (160, None), (80, 0), (40, 40)) == [
        (0, -80, 40), (160, -40, 40), (80, 0, 40), (40, 40, 40),
    ]  # fmt: skip


def test_a_video_that_has_no_decoding_times_at_all() -> None:
    assert through(PacketTimeline(MILLISECOND, Fraction(25)), (0, None), (40, None)) == [(0, 0, 40), (40, 40, 40)]


def test_times_that_go_back_are_pushed_forward() -> None:
    timeline = PacketTimeline(MILLISECOND, Fraction(25))
    assert through(timeline, (0, 0), (50, 50), (20, 20)) == [(0, 0, 50), (50, 50, 1), (51, 51, 40)]


def test_a_packet_without_any_time_is_dropped() -> None:
    assert through(PacketTimeline(MILLISECOND, None), (None, None), (0, 0)) == [(0, 0, 1)]


@given(st.lists(st.tuples(TIME, TIME), max_size=20), st.fractions(min_value=0, max_value=100))
def test_whatever_comes_decoding_times_rise_and_add_up(times: list[Times], start: Fraction) -> None:
    placed = through(PacketTimeline(MILLISECOND, Fraction(30), start), *times)
    decoded = [dts for _, dts, _ in placed if dts is not None]
    assert len(decoded) == len(placed) == sum(1 for shown, dts in times if shown is not None or dts is not None)
    assert decoded == sorted(set(decoded))
    assert all(pts is not None and dts is not None and pts >= dts for pts, dts, _ in placed)
    for (_, dts, duration), following in zip(placed, decoded[1:], strict=False):
        assert dts is not None
        assert duration == following - dts


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(10**9)])
def test_absurd_rates_are_no_trouble(rate: Fraction) -> None:
    assert through(PacketTimeline(MILLISECOND, rate), (0, 0))[0][2]

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.watch.validation.clock import LAST_MINUTE, Clock, find, parse


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        # running
        ("0:07", 0),
        ("00:41", 0),
        ("7:12", 7),
        ("62:58", 62),
        ("90:00", 90),
        ("118:30", 118),
        ("62 : 58", 62),
        ("62.58", 62),
        ("62;58", 62),
        ("62：58", 62),  # noqa: RUF001
        # stoppage time beside a clock that stands still
        ("45:00 +2:13", 47),
        ("45:00+0:40", 45),
        ("90:00 + 4:01", 94),
        ("90:00 +12:30", 102),
        ("45:00 2:13", 47),
        ("120:00 +1:05", 121),
        ("90:00 +4", 93),
        # announced beside a clock that runs on
        ("46:30 +4", 46),
        ("93:10 +5", 93),
        # as people write it: counted from one
        ("45+2", 46),
        ("45'+2'", 46),
        ("90'+4'", 93),
        ("90 + 4", 93),
        ("90+4'", 93),
        ("120+1", 120),
        ("67'", 66),
        ("1'", 0),
        ("67 min", 66),
        # halves that begin anew
        ("1H 12:34", 12),
        ("2H 18:12", 63),
        ("2H 63:12", 63),
        ("18:12 2nd", 63),
        ("2nd half 02:12", 47),
        ("2H 47:12", 47),
        ("2T 10:00", 55),
        ("2ª parte 10:00", 55),
        ("2. HZ 10:00", 55),
        ("MT2 10:00", 55),
        ("2H 45:00 +2:13", 92),
        ("1H 45:00 +2:13", 47),
        # extra time
        ("ET 97:12", 97),
        ("ET 7:12", 97),
        ("ET1 7:12", 97),
        ("ET2 2:12", 107),
        ("ET2 17:12", 107),
        ("ET2 107:12", 107),
        ("47:12 second half of extra time", 107),
        ("Extra time 20:00", 110),
        ("ET1 15:00 +1:20", 106),
        ("ET2 15:00 +1:20", 121),
        # what readers make of digits
        ("O7:12", 7),
        ("l2:34", 12),
        ("4S:00 +2:l3", 47),
        ("6Z:S8", 62),
        ("I1:O5", 11),
        # between other things
        ("NOR 1-0 VAZ 62:58", 62),
        ("NOR62:58", 62),
        ("62:58 NOR 1 - 0 VAZ", 62),
        ('"62:58"', 62),
    ],
)
def test_spellings(text: str, minute: int) -> None:
    read = parse(text)
    assert read is not None
    assert read.minute == minute


@pytest.mark.parametrize("text", ["HT", "FT", "half time", "Half-Time", "full time", "H/T", "AET", "PEN", "descanso"])
def test_breaks(text: str) -> None:
    assert parse(text) == Clock(text, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1-0",
        "2:1",
        "62:75",
        "262:58",
        "2024/25",
        "4-3-3",
        "14.03.2026",
        "20:45 CET",
        "20:45 Uhr",
        "7:30 pm",
        "15:00 KO",
        "45+",
        "45+99",
        "67+2",
        "12:34:56",
        "SOLD",
        "SO:BS",
        "Sørensen 63'",
        "10",
        "ET2 72:00",
    ],
)
def test_no_clocks_on_a_picture(text: str) -> None:
    assert find(text) is None


def test_a_model_may_say_the_minute_alone() -> None:
    assert parse("67") == Clock("67", 67)
    assert parse("670") is None


@given(st.integers(0, LAST_MINUTE), st.integers(0, 59), st.sampled_from(["{}:{:02}", "{:02}:{:02}", "{:02} : {:02}"]))
def test_every_running_clock(minute: int, second: int, form: str) -> None:
    read = find(f"HOM 2-1 AWY {form.format(minute, second)}")
    assert read is not None
    assert read.minute == minute


@given(st.sampled_from([45, 90, 105, 120]), st.integers(0, 14), st.integers(0, 59))
def test_every_stoppage_clock(end: int, minute: int, second: int) -> None:
    for text in (f"{end}:00 +{minute}:{second:02}", f"{end}:00+{minute:02}:{second:02}"):
        read = find(text)
        assert read is not None
        assert read.minute == end + minute


@given(st.text(max_size=30) | st.text("0123456789:+'OlS. ETHh2", max_size=14))
def test_any_text_is_read_or_not(text: str) -> None:
    read = parse(text)
    if read and read.minute is not None:
        assert 0 <= read.minute <= LAST_MINUTE
        again = parse(read.text)
        assert again is not None
        assert again.minute == read.minute, "what is kept of it says the same"

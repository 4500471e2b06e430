from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tests.support.properties import examples
from touchline.media.engines.model import Box, TextRegion
from touchline.watch.validation.clock import Clock, clock_among, find, parse
from touchline.watch.validation.periods import LAST_MINUTE, MOST_ADDED


def minutes(text: str) -> set[int]:
    read = parse(text)
    assert read is not None
    return {each.minute for each in read.meant}


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
        # stoppage time beside a clock that stands still, whatever was announced
        ("45:00 +2:13", 47),
        ("45:00+0:40", 45),
        ("90:00 + 4:01", 94),
        ("90:00 +12:30", 102),
        ("45:00 2:13", 47),
        ("120:00 +1:05", 121),
        ("90:00 +4 02:17", 92),
        ("90:00 02:17 +4", 92),
        ("+4 90:00 02:17", 92),
        ("02:17 90:00", 92),
        ("90:00 (+4) [02:17]", 92),
        ("90:00 | +4 | 02:17", 92),
        ("90:00|+4|2:17", 92),
        ("90:00\n+4\n02:17", 92),
        ("90:00 / 02:17", 92),
        ("90:0002:17", 92),
        ("90:00+402:17", 92),
        ("90:00+1002:17", 92),
        ("90:00 4 min 02:17", 92),
        ("90:00 +4:00 02:17", 92),
        ("90:00 02:17 (+4:00)", 92),
        ("90:00 02:17.4", 92),
        ("45+2:30", 47),
        ("45 + 2:30", 47),
        ("45'+2:30", 47),
        ("45+2'30", 47),
        ("45+2'30\"", 47),
        ("90+4 02:17", 92),
        ("90' +4 02:17", 92),
        ("90+ 02:17", 92),
        ("90' 02:17", 92),
        ("90 02:17", 92),
        ("NOR 1-0 VAZ 90:00 +4 02:17", 92),
        ("NOR 1-0 VAZ 90+02:17", 92),
        ("90:00 ET 2:17", 92),
        ("90:00 added time 4 02:17", 92),
        ("٤+ ٩٠:٠٠ ٠٢:١٧", 92),  # noqa: RUF001
        ("92:17 02:17", 92),
        ("02:17 92:17", 92),
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
        ("後半 18:12", 63),
        ("後半18:12", 63),
        ("후반 18:12", 63),
        ("下半场 18:12", 63),
        ("الشوط الثاني ١٨:١٢", 63),
        ("2H 45:00 +2:13", 92),
        ("2H 45:00 +3 2:13", 92),
        ("1H 45:00 +2:13", 47),
        ("2H 02:36 +8", 92),
        # extra time
        ("ET 97:12", 97),
        ("ET1 7:12", 97),
        ("ET2 2:12", 107),
        ("ET2 17:12", 107),
        ("ET2 107:12", 107),
        ("47:12 second half of extra time", 107),
        ("Extra time 20:00", 110),
        ("ET1 15:00 +1:20", 106),
        ("ET2 15:00 +1:20", 121),
        ("ET 30:00 +1 1:20", 121),
        ("延長前半 7:12", 97),
        # what readers make of digits
        ("O7:12", 7),
        ("l2:34", 12),
        ("|2:34", 12),
        ("4S:00 +2:l3", 47),
        ("6Z:S8", 62),
        ("I1:O5", 11),
        # digits of other scripts
        ("٦٢:٥٨", 62),
        ("۶۲:۵۸", 62),
        ("६२:५८", 62),
        ("６２：５８", 62),  # noqa: RUF001
        ("٩٠:٠٠ +٤ ٠٢:١٧", 92),  # noqa: RUF001
        ("४५+२:३०", 47),
        ("\u200f٩٠:٠٠\u200f +\u200f٠٢:١٧", 92),  # noqa: RUF001
        ("45⁺²", 46),
        # between other things
        ("NOR 1-0 VAZ 62:58", 62),
        ("NOR62:58", 62),
        ("62:58 NOR 1 - 0 VAZ", 62),
        ("2nd leg 18:12", 18),
        ('"62:58"', 62),
    ],
)
def test_spellings(text: str, minute: int) -> None:
    assert minutes(text) == {minute}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("02:36 +8", {47, 92, 107, 122}),
        ("+8 02:36", {47, 92, 107, 122}),
        ("+02:36", {47, 92, 107, 122}),
        ("8+ 02:36", {47, 92, 107, 122}),
        ("02:36 8+", {47, 92, 107, 122}),
        ("02:36 added time 8", {47, 92, 107, 122}),
        ("+2'36", {47, 92, 107, 122}),
        ("+8' 02:36", {47, 92, 107, 122}),
        ("AET 04:04", {94, 109}),
        ("ET 7:12", {97, 112}),
        ("ET 15:00 +1:20", {106, 121}),
        ("15:00 +1:20", {106, 121}),
        ("90:00 +4", set()),
        ("45:00 (+3)", set()),
        ("2H 45:00", set()),
    ],
)
def test_clocks_that_say_too_little_alone(text: str, meant: set[int]) -> None:
    assert minutes(text) == meant


@pytest.mark.parametrize("text", ["HT", "FT", "half time", "Half-Time", "full time", "H/T", "AET", "PEN", "descanso"])
def test_breaks(text: str) -> None:
    assert parse(text) == Clock(text, frozenset())


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
        "Sørensen 45+2'",
        "Sørensen 90+2, 90+4",
        "+4",
        "10",
        "ET2 72:00",
    ],
)
def test_no_clocks_on_a_picture(text: str) -> None:
    assert find(text) is None


def test_a_model_may_say_the_minute_alone() -> None:
    assert minutes("67") == {67}
    assert parse("670") is None


@given(st.integers(0, LAST_MINUTE), st.integers(1, 59), st.sampled_from(["{}:{:02}", "{:02}:{:02}", "{:02} : {:02}"]))
def test_every_running_clock(minute: int, second: int, form: str) -> None:
    read = find(f"HOM 2-1 AWY {form.format(minute, second)}")
    assert read is not None
    assert {each.minute for each in read.meant} == {minute}


PIECES = [
    *("90:00", "45:00", "15:00", "30:00", "02:17", "21:47", "92:17", "62:58", "+02:36", "+4:00", "+2'13", "4S:0O"),
    *("+4", "8+", "4 min", "45+2", "90'+4'", "90+", "45+2:30", "67'", "90'", "90", "10", "90:0002:17", "+402:17"),
    *(
        "ET",
        "AET",
        "2H",
        "1st",
        "ET2",
        "後半",
        "added time",
        "stoppage",
        "NOR",
        "1-0",
        "HT",
        "20:45 CET",
        "|",
        "(",
        "/",
    ),
]


@examples(300)
@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(PIECES), max_size=5).flatmap(
        lambda found: st.sampled_from(["", " "]).map(lambda x: x.join(found))
    )
    | st.text("0123456789:+'OlS. ETHh2()|\n\u0662\u0665", max_size=16)
)
def test_any_text_is_read_or_not(text: str) -> None:
    read = parse(text)
    if read:
        assert all(0 <= each.minute <= 120 + MOST_ADDED for each in read.readings | read.restarted)
        again = parse(read.text)
        assert again is not None
        assert (again.readings, again.restarted) == (read.readings, read.restarted), "what is kept of it says the same"


def region(text: str, x: int = 60, y: int = 40, confidence: float = 0.9) -> TextRegion:
    return TextRegion(text, Box(x, y, 12 * len(text), 20), confidence, None, 0)


@pytest.mark.parametrize(
    ("case", "regions", "clock"),
    [
        ("none", [region("NOR"), region("1-0")], None),
        ("beside the score", [region("NOR"), region("1-0", x=110), region("62:58", x=160)], "62:58"),
        ("on one line", [region("62:58 NOR 1-0 VAZ")], "62:58"),
        ("the surest", [region("62:58"), region("02:58", confidence=0.6)], "62:58"),
        ("not legible", [region("62:58", confidence=0.3)], None),
        ("stoppage time beside it", [region("45:00"), region("+1:12", x=140)], "45:00 +1:12"),
        ("stoppage time below it", [region("45:00"), region("1:12", y=70)], "45:00 +1:12"),
        ("another time far away", [region("45:00"), region("1:12", x=900, y=600)], "45:00"),
        ("in three parts", [region("90:00"), region("+4", x=135), region("02:17", x=170)], "90:00 +4 02:17"),
        ("in brackets", [region("[02:17]", y=70), region("(+4)", x=135), region("90:00")], "90:00 +4 02:17"),
        ("a row of parts", [region("90:00"), region("+4", x=180), region("02:17", x=264)], "90:00 +4 02:17"),
        ("with the teams", [region("NOR 1-0 VAZ 90:00"), region("+4 02:17", y=70)], "90:00 +4 02:17"),
        ("without seconds", [region("90+", confidence=0.99), region("02:17", x=110)], "90 +02:17"),
        ("stoppage time alone", [region("02:36"), region("+8", x=135)], "02:36 +8"),
        ("a mark beside it", [region("AET"), region("04:04", x=110)], "AET 04:04"),
        ("a mark far away", [region("ET", x=900), region("04:04", x=110)], "04:04"),
        ("a score is no part", [region("1"), region("62:58", x=80), region("0", x=150)], "62:58"),
        ("a caption", [region("Sørensen 63'"), region("62:58", y=10)], "62:58"),
        ("the minute alone", [region("63'")], "63'"),
    ],
)
def test_clock_among(case: str, regions: list[TextRegion], clock: str | None) -> None:
    read = clock_among(regions)
    assert (read.text if read else None) == clock, case

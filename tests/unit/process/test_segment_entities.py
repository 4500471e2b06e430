from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from touchline.process.segments.rules import amount, find_entities

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
NORWAY = "\U0001f1f3\U0001f1f4"
WAVE = "\U0001f44b\U0001f3fd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Second half", []),
        ("by @NorthBank", ["mention @NorthBank northbank"]),
        ("@a.b_c.", ["mention @a.b_c a.b_c"]),
        ("mail a@b.com or foo.bar@x", []),
        ("#UCL2026 #goal", ["hashtag #UCL2026 ucl2026", "hashtag #goal goal"]),
        ("#日本代表 \uff03ゴール", ["hashtag #日本代表 日本代表", "hashtag \uff03ゴール ゴール"]),
        ("#1 seat", ["number 1 1 plain"]),
        ("see https://X.com/A_(b)).", ["url https://X.com/A_(b) https://x.com/A_(b)"]),
        ("touchline.tv/Live", ["url touchline.tv/Live https://touchline.tv/Live"]),
        ("in www.Foo.de!", ["url www.Foo.de https://www.foo.de"]),
        ("He scored.Then he left", []),
        ("https://x.com/@name/#top?n=5", ["url https://x.com/@name/#top?n=5 https://x.com/@name/#top?n=5"]),
        (f"{NORWAY}{FAMILY}{WAVE}", [f"emoji {NORWAY} {NORWAY}", f"emoji {FAMILY} {FAMILY}", f"emoji {WAVE} {WAVE}"]),
        ("1\ufe0f\u20e3 \u2764\ufe0f \u00a9", ["emoji 1\ufe0f\u20e3 1\u20e3", "emoji \u2764\ufe0f \u2764"]),
        ("ARS 2-1 CHE", ["number 2-1 2-1 score"]),
        ("ARS2-1 CHE", ["number 2-1 2-1 score"]),
        ("ARS O-1CHE", ["number O-1 0-1 score"]),
        ("an O-1 visa", ["number 1 1 plain"]),
        ("2 \u2013 1, 3:2", ["number 2 \u2013 1 2-1 score", "number 3:2 3-2 score"]),
        ("63:07 and 63'", ["number 63:07 63:07 clock", "number 63' 63 clock"]),
        ("+4:22", ["number +4:22 +4:22 clock"]),
        ("45:00 +2:13 90+3\u2019", ["number 45:00 +2:13 45:00+2:13 clock", "number 90+3\u2019 90+3 clock"]),
        ("4-4-2", ["number 4 4 plain", "number 4 4 plain", "number 2 2 plain"]),
        ("Attendance 48,210", ["number 48,210 48210 plain"]),
        ("12 000 fans", ["number 12 000 12000 plain"]),
        ("€50m", ["number €50m 50000000 EUR currency"]),
        ("1.234,50 €", ["number 1.234,50 € 1234.5 EUR currency"]),
        ("1,234.50 EUR", ["number 1,234.50 EUR 1234.5 EUR currency"]),
        ("120 km/h 50%", ["number 120 km/h 120 km/h unit", "number 50% 50 % unit"]),
        ("\u0663-\u0662", ["number \u0663-\u0662 3-2 score"]),
        ("\u0664\u0665:\u0660\u0660", ["number \u0664\u0665:\u0660\u0660 45:00 clock"]),
        ("Mane10 v2", []),
        ("-4°C", ["number -4°C -4 °c unit"]),
        ("Minsk \u22124 °C, wind 3 m/s", ["number \u22124 °C -4 °c unit", "number 3 m/s 3 m/s unit"]),
        ("\u20134°C", ["number \u20134°C -4 °c unit"]),
        ("-4\u2103 \uff0d4\u2109", ["number -4\u2103 -4 °c unit", "number \uff0d4\u2109 -4 °f unit"]),
        ("-4\u00ba C, 5\u00baf", ["number -4\u00ba C -4 °c unit", "number 5\u00baf 5 °f unit"]),
        ("4° C 45°", ["number 4° C 4 °c unit", "number 45° 45 ° unit"]),
        ("Net spend -€5m, $-3 (\u22122 EUR)", [
            "number -€5m -5000000 EUR currency", "number $-3 -3 USD currency", "number \u22122 EUR -2 EUR currency",
        ]),
        ("-$-3", ["number -$-3 -3 USD currency"]),
        ("10k€ $1.5k", ["number 10k€ 10000 EUR currency", "number $1.5k 1500 USD currency"]),
        ("GD -12", ["number -12 -12 plain"]),
        ("(-3)", ["number -3 -3 plain"]),
        ("-0", ["number -0 0 plain"]),
        ("F-16", ["number 16 16 plain"]),
        ("10k fans, 3.5 million, 2bn", [
            "number 10k 10000 plain", "number 3.5 million 3500000 plain", "number 2bn 2000000000 plain",
        ]),
        ("100m 10K", ["number 100m 100 m unit", "number 10K 10000 plain"]),
        ("+10m", ["number 10m 10 m unit"]),
        ("50%-60%", ["number 50% 50 % unit", "number 60% 60 % unit"]),
        ("Call +44 20 7946 0958 now", []),
        ("+44 (0)20 7946 0958", []),
        ("0044 20 7946 0958", []),
        ("020 7946 0958", []),
        ("07911123456", []),
        ("030/1234567 at 20:45", ["number 20:45 20:45 clock"]),
        ("(555) 123-4567", []),
        ("1-800-555-0199", []),
        ("555.123.4567", []),
        ("1 800 555 0199", []),
        ("Tel: 555 0199, Tel. 45 67 89 01", []),
        ("Call 42 or call 10 000", ["number 42 42 plain", "number 10 000 10000 plain"]),
        ("555-0199", []),
        ("+1 000 000", ["number +1 000 000 1000000 plain"]),
        ("1 000 000 000", ["number 1 000 000 000 1000000000 plain"]),
        ("+3", ["number +3 3 plain"]),
        ("0:0 HT 0-0", ["number 0:0 0-0 score", "number 0-0 0-0 score"]),
    ],
)  # fmt: skip
def test_what_a_text_speaks_of(text: str, expected: list[str]) -> None:
    found = find_entities(text)
    told = [f"{each.type} {each.value} {each.normalized_value}{f' {each.kind}' if each.kind else ''}" for each in found]
    assert told == expected


@given(st.text(max_size=60) | st.text(alphabet="@#/:.-+'a1 €%\u200d", max_size=60))
def test_they_stand_in_the_text_and_never_overlap(text: str) -> None:
    end = 0
    for entity in find_entities(text):
        assert entity.start >= end
        end = entity.start + len(entity.value)
        assert text[entity.start : end] == entity.value
        assert entity.normalized_value


@given(st.integers(0, 10**9), st.integers(0, 99))
def test_one_amount_has_one_value(whole: int, cents: int) -> None:
    english = f"{whole:,}.{cents:02}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert amount(f"{whole}.{cents:02}") == amount(english) == amount(german)


@given(st.integers(1, 999), st.lists(st.integers(100, 9999), min_size=3, max_size=3), st.sampled_from(" .-/"))
def test_no_part_of_an_international_telephone_number_is_a_number(
    country: int, groups: list[int], separator: str
) -> None:
    number = f"+{country} " + separator.join(map(str, groups))
    assert find_entities(f"Call {number} or 42") == find_entities(f"Call {'x' * len(number)} or 42")


@given(st.decimals(0, 999, places=1), st.sampled_from(["", " "]), st.sampled_from(["-", "\u2212"]))
def test_below_zero_is_below_zero(value: Decimal, space: str, sign: str) -> None:
    [warm], [cold] = find_entities(f"{value}{space}°C"), find_entities(f"{sign}{value}{space}°C")
    assert cold.normalized_value == (f"-{warm.normalized_value}" if value else warm.normalized_value)

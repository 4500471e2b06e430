from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from touchline.watch.discovery.rules import promotion
from touchline.watch.settings import DiscoverySettings

PHRASES = (*DiscoverySettings().promotion, "odds", "ad")
NAMES = ("K. Adeyemi", "Borussia", "BVB")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Adeyemi scored for Borussia? Odds boosted, sign up today", "odds boosted"),
        ("Ad\nAdeyemi wears these", "ad"),
        ("Adeyemi Borussia\nPromoted", "promoted"),
        ("Use code GOAL10 for Borussia shirts", "use code"),
        ("an ad for boots", "ad"),
        ("Adeyemi!!! What a finish, BVB 1-0", None),
        ("ADEYEMI ad", "ad"),
        ("The loads of goals in Trinidad, made by Madson", None),
        ("against all the oddsmakers", None),
        ("", None),
    ],
)
def test_adverts(text: str, found: str | None) -> None:
    assert promotion(text, PHRASES, NAMES) == found


@pytest.mark.parametrize("text", ["Ad", "Ad\nAd!", "Ad scores for Dunmoor", "AD AD AD"])
def test_a_player_who_is_called_ad_is_none(text: str) -> None:
    assert promotion(text, PHRASES, ["A. Ad", "Dunmoor"]) is None


@given(st.sampled_from(["Adeyemi", "Adams", "Radcliffe", "Adani", "Adler", "Bada", "Odds-Son"]), st.text(max_size=20))
@example("Adams", "ADS")  # a label no more, as soon as a name stands beside it
def test_a_name_is_never_an_advert(name: str, before: str) -> None:
    given_away = promotion(before, PHRASES, [name])
    assert promotion(f"{before}\n{name}", PHRASES, [name]) == given_away
    assert given_away or promotion(f"{before} {name}", PHRASES, [name]) is None

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from touchline.watch.aliases.rules import AliasTeam, Place, TeamDetails, WikidataItem
from touchline.watch.aliases.wikidata import choose, facts_of, hit_ids, items, place_of, search_terms

FOOTBALL, BASKETBALL = frozenset({"Q2736"}), frozenset({"Q5372"})
CLUB_KIND, NATIONAL_KIND = frozenset({"Q476028"}), frozenset({"Q6979593"})
PLACES = {
    "Q145": Place(frozenset({"united kingdom", "uk"})),
    "Q77": Place(frozenset({"uruguay"})),
    "Q30": Place(frozenset({"united states of america", "usa"})),
    "Q24826": Place(frozenset({"liverpool"})),
    "Q1335": Place(frozenset({"montevideo"})),
}
ENGLISH = WikidataItem(
    "Q1130849", "Liverpool F.C.", "association football club in Liverpool, England", ("Liverpool", "Reds"),
    CLUB_KIND, FOOTBALL, ("Q145",), ("Q24826",),
)  # fmt: skip
URUGUAYAN = WikidataItem(
    "Q1000", "Liverpool F.C. (Montevideo)", "football club in Uruguay", ("Liverpool",), CLUB_KIND, FOOTBALL, ("Q77",),
    ("Q1335",),
)  # fmt: skip
CITY = WikidataItem("Q24826", "Liverpool", "city in England", kinds=frozenset({"Q515"}), countries=("Q145",))
WOMEN = replace(ENGLISH, id="Q2", label="Liverpool F.C. Women", description="women's football club in Liverpool")
BASKET = replace(ENGLISH, id="Q3", description="basketball club in Liverpool", sports=BASKETBALL)
YOUTH = replace(ENGLISH, id="Q4", label="Liverpool F.C. Under-21s", description="youth football team of Liverpool")
SEASON = replace(ENGLISH, id="Q5", description="season of football team", kinds=frozenset({"Q26887310"}))
NAMESAKES = [CITY, WOMEN, BASKET, YOUTH, SEASON, URUGUAYAN, ENGLISH]
LIVERPOOL = AliasTeam(40, "Liverpool", TeamDetails(national=False, country="England", city="Liverpool"))
USA = AliasTeam(2384, "USA", TeamDetails(national=True, country="USA"))
US_TEAM = WikidataItem(
    "Q164134", "United States men's national soccer team", "men's national association football team",
    ("USMNT", "USA"), NATIONAL_KIND, FOOTBALL, ("Q30",),
)  # fmt: skip


def test_the_club_among_its_namesakes() -> None:
    assert choose(NAMESAKES, LIVERPOOL, PLACES) == ENGLISH
    elsewhere = replace(LIVERPOOL, facts=TeamDetails(national=False, country="Uruguay", city="Montevideo"))
    assert choose(NAMESAKES, elsewhere, PLACES) == URUGUAYAN


@given(st.permutations(NAMESAKES))
def test_the_order_of_the_hits_does_not_decide(hits: list[WikidataItem]) -> None:
    assert choose(hits, LIVERPOOL, PLACES) == ENGLISH


@pytest.mark.parametrize("item", [CITY, WOMEN, BASKET, YOUTH, SEASON, URUGUAYAN, US_TEAM])
def test_nothing_is_better_than_another_team(item: WikidataItem) -> None:
    assert choose([item], LIVERPOOL, PLACES) is None


def test_without_facts_the_name_decides() -> None:
    unknown = replace(LIVERPOOL, facts=TeamDetails(national=False))
    assert choose(NAMESAKES, unknown, PLACES) in (ENGLISH, URUGUAYAN)
    assert choose([ENGLISH], LIVERPOOL, {}) == ENGLISH


def test_a_national_team() -> None:
    women = replace(US_TEAM, id="Q6", label="United States women's national soccer team")
    assert choose([women, ENGLISH, US_TEAM], USA, PLACES) == US_TEAM
    assert search_terms(USA)[0] == "USA national football team"


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("CD Puerto Viejo", ["CD Puerto Viejo", "CD Puerto Viejo FC", "FC CD Puerto Viejo", "Puerto Viejo"]),
        ("1. FC Brückstadt", ["1. FC Brückstadt", "1. FC Brückstadt FC", "FC 1. FC Brückstadt", "Brückstadt"]),
        ("PSG", ["PSG", "PSG FC", "FC PSG"]),
    ],
)
def test_search_terms_of_a_club(name: str, terms: list[str]) -> None:
    assert search_terms(replace(LIVERPOOL, name=name)) == terms


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["search", "entities", "id", "labels", "aliases", "claims", "P31", "en", "value", "mainsnak",
                         "datavalue", "descriptions", "team", "venue", "country", "city", "Q1"]), inner),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=40)
@given(json_values)
def test_odd_documents_give_less_and_break_nothing(document: object) -> None:
    assert all(each.startswith("Q") for each in hit_ids(document))
    for item in items(document).values():
        place_of(item)
    facts = facts_of(document)
    assert isinstance(facts.national, bool)
    assert facts.country is None or isinstance(facts.country, str)

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from touchline.watch.aliases.rules import (
    AliasTeam,
    TeamDetails,
    is_nationality,
    made_by_rules,
    nationalities_of,
    own_words,
    taken,
    words_of_names,
)
from touchline.watch.words import tokens

CLUB = AliasTeam(70201, "Atlético Ribera", TeamDetails(national=False, country="Spain", city="Ribera del Sol"))
MALI = AliasTeam(1500, "Mali", TeamDetails(national=True, country="Mali", city="Bamako"))
FOUND = ["Atlético", "Ribera", "Atleti", "Ribereños", "ATR"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["Northport", "Northport FC", "The Dockers", "NFC", "N"], ["Northport", "Dockers", "NFC"]),
        (["1. FC Brückstadt", "Effzeh", "FCB 1912", "U21"], ["Brückstadt", "Effzeh", "FCB"]),
        (["VfB Ostertal", "VfB", "Sporting Cantabral"], ["Ostertal", "VfB", "Cantabral"]),
        (["O'Higgins Fútbol Club"], ["Higgins"]),
        (["Зенит", "Zenit", "ゼニト"], ["Zenit"]),
        (["Atlético", "ATLETICO", "Atletico Madrid"], ["Atlético", "Madrid"]),
        (["Deportivo de La Coruña"], ["Deportivo", "Coruña"]),
        (["Amigos de Kang-In", "Min-jae XI"], ["Amigos", "Kang", "XI"]),
        (["Al-Nassr", "Bir-el-Sol", "PSG-Fans"], ["Nassr", "PSG", "Fans"]),
        ([], []),
    ],
)
def test_words_of_names(names: list[str], words: list[str]) -> None:
    assert words_of_names(names) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("AC Valdoro", ["Valdoro"]),
        ("Kingsfold City", ["Kingsfold", "City"]),
        ("FC", ["FC"]),
        ("Al-Nassr", ["Nassr"]),
        ("Ham-Kam", ["Ham", "Kam"]),
        ("1860", ["1860"]),
        ("???", ["???"]),
    ],
)
def test_a_name_always_gives_words(name: str, words: list[str]) -> None:
    assert own_words(replace(CLUB, name=name)) == words


@pytest.mark.parametrize(
    ("case", "answer", "words"),
    [
        ("as asked", {"words": ["Atleti", "ATR", "Ribera"]}, ("Atleti", "ATR", "Ribera")),
        ("a bare list", ["atleti", "Ribera"], ("Atleti", "Ribera")),
        ("in our spelling", {"words": ["RIBERENOS", "atletico"]}, ("Ribereños", "Atlético")),
        ("an object of words", {"1": "Atleti", "2": "Ribera"}, ("Atleti", "Ribera")),
        ("a list in a string", {"words": '["ATLETI", "RIBERA"]'}, ("Atleti", "Ribera")),
        ("invented ones are left out", {"words": ["The Invincibles", "Atleti", "XYZ"]}, ("Atleti", "Atlético")),
        ("only invented ones", {"words": ["Galácticos del Norte", "XYZ"]}, ()),
        ("other types", {"words": [1, None, {"a": True}, ["Atleti"]]}, ("Atleti", "Atlético")),
        ("nothing", {"words": []}, ()),
        ("a number", 7, ()),
        ("no nationality for a club", {"words": ["Spanish", "Atleti"]}, ("Atleti", "Atlético")),
        ("twice the same", {"words": ["Atleti", "ATLETI", "Ribera"]}, ("Atleti", "Ribera")),
    ],
)
def test_what_is_taken_of_an_answer(case: str, answer: Any, words: tuple[str, ...]) -> None:
    got = taken(answer, CLUB, FOUND, 5)
    assert got[: len(words)] == words, case
    assert len(got) <= len(words) + 1, case


def test_a_national_team_has_its_people() -> None:
    assert taken({"words": ["Aigles", "malian"]}, MALI, ["Mali", "Aigles"], 5) == ("Aigles", "Malian", "Mali")
    assert taken({"words": ["Aigles", "French"]}, MALI, ["Mali", "Aigles"], 5) == ("Aigles", "Malian", "Mali")
    assert made_by_rules(MALI, [], 5) == ("Mali", "Malian")


def test_without_a_model_rules_choose() -> None:
    assert made_by_rules(CLUB, FOUND, 5) == ("Atlético", "Ribera", "ATR", "Atleti", "Ribereños")
    assert made_by_rules(CLUB, [], 5) == ("Atlético", "Ribera")
    assert made_by_rules(CLUB, FOUND, 1) == ("Atlético",)


@pytest.mark.parametrize(
    ("word", "country", "fits"),
    [
        ("Belgian", "Belgium", True),
        ("belgian", "Belgium", True),
        ("Dutch", "Netherlands", True),
        ("Korean", "South-Korea", True),
        ("French", "Belgium", False),
        ("Belgians rule", "Belgium", False),
        ("Fijian", "Fiji", True),
        ("Fiji", "Fiji", False),
        ("Anything", "", False),
    ],
)
def test_nationalities(word: str, country: str, fits: bool) -> None:
    assert is_nationality(word, country) is fits


def test_the_list_of_nationalities_is_read_whole() -> None:
    assert nationalities_of("Cape Verde") == ("Cape-Verdean",)
    assert nationalities_of("Argentina") == ("Argentine", "Argentinian")
    assert nationalities_of("Atlantis") == ()


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(FOUND),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=40)
@given(anything, st.integers(1, 10))
def test_whatever_a_model_says_only_found_words_are_taken(answer: Any, most: int) -> None:
    got = taken(answer, CLUB, FOUND, most)
    assert len(got) <= most
    assert len({tokens(word) for word in got}) == len(got)
    assert {*got} <= {*FOUND, *own_words(CLUB)}


@settings(max_examples=40)
@given(st.text(min_size=1), st.lists(st.text()), st.integers(1, 10))
def test_rules_always_give_some_words(name: str, names: list[str], most: int) -> None:
    words = made_by_rules(replace(CLUB, name=name), words_of_names(names), most)
    assert 1 <= len(words) <= most

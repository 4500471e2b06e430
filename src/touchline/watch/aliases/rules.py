"""Which words may stand for a team, and which of them are taken. Pure.

Invariant: a word that is taken was found, is made of the team's name, or is what the people of its country are called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, cast

from touchline.watch.words import SHORT, compounds, fold, is_short, tokens

# What is known of a team, what Wikidata knows of what bears its name, and the words that come of it.


@dataclass(frozen=True, slots=True)
class TeamDetails:
    """Of a team, as the feed tells them."""

    national: bool
    country: str | None = None
    city: str | None = None


class TeamSource(Protocol):
    """What aliases ask of the feed."""

    async def team(self, team_id: int) -> Mapping[str, Any] | None:
        """The feed's document, `{team: {national, country}, venue: {city}}`; None: it knows no such team.

        Raises Unavailable when it cannot say.
        """
        ...


@dataclass(frozen=True, slots=True)
class AliasTeam:
    id: int
    name: str
    facts: TeamDetails


@dataclass(frozen=True, slots=True)
class Place:
    """A country or a city, by all its names."""

    names: frozenset[str]  # folded, without case


@dataclass(frozen=True, slots=True)
class WikidataItem:
    """What Wikidata has of something: ids of what it is, plays and lies in, and its names."""

    id: str
    label: str
    description: str = ""
    names: tuple[str, ...] = ()  # labels and aliases, in any language
    kinds: frozenset[str] = frozenset()
    sports: frozenset[str] = frozenset()
    countries: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CachedAliases:
    """What the table has of a team. Nothing found, or only what is over its time: `found` is false."""

    found: bool
    words: list[str] = field(default_factory=list[str])
    source: str = ""
    national: bool = False
    country: str | None = None
    city: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """New words for a team. With `expires_at` nobody who knows better was there."""

    team: AliasTeam
    words: tuple[str, ...]
    source: str  # model or rules
    item: str | None
    made_at: datetime
    expires_at: datetime | None


# Words that tell no team from another, in the languages that names come in. Folded, without case.

_JUNK = """
fc cf afc club clube clubs football futbol futebol calcio fussball fotball foot soccer association associazione
asociacion sportiva societa societe sport sports sportverein verein fussballverein ballspielverein national nationale
nacional nationalmannschaft fussballnationalmannschaft selection team teams equipe equipo squadra
men mens man women womens woman ladies frauen femenino feminine feminin feminino femminile youth reserves reserve
academy under the of and for in on at de del della delle dei di da do dos das du des der die den dem von van und et la
le les el los las il lo gli al an ev limited ltd plc sa sad spa gmbh inc
"""
# What completes longer names, and is sometimes one by itself.
_AFFIXES = """
sc ac as ss ssc us sv vfb vfl tsg tsv rb ud cd rc rcd ogc sd bsc fk sk nk if bk ff ifk aik kv kaa ec ca cfc sporting
mannschaft seleccion nazionale
"""
# In descriptions of what shares a name with a men's football team.
_OTHER_TEAMS = """
women womens woman ladies female feminine basketball handball futsal volleyball rugby hockey baseball beach esports
youth junior u17 u18 u19 u20 u21 u23 under reserve reserves academy season amateur
"""
JUNK = frozenset(_JUNK.split())
AFFIXES = frozenset(_AFFIXES.split())
OTHER_TEAMS = frozenset(_OTHER_TEAMS.split())


# What the people of a country are called in English: the one kind of word that is right although nobody offered it.

_LIST = """
Albania Albanian | Algeria Algerian | Angola Angolan | Argentina Argentine Argentinian | Armenia Armenian
Australia Australian | Austria Austrian | Azerbaijan Azerbaijani | Belarus Belarusian | Belgium Belgian
Benin Beninese | Bolivia Bolivian | Bosnia Bosnian | Brazil Brazilian | Bulgaria Bulgarian
Burkina-Faso Burkinabe | Cameroon Cameroonian | Canada Canadian | Cape-Verde Cape-Verdean | Chile Chilean
China Chinese | Colombia Colombian | Congo Congolese | Congo-DR Congolese | Costa-Rica Costa-Rican
Croatia Croatian Croat | Cuba Cuban | Cyprus Cypriot | Czech-Republic Czech | Czechia Czech | DR-Congo Congolese
Denmark Danish | Ecuador Ecuadorian | Egypt Egyptian | El-Salvador Salvadoran | England English
Estonia Estonian | Ethiopia Ethiopian | Finland Finnish | France French | Gabon Gabonese | Gambia Gambian
Georgia Georgian | Germany German | Ghana Ghanaian | Greece Greek | Guatemala Guatemalan | Guinea Guinean
Haiti Haitian | Honduras Honduran | Hungary Hungarian | Iceland Icelandic | India Indian | Indonesia Indonesian
Iran Iranian | Iraq Iraqi | Ireland Irish | Israel Israeli | Italy Italian | Ivory-Coast Ivorian
Jamaica Jamaican | Japan Japanese | Jordan Jordanian | Kazakhstan Kazakh | Kenya Kenyan | Korea-Republic Korean
Kosovo Kosovan | Kuwait Kuwaiti | Latvia Latvian | Lebanon Lebanese | Libya Libyan | Lithuania Lithuanian
Luxembourg Luxembourgish | Mali Malian | Malta Maltese | Mauritania Mauritanian | Mexico Mexican
Moldova Moldovan | Montenegro Montenegrin | Morocco Moroccan | Mozambique Mozambican | Namibia Namibian
Netherlands Dutch | New-Zealand Kiwi | Niger Nigerien | Nigeria Nigerian | North-Macedonia Macedonian
Northern-Ireland Irish | Norway Norwegian | Oman Omani | Panama Panamanian | Paraguay Paraguayan | Peru Peruvian
Poland Polish | Portugal Portuguese | Qatar Qatari | Republic-of-Ireland Irish | Romania Romanian
Russia Russian | Saudi-Arabia Saudi | Scotland Scottish | Senegal Senegalese | Serbia Serbian
Sierra-Leone Sierra-Leonean | Slovakia Slovak | Slovenia Slovenian Slovene | South-Africa South-African
South-Korea Korean | Spain Spanish | Sudan Sudanese | Sweden Swedish | Switzerland Swiss | Syria Syrian
Tanzania Tanzanian | Togo Togolese | Tunisia Tunisian | Turkey Turkish | Turkiye Turkish | USA American
Uganda Ugandan | Ukraine Ukrainian | United-States American | Uruguay Uruguayan | Uzbekistan Uzbek
Venezuela Venezuelan | Vietnam Vietnamese | Wales Welsh | Zambia Zambian | Zimbabwe Zimbabwean
"""
ENDINGS = ("an", "ian", "ish", "ese", "i", "ic", "ch", "nian", "ne", "er", "ois")
SHARED_LETTERS = 3


def _read() -> dict[tuple[str, ...], tuple[str, ...]]:
    lines = (line.split() for part in _LIST.splitlines() for line in part.split("|") if line.strip())
    return {tokens(country): tuple(people) for country, *people in lines}


NATIONALITIES = _read()


def nationalities_of(country: str) -> tuple[str, ...]:
    """The usual one first; nothing for a country that is not in the list."""
    return NATIONALITIES.get(tokens(country), ())


def is_nationality(word: str, country: str) -> bool:
    """Whether a word that nobody offered can be let through for this country."""
    written, named = tokens(word), tokens(country)
    if len(written) != 1 or not named:
        return False
    if known := nationalities_of(country):
        return written[0] in {part for people in known for part in tokens(people)}
    begins = written[0][:SHARED_LETTERS] == named[-1][:SHARED_LETTERS]
    return begins and written[0] != named[-1] and written[0].endswith(ENDINGS)


SHORTEST, LONGEST = 2, 20
MOST_OFFERED = 60  # a model's attention, and our prompt, are limited
_PIECES = re.compile(r"[^\W_]+")


def words_of_names(names: Iterable[str]) -> list[str]:
    """Single words, the more often met first, each in the spelling that was met first."""
    spelt = dict[str, str]()
    counted = Counter[str]()
    for name in names:
        pieces = _pieces(name)
        for word in pieces:
            if is_usable(word, alone=len(pieces) == 1):
                spelt.setdefault(_key(word), word)
                counted[_key(word)] += 1
    return [spelt[key] for key, _ in counted.most_common(MOST_OFFERED)]


def _pieces(name: str) -> list[str]:
    """Without what only completes a longer word, as `Al` in `Al-Nassr` or `In` in `Kang-In`. Codes are in capitals."""
    return [
        piece
        for compound in compounds(name)
        for piece in compound
        if len(compound) == 1 or not is_short(fold(piece)) or (piece.isupper() and len(piece) == SHORT)
    ]


def is_usable(word: str, *, alone: bool = False) -> bool:
    """What only completes longer names may be a name by itself: people do say VfB, or Sporting."""
    folded = fold(word)
    is_plain = SHORTEST <= len(word) <= LONGEST and folded.isascii() and folded.isalpha()
    return is_plain and folded.casefold() not in JUNK and (alone or folded.casefold() not in AFFIXES)


def own_words(team: AliasTeam) -> list[str]:
    """What the name itself gives: never nothing."""
    words = [word for word in _pieces(team.name) if is_usable(word)]
    return list({_key(word): word for word in words or _PIECES.findall(team.name) or [team.name]}.values())


def people_of(team: AliasTeam) -> tuple[str, ...]:
    """For a national team: what its people are called."""
    return nationalities_of(team.facts.country or team.name) if team.facts.national else ()


def made_by_rules(team: AliasTeam, found: Sequence[str], most: int) -> tuple[str, ...]:
    """The name's own words, what its people are called, codes, then what is met most often."""
    codes = [word for word in found if _is_code(word)]
    return _first([*own_words(team), *people_of(team), *codes, *found], most)


def taken(answer: Any, team: AliasTeam, found: Sequence[str], most: int) -> tuple[str, ...]:
    """What of a model's answer may be used, in our spelling; nothing when it invented everything.

    The longest word of the team's own name is always among them: whoever has no nickname for a team writes that.
    """
    offered = {_key(word): word for word in (*own_words(team), *found)}
    chosen = [word for each in _strings(answer) if (word := _known(each, offered, team))]
    if not chosen:
        return ()
    own = max(own_words(team), key=len)
    kept = _first([*chosen, *people_of(team)], most)
    return kept if _key(own) in map(_key, kept) else _first([*kept[: most - 1], own], most)


def _known(text: str, offered: dict[str, str], team: AliasTeam) -> str | None:
    if word := offered.get(_key(text)):
        return word
    if team.facts.national and is_nationality(text, team.facts.country or team.name):
        return text.strip().capitalize()
    return None


def _strings(answer: Any) -> list[str]:
    """Words, however they were packed: a list, a list in an object, one in a string, an object of words."""
    if isinstance(answer, str):
        return re.findall(r"[^\s,;\[\]\"]+", answer)
    if isinstance(answer, dict):
        answer = list(cast("dict[str, Any]", answer).values())
    if not isinstance(answer, list):
        return []
    return [word for each in cast("list[Any]", answer) for word in ([each] if _is_word(each) else _strings(each))]


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and not any(mark in value for mark in '[",;')


def _is_code(word: str) -> bool:
    return word.isupper() and len(word) <= 5


def _first(words: Iterable[str], most: int) -> tuple[str, ...]:
    unique = dict[str, str]()
    for word in words:
        unique.setdefault(_key(word), word)
    return tuple(list(unique.values())[:most])


def _key(word: str) -> str:
    return "".join(tokens(word))

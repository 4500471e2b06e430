"""Who can play: leagues, teams and squads, the same on every day, and the search for those that a script names.

Clubs are invented, in leagues that exist; national teams are those of real countries. Invariant: ids, codes and
aliases never change with a day's seed, so that a script can name them. The second leagues come after the first: what
is drawn by a club's place does not change. A name that fits nobody, or several, is an error that lists close ones.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cache
from random import Random

from touchline.kernel import InvalidInput
from touchline_world.videos.model import Colour

from .model import League, Player, Team
from .script import Match, MatchSide
from .values import seeded_random

COLOURS: dict[str, Colour] = {
    "red": (200, 16, 46),
    "blue": (20, 70, 190),
    "navy": (12, 24, 70),
    "sky": (110, 180, 230),
    "white": (245, 245, 245),
    "black": (20, 20, 22),
    "grey": (150, 152, 158),
    "yellow": (250, 210, 20),
    "green": (10, 120, 60),
    "orange": (240, 110, 20),
    "claret": (110, 20, 50),
    "purple": (90, 30, 140),
    "amber": (245, 165, 20),
    "mint": (90, 200, 160),
    "pink": (235, 140, 170),
    "brown": (110, 70, 40),
}
FIRST_LEAGUES = (
    (39, "Premier League", "England"),
    (140, "La Liga", "Spain"),
    (78, "Bundesliga", "Germany"),
    (135, "Serie A", "Italy"),
    (61, "Ligue 1", "France"),
    (10, "Friendlies", "World"),
)
NATIONAL = 10

CLUBS = {
    39: """
70101 | Harrowmere Rovers | HAR | Harrowmere | Mill Lane | 1884 | red | white | Rovers, HRFC, Millers
70102 | Kingsfold City | KIN | Kingsfold | Castle Park | 1891 | sky | white | City, Citizens, KCFC
70103 | Stowbridge United | STU | Stowbridge | The Locks | 1878 | claret | sky | SUFC, Utd, Bargemen
70104 | Ashcombe Albion | ASH | Ashcombe | Weavers Road | 1899 | blue | blue | Albion, Seagulls, AAFC
70105 | Dunmoor Athletic | DUN | Dunmoor | Peat Street | 1902 | amber | black | Athletic, Latics, DAFC
70106 | Port Ellery | PEL | Port Ellery | Harbour Ground | 1888 | navy | white | Ellery, Dockers, PEFC
70107 | Wexley Wanderers | WEX | Wexley | Foundry End | 1877 | orange | black | Wanderers, WWFC, Foxes
70108 | Northgate Forest | NOR | Northgate | Elm Ground | 1865 | green | white | Forest, NGFC, Garibaldis
""",
    140: """
70201 | Atlético Ribera | ATR | Ribera del Sol | Campo del Río | 1909 | red | blue | Atleti, Ribereños, ATR
70202 | Real Montaraz | RMO | Montaraz | Nuevo Encinar | 1905 | white | white | Montaraz, Merengues, RMCF
70203 | CD Puerto Viejo | CPV | Puerto Viejo | El Muelle | 1922 | yellow | blue | Puerto, Submarino, CDPV
70204 | UD Almenara | UDA | Almenara | La Torre | 1934 | green | white | Almenara, Torreros, UDA
70205 | Sporting Cantabral | SPC | Cantabral | Los Prados | 1911 | green | black | Sporting, Cantabral, Racing
70206 | Celta de Oruña | CEO | Oruña | Balcón del Mar | 1919 | sky | white | Celta, Celestes, Oruña
70207 | RCD Peñablanca | RCP | Peñablanca | Son Peña | 1916 | purple | white | Peñablanca, RCDP, Bermellones
""",
    78: """
70301 | SV Grünwalde | SVG | Grünwalde | Waldstadion | 1907 | green | white | Grünwalde, SVG, Waldkicker
70302 | Borussia Eisenach-Süd | BES | Eisenach | Hammerpark | 1909 | yellow | black | Borussia, BES, Hämmer
70303 | FC Rheinhafen 04 | RHE | Rheinhafen | Kranstadion | 1904 | blue | white | Rheinhafen, FCR, Knappen
70304 | TSG Weißenfels | TSG | Weißenfels | Schlossarena | 1899 | white | black | Weißenfels, TSG, Schwäne
70305 | Eintracht Löwenburg | ELO | Löwenburg | Löwenarena | 1900 | red | black | Eintracht, Löwen, SGE04
70306 | VfB Ostertal | VFB | Ostertal | Neckarkurve | 1893 | white | red | Ostertal, VfB, Schwaben
70307 | 1. FC Brückstadt | FCB | Brückstadt | Dombogen | 1912 | claret | claret | Brückstadt, Effzeh, FCB
""",
    135: """
70401 | AC Valdoro | VAL | Valdoro | Stadio delle Vigne | 1908 | claret | white | Valdoro, Vignaioli, ACV
70402 | Internapoli 1926 | INT | Internapoli | San Gennaro | 1926 | sky | white | Internapoli, Partenopei, INP
70403 | Juventina Calcio | JUV | Torrechiara | Stadio Alpino | 1897 | black | white | Juventina, Zebre, JUVC
70404 | US Lagoscuro | LAG | Lagoscuro | Riva Nera | 1913 | navy | black | Lagoscuro, Pescatori, USL
70405 | Fiorana | FIO | Fiorana | Campo dei Gigli | 1926 | purple | purple | Fiorana, Viola, Gigliati
70406 | Romagnola Calcio | ROM | Romagnola | Stadio dei Mosaici | 1921 | yellow | red | Romagnola, Lupi, ROMC
70407 | Sampiero | SAM | Sampiero | Lanterna | 1946 | blue | white | Sampiero, Blucerchiati, UCS
""",
    61: """
70501 | Olympique Saint-Aubin | OSA | Saint-Aubin | Vélodrome du Port | 1899 | white | sky | OSA, Phocéens, Aubin
70502 | Racing Belcourt | RBC | Belcourt | Parc des Tilleuls | 1904 | sky | white | Racing, Belcourt, RBC
70503 | AS Montferrand-les-Bains | ASM | Montferrand | Stade Thermal | 1924 | red | white | Montferrand, ASM, Thermaux
70504 | FC Landeronne | FCL | Landeronne | La Beaujoire Verte | 1943 | yellow | green | Landeronne, Canaris, FCL
70505 | Stade Clairvaux | STC | Clairvaux | Auguste-Morel | 1910 | red | red | Clairvaux, Rémois, SDC
70506 | LOSC Hautmont | LOH | Hautmont | Pierre-Blanche | 1944 | claret | navy | Hautmont, Dogues, LOSC
70507 | OGC Villefranque | OGV | Villefranque | Baie des Anges | 1904 | black | red | Villefranque, Aiglons, OGCV
""",
    10: """
10 | England | ENG | London | National Stadium | 1863 | white | navy | England, English, ThreeLions
2 | France | FRA | Saint-Denis | Grand Stade | 1919 | blue | white | France, French, Bleus
9 | Spain | ESP | Madrid | Estadio Nacional | 1909 | red | blue | Spain, Spanish, España
25 | Germany | GER | Berlin | Nationalstadion | 1900 | white | black | Germany, German, Mannschaft
6 | Brazil | BRA | Rio de Janeiro | Estádio Nacional | 1914 | yellow | blue | Brazil, Brazilian, Seleção
21 | Denmark | DEN | Copenhagen | Parken Nord | 1889 | red | white | Denmark, Danish, Danmark
24 | Poland | POL | Warsaw | Stadion Orła | 1919 | white | red | Poland, Polish, Polska
1500 | Mali | MLI | Bamako | Stade du Fleuve | 1960 | yellow | green | Mali, Malian, Aigles
""",
}


SECOND_LEAGUES = (
    (40, "Championship", "England"),
    (141, "Segunda División", "Spain"),
    (79, "2. Bundesliga", "Germany"),
    (136, "Serie B", "Italy"),
    (62, "Ligue 2", "France"),
)
TOWNS = {
    40: "Brackwell Corvedale Eddingham Fenwick Glaisdale Hexworth Ilminster Jarnfold Ludmere Marlbeck Oakhaven Quorley "
    "Ravenstoke Thornby Upwell Yarrowdon",
    141: "Alcoba Bernal Cedrillas Daimuz Encina Fuentealba Guadarroyo Higuera Jabares Lorcana Mirasierra Navalonga "
    "Olmeda Quintanar Tordera Zarzuela",
    79: "Altkirch Bergheide Calmbach Dornfeld Ebersau Finkenried Gollnow Hirschau Kaltenmoor Lindach Moorburg Neuhafen "
    "Pfalzen Quellbach Tannrode Zwingen",
    136: "Abbadia Brentana Castelvero Doganella Empolina Falconara Gallicano Isolabella Lucerana Montefosco Novarina "
    "Ortensia Pontelago Quarrata Terranera Vigevana",
    62: "Aubrac Boisfleury Chantereine Douvaine Estrelle Fontvieille Gravelin Hermeville Jonquières Lauzerte Mirebel "
    "Noirmont Orgeval Quimperlin Tourvelle Vauclair",
}
KINDS = {  # with the letter that tells them apart in a code
    40: (("Town", "T"), ("Rangers", "R")),
    141: (("CF", "F"), ("Deportivo", "D")),
    79: (("SC", "S"), ("Viktoria", "V")),
    136: (("Calcio", "C"), ("Virtus", "V")),
    62: (("FC", "F"), ("Étoile", "E")),
}
SHIRTS = ("red", "blue", "white", "yellow", "green", "orange", "claret", "purple", "navy", "sky", "amber", "black")
FIRST_ID = 71_000
FIRST_YEAR = 1899


def clubs(codes: set[str]) -> Iterator[tuple[int, str]]:
    """League and line of each, written as those of the first leagues are. `codes` are taken already."""
    for place, (league, _, _) in enumerate(SECOND_LEAGUES):
        names = [(town, kind, letter) for town in TOWNS[league].split() for kind, letter in KINDS[league]]
        for number, (town, kind, letter) in enumerate(names, 1):
            code = next(each for each in _codes(town, letter) if each not in codes)
            codes.add(code)
            shirt = SHIRTS[number % len(SHIRTS)]
            shorts = "black" if shirt == "white" else "white"
            founded, words = FIRST_YEAR + number, f"{town}, {code}, {town}{kind}"
            cells = (FIRST_ID + place * 100 + number, f"{town} {kind}", code, town, f"{town} Park", founded)
            yield league, " | ".join([*map(str, cells), shirt, shorts, words])


def _codes(town: str, letter: str) -> Iterator[str]:
    """Two letters of the town, the first of them its own, and that of the club."""
    yield from (f"{town[0]}{second}{letter}".upper() for second in town[1:])


GIVEN = {
    "England": "Jack Harry Callum Reece Tyrone Marcus Lewis Ollie Kieran Dominic Jude Mason Nathaniel Theo",
    "Spain": "Álvaro Íñigo Sergio Nico Jesús Martín Unai Óscar Iker Raúl Adrià Gonzalo Mikel Héctor",
    "Germany": "Jörg Lukas Maximilian Götz Felix Jannik Niklas Björn Kai Sebastian Timo Käthe-Luca Emre Jonas",
    "Italy": "Niccolò Matteo Federico Gianluca Andrea Domenico Leonardo Riccardo Mattia Davide Sandro Nicolò",
    "France": "Éloi Théo Loïc Jean-Clair Moussa Bafodé Hugo Aurélien Kévin Mathéo Rémy Amine Benoît Yacine",
    "Denmark": "Søren Mads Rasmus Jørgen Mikkel Emil Kasper Viktor Asger Øyvind Jesper Magnus",
    "Poland": "Łukasz Michał Paweł Wojciech Jakub Krzysztof Tomasz Mateusz Bartłomiej Kamil Przemysław Szymon",
    "Brazil": "João Thiago Caíque Luís Vinícius Edílson Márcio Wesley Éverton Antônio Gustavo Renan",
    "Mali": "Amadou Boubacar Sékou Moussa Cheick Yves Oumar Adama Lassana Mamadou Ibrahima Souleymane",
}
FAMILY = {
    "England": "Hargreave Pickersgill Ashdown O'Shaughnessy Blackwood Tunstall Adeyemi Whitlock Fairweather Okonjo "
    "Smith-Rowell Penhaligon Bramall Crossley Adams Thistlewood Haddon Okafor Radcliffe Quigley",
    "Spain": "Núñez Ibáñez Echeverría Muñoz Peñalver Zubizarra Cañete Aguirregomezcorta Ordóñez Villaseñor Garay "
    "Bermúdez Quiñones Yáñez Solórzano Ureña Lasarte Gálvez Peña Arrizabal",
    "Germany": "Weiß Großmann Müllender Strößner Schäffler Böckmann Hübscher Jäger-Lüth Vogelsang Adler Fußeder "
    "Österreich Krämpf Süßmilch Brüggemann Straußberg Löhner Eßwein Tölke Radermacher",
    "Italy": "D'Ambrosini Dell'Acqua Bellucci Adani Sant'Agata Marchegiani Cavalcanti Nicolò Rossigni Farò Zappalà "
    "Locatello Pellegatti Bonaventuri Colò Quagliarini Tonellato Perinù Bastianelli Ghirardò",
    "France": "N'Guémo Lefèvre Béraud Dembouya Saint-Maxent Évrard Lœuillet Traorélin Cissokho Peñarroya Hérault "
    "Mbappérin Rançon Aît-Kaci Dubœuf Koundéla Fekirat Thuramel Lacroisière Maïga",
    "Denmark": "Sørensen Kjærgaard Højlandt Nørgård Skov-Ålborg Bødker Thøgersen Ærø Lindstrøm Damsgaarden Bruun "
    "Vestergård Møller-Dæhli Østergård Krogh Friis",
    "Poland": "Świątkowski Błaszczyk Żółkiewski Łapiński Grzęda Szczęśniak Wójcicki Piątkowski Gołębiewski Źrebiec "
    "Król Dąbek Sadło Kowalewski Ćwiąkała Małecki",
    "Brazil": "Conceição Gonçalves Araújo Magalhães Assunção Brandão Falcão Simão Patrício Leitão Guimarães Sá "
    "Rebouças Ávila Frazão Camargo",
    "Mali": "Traoré Coulibaly Keïta Diarra Sissoko Doumbia Konaté Haïdara Sangaré Koné Dembélé Touré Bissouma Camara "
    "Kanouté Maïga",
}
ABROAD = ("Denmark", "Poland", "Brazil", "Mali")  # where clubs find the others

# By club: players that every day must be able to meet. One word, very long, initials alone, names inside names.
KNOWN: dict[int, tuple[str, ...]] = {
    70101: ("Mads Sørensen", "Karim Adeyemi-Cole", "Zezinho"),
    70102: ("Jonas Sørensen", "Tyrone Adams", "T. J. O'Connell-Drăgulescu"),
    70103: ("Đorđe Đukić", "Marcus Silva"),
    70104: ("Lukas Großschmidt", "Bruno Silva"),
    70105: ("Łukasz Wałęśniak", "Adrian Ad"),
    70106: ("Øystein Bjørnstad", "Son Min-jae"),
    70107: ("Xhemajl Ç. Hoxha", "Rodrygo"),
    70108: ("Nuno", "Jean-Philippe van der Westhuizen-Papadimitropoulos"),
    70201: ("Koke", "Íñigo Aguirregomezcorta"),
    70202: ("Vinícius Gonçalves", "Ñandú"),
    70203: ("Mohamed-Ali Ben Yedder", "José Luis Núñez"),
    70204: ("Pau", "Unai Núñez"),
    70301: ("Jörg Weiß", "Ümit Öztürkoğlu"),
    70302: ("Karim Adeyemi", "Niklas Süßmilch"),
    70303: ("Emre Çalhan", "Felix Weiß"),
    70305: ("Jean-Mattéo Bahoyane", "Đuro Bašić"),
    70401: ("Niccolò D'Ambrosini", "Mattia Rossi"),
    70402: ("Khvicha Kvaratskhelidze", "Paolo Rossi"),
    70403: ("Dušan Vlahovský", "Gleisson"),
    70501: ("Pierre-Emerick N'Guémo", "Amine Harîtî"),
    70502: ("Ángel di Mariano", "Loïc Béraud"),
    70503: ("Théo Béraud", "Wissam Ben-Youssef"),
    21: ("Rasmus Højlandt", "Mikkel Damsgaarden"),
    24: ("Łukasz Świątkowski", "Wojciech Szczęśniak"),
    6: ("Endrick", "Éverton Conceição"),
    1500: ("Boubacar Traoré", "Lassana Coulibaly"),
}


SQUAD, NATIONAL_SQUAD = 18, 14  # the longer one needs players from abroad
FIRST_ITEM = 8_650_000
ALL_LEAGUES = (*FIRST_LEAGUES, *SECOND_LEAGUES)


@dataclass(frozen=True, slots=True)
class Catalogue:
    teams: tuple[tuple[int, Team], ...]  # with the league
    squads: dict[int, tuple[Player, ...]]  # by team

    def league_of(self, team: Team) -> int:
        return next(league for league, each in self.teams if each.id == team.id)


@cache
def get_catalogue() -> Catalogue:
    first = [(league, row) for league, rows in CLUBS.items() for row in rows.strip().splitlines()]
    rows = [*first, *clubs({row.split("|")[2].strip() for _, row in first})]
    teams = tuple((league, _team(league, row, FIRST_ITEM + n)) for n, (league, row) in enumerate(rows, 1))
    return Catalogue(teams, {team.id: _squad(team, n) for n, (_, team) in enumerate(teams, 1)})


def season_of(day: date) -> int:
    """It begins in July."""
    return day.year - (day.month < 7)


def leagues(season: int) -> tuple[League, ...]:
    return tuple(League(league, name, country, season) for league, name, country in ALL_LEAGUES)


def _team(league: int, row: str, item: int) -> Team:
    number, name, code, city, venue, founded, shirt, shorts, called = (cell.strip() for cell in row.split("|"))
    is_national, words = league == NATIONAL, tuple(called.split(", "))
    country = name if is_national else next(country for each, _, country in ALL_LEAGUES if each == league)
    known = words if is_national or city in words else (*words, city.split()[0])
    colours = COLOURS[shirt], COLOURS[shorts]
    return Team(int(number), name, code, country, city, venue, int(founded), is_national, known, f"Q{item}", *colours)


def _squad(team: Team, number: int) -> tuple[Player, ...]:
    """The known players last: attackers, who score most."""
    known = KNOWN.get(team.id, ())
    size = NATIONAL_SQUAD if team.is_national else SQUAD
    names = [*_composed(team, size - len(known), {name.split()[-1] for name in known}), *known]
    return tuple(Player(400_000 + number * 100 + n, _short(name), name) for n, name in enumerate(names, 1))


def _composed(team: Team, many: int, taken: set[str]) -> list[str]:
    draw = seeded_random("squad", team.id)
    names: list[str] = []
    while len(names) < many:
        home = team.country if team.is_national or draw.random() < 0.7 else draw.choice(ABROAD)
        given, family = draw.choice(GIVEN[home].split()), draw.choice(FAMILY[home].split())
        if family not in taken:
            taken.add(family)
            names.append(f"{given} {family}")
    return names


def _short(name: str) -> str:
    """As the feed writes it: the first initial, then the rest."""
    given, _, family = name.partition(" ")
    return f"{given[0]}. {family}" if family else name


ATTACKERS = 8  # the last ones of a squad
STARTING = 11


@dataclass(frozen=True, slots=True)
class Sides:
    """Who plays whom."""

    home: Team
    away: Team
    squads: tuple[tuple[Player, ...], tuple[Player, ...]]

    def team(self, which: MatchSide) -> Team:
        return self.home if which is MatchSide.HOME else self.away

    def squad(self, which: MatchSide) -> tuple[Player, ...]:
        return self.squads[0 if which is MatchSide.HOME else 1]


def other_side(which: MatchSide) -> MatchSide:
    return MatchSide.AWAY if which is MatchSide.HOME else MatchSide.HOME


def find_sides(match: Match, field: str) -> Sides:
    home, away = find_team(match.home, f"{field}.home"), find_team(match.away, f"{field}.away")
    if home.id == away.id:
        raise InvalidInput(f"{home.name} cannot play itself", field=f"{field}.away", hint="Use another team.")
    squads = get_catalogue().squads
    return Sides(home, away, (squads[home.id], squads[away.id]))


def find_team(reference: str | int, field: str) -> Team:
    teams = [team for _, team in get_catalogue().teams]
    wanted = fold_accents(str(reference))
    for team in teams:
        if wanted in (str(team.id), fold_accents(team.name), fold_accents(team.code)):
            return team
    raise InvalidInput(
        f"there is no team {reference!r}",
        field=field,
        why=_suggestions(str(reference), [team.name for team in teams]),
        hint="Use a name, code or id of the catalogue: `touchline world teams` lists them.",
    )


def find_player(reference: str, squad: Sequence[Player], field: str) -> Player:
    wanted = fold_accents(reference)
    exact = [each for each in squad if wanted in (fold_accents(each.name), fold_accents(each.full_name), str(each.id))]
    found = exact or [each for each in squad if wanted in fold_accents(each.full_name).split()]
    if len(found) == 1:
        return found[0]
    raise InvalidInput(
        f"{'several players' if found else 'no player'} of the side match {reference!r}",
        field=field,
        why=_suggestions(reference, [player.full_name for player in found or squad]),
        hint="Write the full name. The player of an own goal belongs to the side that it counts against.",
    )


def any_attacker(draw: Random, squad: Sequence[Player], but: Iterable[Player] = ()) -> Player:
    unwanted = set(but)
    return draw.choice([player for player in squad[-ATTACKERS:] if player not in unwanted])


def fold_accents(text: str) -> str:
    plain = text.casefold().translate(str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"}))
    return "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))


def _suggestions(wanted: str, names: Sequence[str]) -> str:
    close = get_close_matches(wanted, names, n=3, cutoff=0.4)
    return f"these come close: {', '.join(close)}" if close else f"there are {', '.join(names[:6])} and others"

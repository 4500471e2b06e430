"""The second leagues: invented towns with two clubs each, so that a hundred matches can be played on one day.

Invariant: ids and codes are unlike those of the first leagues. They come behind them: what is drawn by the place of a
club in the catalogue does not change.
"""

from __future__ import annotations

from collections.abc import Iterator

LEAGUES = (
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
    for place, (league, _, _) in enumerate(LEAGUES):
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

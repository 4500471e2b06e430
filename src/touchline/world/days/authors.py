"""Who posts: clubs, fans, pages that live off goals, and those who pay for it."""

from __future__ import annotations

from random import Random

from .model import Author, Team
from .resolving import folded

FIRST = ("Mia", "Tom", "Nadia", "José", "Łucja", "Kofi", "Ingrid", "Marco", "Élodie", "Sam", "Zoë", "Björn", "Ayşe")
PAGES = ("GoalFactory", "FootyClips", "NetBusters", "TopBinz", "GolazoDaily", "EveryGoalHD")
BRANDS = ("BetNorth", "KickStream", "ShirtDepot", "SnackAttack")


def club(team: Team) -> Author:
    return Author(str(10_000_000 + team.id), team.name, f"{_plain(team.name)[:11]}_{team.code}", is_verified=True)


def fan(draw: Random, team: Team) -> Author:
    name, number = draw.choice(FIRST), draw.randrange(10_000_000, 99_999_999)
    return Author(
        f"14{number}00{team.id}", f"{name} ({team.words[0]})", f"{_plain(name)}{number % 10_000}", is_verified=False
    )


def page(draw: Random) -> Author:
    number = draw.randrange(len(PAGES))
    return Author(str(20_000_000 + number), PAGES[number], PAGES[number].lower(), is_verified=number % 2 == 0)


def brand(draw: Random) -> Author:
    number = draw.randrange(len(BRANDS))
    return Author(str(30_000_000 + number), BRANDS[number], BRANDS[number].lower(), is_verified=True)


def anyone(draw: Random, team: Team) -> Author:
    return page(draw) if draw.random() < 0.35 else fan(draw, team)


def _plain(name: str) -> str:
    return "".join(each for each in folded(name) if each.isascii() and each.isalnum())

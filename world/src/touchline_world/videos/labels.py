"""A labelled set: clips with copies of them, and what is true of each. Written by the maker; others measure with it.

Invariant: every string has the time from which to which it stands still, and its box in pixels of the clip.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from numpy.random import Generator, default_rng

from touchline_world.videos.drawing.paint import RATE, Text

from .copies import size_of
from .model import BugStyle, Colour, Copy, Look, Recipe, Side, Take, TakeKind, document_of
from .renderer import draw, make

FILE = "labels.json"
MATCHES, GOALS, LENGTH_MS = 3, 3, 8_000
STEP = 1000 // RATE
PLAIN = Copy(height=540, quality=23)
CHANGED: tuple[tuple[str, Copy], ...] = (
    ("rough", replace(PLAIN, height=360, quality=32)),
    ("small", replace(PLAIN, height=240)),
    ("logo", replace(PLAIN, height=360, logo="GOALZONE")),
    ("cut", replace(PLAIN, height=360, starts_ms=1_300, ends_ms=7_000)),
    ("letterbox", replace(PLAIN, height=360, bars_percent=10)),
    ("crop", replace(PLAIN, height=360, crop_percent=5)),
    ("bright", replace(PLAIN, height=360, brightness=28)),
    ("faster", replace(PLAIN, height=360, speed_percent=105)),
    ("mirrored", replace(PLAIN, height=360, is_mirrored=True)),
    ("filmed", replace(PLAIN, height=480, is_filmed=True)),
)
CLUBS = (
    ("Harbour Rovers", "HAR"),
    ("Valle Azul", "VAZ"),
    ("Nordby", "NOR"),
    ("Union Lindau", "LIN"),
    ("Aarberg", "AAR"),
)
SCORERS = ("Sorensen", "Mensah", "Novak", "Silva", "Ferrari", "Dahl", "Moreau", "Baker", "Amrani")
Progress = Callable[[int, int], None]


def write_labels(folder: Path, seed: int, report: Progress) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    sets = _sets(seed)
    clips: list[dict[str, Any]] = []
    for number, (name, take, copies) in enumerate(sets):
        recipes = [Recipe(take, PLAIN), *(Recipe(take, copy) for _, copy in copies)]
        make(recipes, folder)
        spans = _spans(take)
        for change, recipe in zip(("plain", *(change for change, _ in copies)), recipes, strict=True):
            clips.append(_clip(f"{name}-{change}", name, change, recipe, spans if change == "plain" else []))
            (folder / f"{recipe.key}.mp4").replace(folder / f"{name}-{change}.mp4")
        report(number + 1, len(sets))
    path = folder / FILE
    path.write_text(json.dumps({"seed": seed, "clips": clips}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def _clip(name: str, take: str, change: str, recipe: Recipe, texts: list[dict[str, Any]]) -> dict[str, Any]:
    width, height = size_of(recipe.copy)
    return {
        "file": f"{name}.mp4",
        "take": take,
        "change": change,
        "football": recipe.take.look is not None,
        "filmed": recipe.copy.is_filmed,
        "kind": recipe.take.kind,
        "width": width,
        "height": height,
        "recipe": document_of([recipe])[0],
        "texts": texts,
    }


def _spans(take: Take) -> list[dict[str, Any]]:
    """What stands on the plain clip, from when to when."""
    standing: dict[Text, int] = {}
    ended: list[tuple[Text, int, int]] = []
    end = 0
    for shown in draw(take, size_of(PLAIN)):
        end = shown.at_ms + STEP
        gone = [text for text in standing if text not in shown.texts]
        ended += [(text, standing.pop(text), shown.at_ms) for text in gone]
        for text in shown.texts:
            standing.setdefault(text, shown.at_ms)
    ended += [(text, begin, end) for text, begin in standing.items()]
    return [{**asdict(text), "from_ms": begin, "until_ms": until} for text, begin, until in sorted(ended, key=_order)]


def _order(span: tuple[Text, int, int]) -> tuple[int, int, str]:
    return span[1], span[2], span[0].text


def _sets(seed: int) -> list[tuple[str, Take, Sequence[tuple[str, Copy]]]]:
    random = default_rng([seed, 131])
    sets: list[tuple[str, Take, Sequence[tuple[str, Copy]]]] = []
    for match in range(MATCHES):
        look = any_look(random, (BugStyle.BAR, BugStyle.STACKED, BugStyle.PILL)[match % 3])
        for number in range(GOALS):
            sets += [(f"match{match}-goal{number}", _goal(random, look), CHANGED if number == 0 else ())]
        sets.append(
            (f"match{match}-play", replace(_goal(random, look), kind=TakeKind.PLAY, goal_ms=None), CHANGED[-1:])
        )
    for kind in (TakeKind.STUDIO, TakeKind.ADVERT, TakeKind.OTHER_SPORT):
        for number in range(3):
            take = Take(kind, int(random.integers(1 << 31)), LENGTH_MS)
            sets.append((f"{kind}{number}", take, CHANGED[-1:]))
    return sets


def _goal(random: Generator, look: Look) -> Take:
    home, away = (int(value) for value in random.integers(0, 3, 2))
    minute, in_stoppage = int(random.integers(2, 88)), bool(random.random() < 0.3)
    by_home = bool(random.random() < 0.5)
    return Take(
        TakeKind.GOAL,
        int(random.integers(1 << 31)),
        LENGTH_MS,
        look,
        clock_ms=90 * 60_000 if in_stoppage else (minute * 60 + int(random.integers(0, 50))) * 1000,
        added_ms=int(random.integers(20, 280)) * 1000 if in_stoppage else 0,
        goal_ms=3_000,
        score_before=(home, away),
        score_after=(home + by_home, away + (not by_home)),
        by_home=by_home,
        caption=f"{random.choice(SCORERS)} {minute + 1}'",
        hashtag=f"#{look.home.code}{look.away.code}",
        has_replay=bool(random.random() < 0.5),
    )


def any_look(random: Generator, style: BugStyle) -> Look:
    home, away = (
        Side(*CLUBS[int(club)], _colour(random), _colour(random)) for club in random.permutation(len(CLUBS))[:2]
    )
    return Look(home, away, style, int(random.integers(1 << 31)))


def _colour(random: Generator) -> Colour:
    red, green, blue = (int(value) for value in random.choice([25, 60, 130, 200, 245], 3))
    return red, green, blue

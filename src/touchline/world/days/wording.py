"""How people write about football: goals in several languages, emojis, hashtags, and slips of the keyboard."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .model import Player, Team
from .recipes import family
from .resolving import folded

TEMPLATES: dict[str, tuple[str, ...]] = {
    "en": (
        "GOAL! {player} scores for {team} {score} {emoji}",
        "{player}!!!! What a finish, {team} {score} {emoji} {tag}",
        "{minute}' {player} with the goal for {team} {emoji}",
        "Have a look at this from {player} {emoji} {team} {tag}",
        "{team} fans going wild, {player} makes it {score} {tag}",
        "{player} you beauty {emoji}{emoji} #{team}",
    ),
    "es": (
        "¡GOOOOL de {player}! {team} {score} {emoji}",
        "Golazo de {player} para el {team} {emoji} {tag}",
        "{player} marca el {score}, vamos {team} {emoji}",
    ),
    "de": (
        "TOOOR! {player} trifft für {team} zum {score} {emoji}",
        "{player} macht das {score} {emoji} {team} {tag}",
        "Was für ein Tor von {player}! {team}",
    ),
    "fr": (
        "BUT de {player} ! {team} {score} {emoji}",
        "{player} quelle frappe {emoji} {team} {tag}",
        "Le but de {player} pour {team} ({minute}e) {tag}",
    ),
    "it": (
        "GOOOL di {player}! {team} {score} {emoji}",
        "Che gol {player} {emoji} forza {team} {tag}",
        "{player} segna il {score} {team}",
    ),
}
OWN_GOALS = ("Own goal by {player} {emoji} {team} {score}", "{player} puts it into his own net... {team} {score} {tag}")
CLUB = ("⚽ {minute}' GOAL! {player} makes it {score}. {tag} #{team}", "{player}! {score} {emoji} {tag} {team}")
AGAIN = (
    "{player} {team} goal {emoji}",
    "never forget this {player} goal {emoji} {team}",
    "{player} magic, {team} {tag}",
)
TALK = (
    "what a player {player} is, {team} {emoji}",
    "{team}: {player} speaks after the goal",
    "{player} {team} highlights",
)
QUOTING = ("{player} {emoji} {team} look at that", "How does {player} score that?? {team}", "{team} {player} {emoji}")
ADVERTS = (
    "{player} scored for {team}? Odds boosted, sign up today",
    "Watch {team} and {player} live with 50% off",
    "New {team} shirts, print {player} for free",
)
CHATTER = (
    "{team} matchday {emoji} {tag}",
    "come on {team}",
    "traffic around the ground is terrible today #{team}",
    "{team} have not woken up yet",
    "is the {team} match on tv anywhere?",
    "half time pie, then more {team} {emoji}",
    "that referee again... {team} {tag}",
    "{team} talk in the studio now",
)
EMOJIS = ("🔥", "⚽", "😱", "🚀", "🤯", "👏", "❤️", "🎯")
LANGUAGES = {"England": "en", "Spain": "es", "Germany": "de", "Italy": "it", "France": "fr"}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a post is about."""

    team: Team
    player: Player | None
    minute: str
    score: str
    tag: str
    is_own_goal: bool = False


def goal_text(draw: Random, subject: Subject) -> tuple[str, str]:
    """The text, and its language: the country's own, or English."""
    language = LANGUAGES.get(subject.team.country, "en") if draw.random() < 0.6 else "en"
    templates = OWN_GOALS if subject.is_own_goal else TEMPLATES[language]
    return write(draw, templates, subject), "en" if subject.is_own_goal else language


def write(draw: Random, templates: tuple[str, ...], subject: Subject) -> str:
    team = draw.choice(subject.team.words)
    return draw.choice(templates).format(
        player=player_word(draw, subject.player) if subject.player else "",
        team=team.replace(" ", ""),
        minute=subject.minute,
        score=subject.score,
        tag=subject.tag,
        emoji=draw.choice(EMOJIS),
    )


def player_word(draw: Random, player: Player) -> str:
    """The family name, with its accents or as a foreign keyboard has it."""
    name = family(player)
    if draw.random() < 0.5:
        name = folded(name).title()
    return name.upper() if draw.random() < 0.15 else name


def misspelt(draw: Random, text: str, player: Player) -> str:
    """Two letters of the name in the wrong order, wherever it stands."""
    name = family(player)
    at = draw.randrange(len(name) // 2, len(name) - 1) if len(name) > 3 else 0
    wrong = name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    wrong = wrong if wrong != name else name + "h"
    for written in (name, name.upper(), folded(name).title(), folded(name).title().upper()):
        text = text.replace(written, wrong)
    return text

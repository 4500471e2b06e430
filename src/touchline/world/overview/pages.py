"""The start page: what is here, where it is, and how the day stands.

Invariant: names of teams and players are text, whatever a script called them.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote_plus

from .services import SERVICES, Described

FOLDER = Path(__file__).parent / "page"
IN_PLAY = {"1H", "2H", "ET", "P", "LIVE"}
MARKS = {"Own Goal": " (o.g.)", "Penalty": " (pen.)"}

_PAGE = Template((FOLDER / "start.html").read_text("utf-8"))


def start_page(told: Mapping[str, Any], origin: str, access: Mapping[str, str]) -> str:
    return _PAGE.substitute(
        name=escape(told["name"]),
        facts=_facts(told),
        matches="".join(_match(each) for each in told["matches"]),
        troubles="".join(_trouble(each) for each in told["troubles"]) or "<li class=calm>Everything answers.</li>",
        services="".join(_service(each, origin) for each in SERVICES),
        access="".join(f"<dt>{escape(name)}<dd><code>{escape(value)}</code>" for name, value in access.items()),
        passed=round(100 * told["passed"], 1),
    )


def _facts(told: Mapping[str, Any]) -> str:
    clock = told["clock"]
    facts = {
        "Now": clock["now"][11:19] + " UTC",
        "Speed": f"{clock['speed']:g}x",
        "Seed": told["seed"],
        "Posts so far": told["posts"],
    }
    return "".join(f"<div><dt>{name}</dt><dd>{escape(str(value))}</dd></div>" for name, value in facts.items())


def _match(match: Mapping[str, Any]) -> str:
    home, away = match["score"] or ("–", "–")  # noqa: RUF001 - a dash between teams that have not met
    live = " live" if match["status"] in IN_PLAY else ""
    state = match["minute"] if live and match["minute"] else match["status"]
    if match["status"] in {"NS", "TBD"}:
        state = match["kick_off"][11:16]
    goals = "".join(_goal(each) for each in match["goals"])
    return (
        f'<article class="match{live}"><p class=league>{escape(match["league"])}<span>{escape(state)}</span></p>'
        f"{_side(match['home'], home)}{_side(match['away'], away)}<ul class=goals>{goals}</ul></article>"
    )


def _side(team: Mapping[str, Any], score: object) -> str:
    shirt = (
        '<svg class=shirt viewBox="0 0 20 20" aria-hidden=true>'
        f'<path fill="{escape(team["shirt"])}" d="M6 2 1 6l2 4 2-1v9h10V9l2 1 2-4-5-4a4 4 0 0 1-8 0z"/></svg>'
    )
    search = f"social/search?f=live&q={quote_plus(team['name'])}"
    return f'<p class=side>{shirt}<a href="{escape(search)}">{escape(team["name"])}</a><b>{escape(str(score))}</b></p>'


def _goal(goal: Mapping[str, Any]) -> str:
    scorer = escape(goal["player"] or "somebody") + MARKS.get(goal["detail"], "")
    return f"<li class={goal['side']}><span>{escape(goal['minute'] or '')}</span> {scorer}</li>"


def _trouble(trouble: Mapping[str, Any]) -> str:
    until = trouble["until"][11:19]
    return f"<li><b>{escape(trouble['service'])}</b> {escape(trouble['trouble'])} until {until} UTC</li>"


def _service(service: Described, origin: str) -> str:
    url = escape(f"{origin}{service.path}")
    link = f'<a href="{url}{service.look}">{escape(service.name)}</a>' if service.look else escape(service.name)
    return f"<tr><th scope=row>{link}<td><code>{url}</code><td>{escape(service.stands_for)}"

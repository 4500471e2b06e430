"""The start page: the services with their URLs, the state of the day as the feed reports it, and the JSON behind it;
what truly happened is another document.

Invariant: names of teams and players are text, whatever a script called them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote_plus

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from touchline_world.days.model import Entry, Fixture, Service, Team
from touchline_world.days.timeline import feed_state
from touchline_world.days.truth import truth
from touchline_world.social.documents import iso
from touchline_world.social.search import is_shown
from touchline_world.world import DayClock, World


@dataclass(frozen=True, slots=True)
class ServiceDescription:
    name: str
    path: str
    stands_for: str
    services: tuple[Service, ...]
    look: str  # what a person may open


SERVICES = (
    ServiceDescription("Football feed", "/football", "v3.football.api-sports.io", (Service.FEED,), ""),
    ServiceDescription("Social network", "/social", "x.com", (Service.SEARCH,), "/search"),
    ServiceDescription("Syndication", "/syndication", "cdn.syndication.twimg.com", (Service.SYNDICATION,), ""),
    ServiceDescription("Video CDN", "/media", "video.twimg.com", (Service.MEDIA,), ""),
    ServiceDescription("Wikidata", "/wikidata", "www.wikidata.org", (Service.WIKIDATA,), ""),
    ServiceDescription("Model", "/model/v1", "api.openai.com/v1", (Service.MODEL,), ""),
)


def base_urls(origin: str) -> dict[str, str]:
    """By the name of the mount."""
    return {each.path.split("/")[1]: f"{origin}{each.path}" for each in SERVICES}


GOALS = {"Normal Goal", "Penalty", "Own Goal"}
SHOOT_OUT = "shootout"


def clock_document(clock: DayClock, length_ms: int) -> dict[str, Any]:
    return {
        "now": iso(clock.wall.now()),
        "starts": iso(clock.starts),
        "ends": iso(clock.at(length_ms)),
        "speed": clock.speed,
        "day_ms": clock.day_ms(),
        "length_ms": length_ms,
    }


def day_document(world: World) -> dict[str, Any]:
    day, now_ms = world.day, world.clock.day_ms()
    return {
        "name": day.name,
        "seed": day.seed,
        "date": day.date.isoformat(),
        "clock": clock_document(world.clock, day.length_ms),
        "matches": [_match(world, fixture) for fixture in day.fixtures],
        "passed": _passed(world),
        "posts": sum(is_shown(post, now_ms) for post in day.posts),
        "troubles": [
            {"service": each.service, "trouble": each.trouble, "until": iso(world.clock.at(each.until_ms))}
            for each in day.faults
            if each.from_ms <= now_ms < each.until_ms
        ],
    }


def _passed(world: World) -> float:
    """The share of the time from the first kick-off to the end."""
    begins = min((fixture.kick_off_ms for fixture in world.day.fixtures), default=0)
    return min(max((world.clock.day_ms() - begins) / max(world.day.length_ms - begins, 1), 0.0), 1.0)


def _match(world: World, fixture: Fixture) -> dict[str, Any]:
    shown = feed_state(fixture, world.clock.day_ms())
    return {
        "id": fixture.id,
        "league": fixture.league.name,
        "round": fixture.round,
        "kick_off": iso(world.clock.at(fixture.kick_off_ms)),
        "home": _team(fixture.home),
        "away": _team(fixture.away),
        "status": shown.status,
        "minute": _minute(shown.elapsed, shown.extra),
        "score": None if shown.home is None else [shown.home, shown.away],
        "goals": [_goal(entry, fixture) for entry in shown.entries if _is_goal(entry)],
    }


def _team(team: Team) -> dict[str, Any]:
    return {"id": team.id, "name": team.name, "code": team.code, "shirt": "#{:02x}{:02x}{:02x}".format(*team.shirt)}


def _is_goal(entry: Entry) -> bool:
    in_shoot_out = SHOOT_OUT in (entry.comments or "").replace("-", "").replace(" ", "").lower()
    return entry.type == "Goal" and entry.detail in GOALS and not in_shoot_out


def _goal(entry: Entry, fixture: Fixture) -> dict[str, Any]:
    return {
        "minute": _minute(entry.elapsed, entry.extra),
        "side": "home" if entry.team_id == fixture.home.id else "away",
        "player": entry.player.name if entry.player else None,
        "detail": entry.detail,
    }


def _minute(elapsed: int | None, extra: int | None) -> str | None:
    if elapsed is None:
        return None
    return f"{elapsed}+{extra}'" if extra else f"{elapsed}'"


FOLDER = Path(__file__).parent / "page"
IN_PLAY = {"1H", "2H", "ET", "P", "LIVE"}
MARKS = {"Own Goal": " (o.g.)", "Penalty": " (pen.)"}

_PAGE = Template((FOLDER / "start.html").read_text("utf-8"))


def start_page(document: Mapping[str, Any], origin: str, access: Mapping[str, str]) -> str:
    return _PAGE.substitute(
        name=escape(document["name"]),
        facts=_facts(document),
        matches="".join(_match_card(each) for each in document["matches"]),
        troubles="".join(_trouble(each) for each in document["troubles"]) or "<li class=calm>Everything answers.</li>",
        services="".join(_service(each, origin) for each in SERVICES),
        access="".join(f"<dt>{escape(name)}<dd><code>{escape(value)}</code>" for name, value in access.items()),
        passed=round(100 * document["passed"], 1),
    )


def _facts(document: Mapping[str, Any]) -> str:
    clock = document["clock"]
    facts = {
        "Now": clock["now"][11:19] + " UTC",
        "Speed": f"{clock['speed']:g}x",
        "Seed": document["seed"],
        "Posts so far": document["posts"],
    }
    return "".join(f"<div><dt>{name}</dt><dd>{escape(str(value))}</dd></div>" for name, value in facts.items())


def _match_card(match: Mapping[str, Any]) -> str:
    home, away = match["score"] or ("–", "–")  # noqa: RUF001 - a dash between teams that have not met
    live = " live" if match["status"] in IN_PLAY else ""
    state = match["minute"] if live and match["minute"] else match["status"]
    if match["status"] in {"NS", "TBD"}:
        state = match["kick_off"][11:16]
    goals = "".join(_goal_line(each) for each in match["goals"])
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


def _goal_line(goal: Mapping[str, Any]) -> str:
    scorer = escape(goal["player"] or "somebody") + MARKS.get(goal["detail"], "")
    return f"<li class={goal['side']}><span>{escape(goal['minute'] or '')}</span> {scorer}</li>"


def _trouble(trouble: Mapping[str, Any]) -> str:
    until = trouble["until"][11:19]
    return f"<li><b>{escape(trouble['service'])}</b> {escape(trouble['trouble'])} until {until} UTC</li>"


def _service(service: ServiceDescription, origin: str) -> str:
    url = escape(f"{origin}{service.path}")
    link = f'<a href="{url}{service.look}">{escape(service.name)}</a>' if service.look else escape(service.name)
    return f"<tr><th scope=row>{link}<td><code>{url}</code><td>{escape(service.stands_for)}"


FILES = {"start.css": "text/css", "start.js": "text/javascript"}
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'"


def routes(world: World, access: Mapping[str, str]) -> list[BaseRoute]:
    """`access`: what a person needs to know to use the services, by its name."""

    async def start(request: Request) -> Response:
        page = start_page(day_document(world), _origin(request), access)
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})

    async def clock(request: Request) -> Response:
        return JSONResponse(clock_document(world.clock, world.day.length_ms))

    async def day(request: Request) -> Response:
        return JSONResponse({**day_document(world), "base_urls": base_urls(_origin(request))})

    async def truly(request: Request) -> Response:
        return JSONResponse(truth(world.day))

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            return Response("Not Found", 404)
        return FileResponse(FOLDER / name, media_type=FILES[name], headers={"Cache-Control": "no-cache"})

    return [
        Route("/", start),
        Route("/world/clock", clock),
        Route("/world/day", day),
        Route("/world/truth", truly),
        Route("/world/assets/{name:str}", asset),
    ]


def _origin(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"

"""What `touchline demo` is made of: its settings, the sign-in link, and the report of the day.

The demo's settings: short intervals, and the simulated world in place of the services outside.

Invariant: they are handed on as any settings are, by the environment; what the user set there wins. An installation
that watches real football is left alone.

What happened in the product beside what truly happened on the day. Pure.

What `touchline demo` tells once everything is ready: each goal as it goes, then the day beside its truth.

Invariant: it only reads, as anybody may; what it tells happened in the product.

Gives a secret link to the browser of this user, past the list of processes, which every user of the machine reads.

The browser is started with an address on loopback that says nothing; whoever asks there is sent on to the link if the
system says that this user asks. A file would do as well, but not for browsers that are packed into a sandbox.
Invariant: the link goes to nobody else, and is given once.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from touchline.apps import wiring
from touchline.apps.cli.search import find
from touchline.apps.gateway_client import Access
from touchline.apps.settings import Loaded
from touchline.apps.up import Report
from touchline.apps.watch import watch_tenant
from touchline.gateway.auth.authentication import build_administration
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.service import FIRST_OPERATOR, first_sign_in_link
from touchline.gateway.auth.sessions.service import link_url
from touchline.kernel import Misconfigured, SystemClock, TenantId, Unavailable
from touchline.platform.postgres.database import Database
from touchline.platform.stack.folder import choose_ports
from touchline.platform.stack.part import StackRole
from touchline.watch import queries
from touchline.watch.views.rules import Goal, Match

PORT = "world"
DAY = Path(__file__).with_name("demo_day.yaml")
USER, PASSWORD, FEED_KEY, MODEL_KEY = "touchline", "offside", "world", "sk-world"  # no secrets: the world has none
ASK_THE_WORLD = ("browser", "watch")
INTERVALS = {
    "WATCH_MONITOR_INTERVAL": "2s",
    "WATCH_SEARCH_ATTEMPTS": "6",
    "WATCH_SEARCH_INTERVAL": "6s",
    "WATCH_SEARCH_REST": "1s",
    "FEED_REQUESTS_A_DAY": "1000000",
    "FEED_REQUESTS_A_MINUTE": "10000",
    "BROWSER_QUIET": "200ms",
    "BROWSER_SEARCHES_PER_WINDOW": "100000",  # the world's network has no limit
    "DISCOVERY_CANARY_LEAST": "0",  # and nothing is posted there before the first match
    "PROCESS_SAMPLE_FPS": "2",  # ten a second are for machines with more to give
}


@dataclass(frozen=True, slots=True)
class State:
    """What a later demo of the same data folder needs: a day that was broken off goes on in the same world."""

    port: int
    starts_at: str | None = None  # when the first match kicked off
    playing: int = 1  # which time the day is played

    def after_the_day(self) -> State:
        """The next demo plays it anew, with matches of its own."""
        return State(self.port, None, self.playing + 1)


def read_state(folder: Path) -> State:
    try:
        document = json.loads((folder / "world.json").read_text())
        return State(int(document["port"]), document.get("starts_at"), int(document.get("playing", 1)))
    except (OSError, ValueError, KeyError, TypeError):
        return State(_free_port())


def _free_port() -> int:
    with TemporaryDirectory() as nowhere:  # the data folder may not exist yet, and is not ours to make
        return choose_ports(Path(nowhere) / "ports.json", [PORT])[PORT]


def write_state(folder: Path, state: State) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "world.json").write_text(json.dumps(asdict(state)))


def world_url(state: State) -> str:
    return f"http://127.0.0.1:{state.port}"


def require_no_real_football(loaded: Loaded) -> None:
    if loaded.settings.watch.enabled and loaded.settings.feed.key.get_secret_value():
        raise Misconfigured(
            "the demo cannot run here: this installation watches real football",
            why="watch.enabled and feed.key are set",
            hint="Use another data folder for the demo: TOUCHLINE_DATA=/some/folder touchline demo",
        )


def apply(environment: MutableMapping[str, str], state: State) -> None:
    for name, value in _settings(world_url(state)).items():
        environment.setdefault(f"TOUCHLINE_{name}", value)


def after_its_world(world: StackRole, roles: Sequence[StackRole]) -> list[StackRole]:
    """What asks the world starts when it answers: nothing fails for having been too early."""
    return [
        world,
        *(replace(role, needs=(*role.needs, world.name)) if role.name in ASK_THE_WORLD else role for role in roles),
    ]


def _settings(world: str) -> dict[str, str]:
    return INTERVALS | {
        "WATCH_ENABLED": "true",
        "FEED_URL": f"{world}/football",
        "FEED_KEY": FEED_KEY,
        "BROWSER_NETWORK_URL": f"{world}/social",
        "BROWSER_USER": USER,
        "BROWSER_PASSWORD": PASSWORD,
        "DISCOVERY_HOSTS": world.removeprefix("http://"),
        "DOWNLOADS_SYNDICATION_URL": f"{world}/syndication",
        "DOWNLOADS_SECOND_WAY": "syndication",
        "DOWNLOADS_ALLOW_HOSTS": world.removeprefix("http://"),
        "ALIASES_WIKIDATA_URL": f"{world}/wikidata",
        "MODEL_URL": f"{world}/model/v1",
        "MODEL_KEY": MODEL_KEY,
        "VALIDATION_ENGINE": "model",
    }


STANDS = "stands"


@dataclass(frozen=True, slots=True)
class Compared:
    match: str
    minute: str
    scorer: str
    truth: str
    found: str
    right: bool


def compare(truth: Mapping[str, Any], goals: Mapping[int, Sequence[Goal]]) -> list[Compared]:
    """A line for each goal of the day, then one for each that the product has and the day has not."""
    names = {match["id"]: f"{match['home']['name']} - {match['away']['name']}" for match in truth["matches"]}
    shows = _shows(truth)
    compared = [_compared(goal, names, goals.get(goal["match"], ()), shows) for goal in truth["goals"]]
    true = {_identity(goal) for goal in truth["goals"] if goal["outcome"] == STANDS}
    invented = [each for match in goals.values() for each in match if _identity_of(each) not in true]
    return [*compared, *(_invented(each, names) for each in invented if not _is_true(each, truth))]


def ended(truth: Mapping[str, Any], goals: Mapping[int, Sequence[Goal]], matches: Mapping[int, Match]) -> bool:
    """Every match is over; every goal that stands is there and its search is over, and nothing else is there."""
    standing = {_identity(goal) for goal in truth["goals"] if goal["outcome"] == STANDS}
    found = {_identity_of(goal): goal for match in goals.values() for goal in match}
    over = all(match["id"] in matches and matches[match["id"]].completed_at for match in truth["matches"])
    return over and found.keys() == standing and all(goal.download_complete for goal in found.values())


Identity = tuple[int, int, int | None, int, int]


def _identity(goal: Mapping[str, Any]) -> Identity:
    return goal["match"], goal["team"], goal["player"]["id"], goal["elapsed"], goal["extra"] or 0


def _identity_of(goal: Goal) -> Identity:
    return goal.fixture_id, goal.team_id, goal.player_id, goal.minute, goal.extra or 0


def _shows(truth: Mapping[str, Any]) -> dict[str, set[str]]:
    """Which goals the videos of a post truly show."""
    return {post["id"]: {clip["shows"] for clip in post["clips"] if clip["shows"]} for post in truth["posts"]}


def _compared(
    goal: Mapping[str, Any], names: Mapping[int, str], found: Sequence[Goal], shows: Mapping[str, set[str]]
) -> Compared:
    same = next((each for each in found if _identity_of(each) == _identity(goal)), None)
    stands = goal["outcome"] == STANDS
    copies = sum(len(group["posts"]) for group in goal["groups"])
    right = _is_right(goal, same, shows) if stands else same is None
    return Compared(
        match=names[goal["match"]],
        minute=_minute(goal["elapsed"], goal["extra"]),
        scorer=goal["player"]["name"],
        truth=_posted(copies, len(goal["groups"])) if stands else "annulled",
        found=_found(same) if same else ("not there" if stands else "gone"),
        right=right,
    )


def _posted(posts: int, videos: int) -> str:
    return f"{posts} post{'s' if posts != 1 else ''} of {videos} video{'s' if videos != 1 else ''}"


def _is_right(goal: Mapping[str, Any], found: Goal | None, shows: Mapping[str, set[str]]) -> bool:
    """Its best video shows this goal."""
    if found is None or not found.videos:
        return False
    best = found.videos[0].source_url
    return any(goal["key"] in shown for post, shown in shows.items() if f"/status/{post}" in best)


def _found(goal: Goal) -> str:
    if not goal.videos:
        return "no video"
    best = goal.videos[0]
    state = "verified" if best.verified else "unverified"
    others = f", {len(goal.videos) - 1} more" if len(goal.videos) > 1 else ""
    return f"{best.width}x{best.height}, {state}, found {best.popularity} times{others}"


def _is_true(goal: Goal, truth: Mapping[str, Any]) -> bool:
    """An annulled one that is still there has its line already."""
    return any(_identity(each) == _identity_of(goal) for each in truth["goals"])


def _invented(goal: Goal, names: Mapping[int, str]) -> Compared:
    match, minute = names.get(goal.fixture_id, "?"), _minute(goal.minute, goal.extra)
    return Compared(match, minute, goal.player_name or "?", "no such goal", _found(goal), right=False)


def _minute(elapsed: int, extra: int | None) -> str:
    return f"{elapsed}+{extra}" if extra else str(elapsed)


def rows(compared: Sequence[Compared]) -> Iterator[list[str]]:
    for each in compared:
        verdict = "right" if each.right else "WRONG"
        yield [each.match, each.minute, each.scorer, each.truth, each.found, verdict]


LOOK_EVERY_S = 0.5
TIMEOUT = timedelta(minutes=6)  # a slow machine may need more than the day takes

Goals = Mapping[int, Sequence[Goal]]


async def sign_in_link(loaded: Loaded) -> str:
    """Once, to the matches."""
    clock, base_url = SystemClock(), wiring.gateway_url(loaded)
    async with wiring.open_database(loaded) as database:
        await first_sign_in_link(database, base_url, loaded.settings.auth, clock)  # so that there is somebody
        administration = build_administration(database, loaded.settings.auth, clock)
        user = await administration.users.by_email(COMMAND_LINE, FIRST_OPERATOR.email)
        link = await administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    return link_url(base_url, link, then="/matches")


async def world_document(url: str, path: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as world:
        answer = await world.get(f"/world/{path}")
        return answer.raise_for_status().json()


@dataclass
class Follower:
    """Follows the day until its matches and every goal's search are over."""

    loaded: Loaded
    truth: Mapping[str, Any]
    report: Report

    async def follow(self) -> list[Compared]:
        reported: dict[tuple[str, int], str] = {}
        goals: Goals = {}
        matches: Mapping[int, Match] = {}
        async with wiring.open_database(self.loaded) as database:
            tenant = await watch_tenant(database, self.loaded.settings.watch.tenant)
            try:
                async with asyncio.timeout(TIMEOUT.total_seconds()):
                    while not ended(self.truth, goals, matches):
                        await asyncio.sleep(LOOK_EVERY_S)
                        with suppress(Unavailable):  # a part that died comes back
                            goals, matches = await self._seen(database, tenant)
                            self._report_changes(reported, goals)
            except TimeoutError:
                self.report("The match day took longer than expected; these are the results so far.")
        return compare(self.truth, goals)

    async def _seen(self, database: Database, tenant: TenantId) -> tuple[Goals, Mapping[int, Match]]:
        ids = [match["id"] for match in self.truth["matches"]]
        async with database.transaction(tenant) as transaction:
            return await queries.goals_of_matches(transaction, ids), await queries.matches(transaction, ids)

    def _report_changes(self, reported: dict[tuple[str, int], str], goals: Goals) -> None:
        now = {goal.key: goal for match in goals.values() for goal in match}
        for key, goal in now.items():
            line = describe(goal)
            if reported.get(key) != line:
                self.report(line)
                reported[key] = line
        for key in reported.keys() - now.keys():
            self.report(f"{reported.pop(key).partition(':')[0]}: annulled")


def describe(goal: Goal) -> str:
    score = f"{goal.home_score}-{goal.away_score}"
    minute = f"{goal.minute}+{goal.extra}" if goal.extra else str(goal.minute)
    return f"{goal.team_name} {score}, {goal.player_name or 'scorer unknown'} {minute}': {_state(goal)}"


def _state(goal: Goal) -> str:
    if goal.videos:
        best = goal.videos[0]
        times = f", found {best.popularity} times" if best.popularity > 1 else ""
        return f"{len(goal.videos)} video{'s' if len(goal.videos) > 1 else ''}{times}"
    if goal.download_complete:
        return "no video"
    return "searching" if goal.monitor_complete else "seen"


async def found_by_search(truth: Mapping[str, Any], within: timedelta) -> str | None:
    """Where a scorer's caption plays, as the search finds it; None when nothing was read in time."""
    words = [goal["player"]["name"].split()[-1] for goal in truth["goals"] if goal["outcome"] == "stands"]
    try:
        async with asyncio.timeout(within.total_seconds()):
            while True:
                for word in words:
                    if (hit := await _first_hit(word)) and hit["url"]:
                        return f"`touchline search {word}` finds “{hit['text']}” and plays it at {hit['url']}"
                await asyncio.sleep(1)
    except TimeoutError:
        return None


async def _first_hit(word: str) -> Mapping[str, Any] | None:
    with suppress(Unavailable):
        hits = (await find(Access("", None, FIRST_OPERATOR.email), word, "relevance", 1, ""))["hits"]
        return hits[0] if hits else None
    return None


LOOPBACK = "127.0.0.1"
LONGEST_REQUEST = 64 * 1024
SILENCE_S = 5.0
CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL_COLUMN, REMOTE_COLUMN, USER_COLUMN = 1, 2, 7  # columns

Address = tuple[str, int]


class Handover:
    def __init__(self, link: str, user_id: int) -> None:
        self._link, self._user_id = link, user_id
        self._path = f"/{token_urlsafe(16)}"
        self._given = asyncio.Event()

    async def run(self, open_browser: Callable[[str], object], within_s: float) -> bool:
        """Whether the browser came for it."""
        server = await asyncio.start_server(self._serve, LOOPBACK, 0, limit=LONGEST_REQUEST)
        try:
            port = server.sockets[0].getsockname()[1]
            await asyncio.to_thread(open_browser, f"http://{LOOPBACK}:{port}{self._path}")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._given.wait(), within_s)
        finally:
            server.close()
        return self._given.is_set()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(SILENCE_S):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(request, writer))
                await writer.drain()
        writer.close()

    def _answer(self, request: bytes, writer: StreamWriter) -> bytes:
        if not request.startswith(f"GET {self._path} ".encode()) or self._given.is_set():
            return _response("404 Not Found", "Not found.")
        if owner_of(writer.get_extra_info("peername"), writer.get_extra_info("sockname")) != self._user_id:
            return _response("403 Forbidden", "Use the link that is printed in the terminal.")
        self._given.set()
        return _response("303 See Other", "", f"Location: {self._link}")


async def hand_over(link: str, open_browser: Callable[[str], object], within_s: float = 60.0) -> bool:
    return await Handover(link, os.geteuid()).run(open_browser, within_s)


def owner_of(client: Address, server: Address) -> int | None:
    """The user whose connection this is; None if the system does not know it."""
    for table in CONNECTIONS:
        for line in table.read_text("ascii").splitlines()[1:] if table.exists() else ():
            columns = line.split()
            if columns[LOCAL_COLUMN].endswith(_as_listed(client)) and columns[REMOTE_COLUMN].endswith(
                _as_listed(server)
            ):
                return int(columns[USER_COLUMN])
    return None


def _as_listed(address: Address) -> str:
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _response(status: str, text: str, *headers: str) -> bytes:
    plain = ("Content-Type: text/plain", f"Content-Length: {len(text)}", "Cache-Control: no-store", "Connection: close")
    return "\r\n".join((f"HTTP/1.1 {status}", *plain, *headers, "", text)).encode("ascii")

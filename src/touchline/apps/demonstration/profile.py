"""The demo's settings: short intervals, and the simulated world in place of the services outside.

Invariant: they are handed on as any settings are, by the environment; what the user set there wins. An installation
that watches real football is left alone.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.apps.settings import Loaded
from touchline.kernel import Misconfigured
from touchline.platform.stack.folder import choose_ports
from touchline.platform.stack.part import StackRole

PORT = "world"
DAY = Path(__file__).with_name("day.yaml")
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

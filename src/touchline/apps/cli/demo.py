"""`touchline demo`: everything started, and a match day through all of it."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import asdict, replace
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import AsJson, progress, show, show_json, show_table

if TYPE_CHECKING:
    from touchline.apps.demonstration import State
    from touchline.apps.settings import Loaded
    from touchline.platform.endpoints import Endpoints
    from touchline.platform.stack.part import StackRole

commands = typer.Typer()

Script = Annotated[
    Path | None,
    typer.Option(
        "--script",
        exists=True,
        dir_okay=False,
        help="A match day of your own, instead of the one that comes with the demo.",
    ),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser, if this machine has one.")]
READ_WITHIN = timedelta(minutes=2)


@commands.command()
def demo(open_browser: Open = True, script: Script = None, as_json: AsJson = False) -> None:
    """Start everything, play a simulated match day, compare the result with the truth, and keep running."""
    from touchline.apps import demonstration, up
    from touchline.apps.settings import load
    from touchline.platform.stack.stack import run_stack

    require_world()
    loaded = load()
    demonstration.require_no_real_football(loaded)
    folder = loaded.settings.data / "demo"
    state = demonstration.read_state(folder)
    demonstration.apply(os.environ, state)
    loaded = load()

    async def on_ready(where: Endpoints) -> None:
        await _show(loaded, state, open_browser=open_browser, as_json=as_json)

    def roles(where: Endpoints) -> list[StackRole]:
        return demonstration.after_its_world(_world(loaded, state, script or demonstration.DAY), up.roles(loaded))

    asyncio.run(run_stack(replace(up.stack(loaded, progress, show), roles=roles, on_ready=on_ready)))


def require_world() -> None:
    """The demo starts it as a process of its own and imports nothing of it."""
    from touchline.kernel import SetupError

    if find_spec("touchline_world") is None:
        raise SetupError(
            "the simulated world is not installed",
            why="`touchline demo` and `touchline world` need the package touchline-world",
            hint='Install it with `pip install "touchline[demo]"`.',
        )


def _world(loaded: Loaded, state: State, script: Path) -> StackRole:
    from touchline.apps import demonstration
    from touchline.platform.stack.part import StackRole

    begins = ["--starts-at", state.starts_at] if state.starts_at else ["--starts-in", "3s"]
    videos = loaded.settings.data / "demo" / "videos"
    if not videos.exists():
        progress("The videos of the match day are drawn first. This takes a minute or two, once.")
    folder = str(videos)
    day = ["--script", str(script.absolute()), "--playing", str(state.playing), *begins]
    options = [*day, "--port", str(state.port), "--folder", folder, "--json"]
    command = [sys.executable, "-m", "touchline", "world", "serve", *options]
    return StackRole("world", command, f"{demonstration.world_url(state)}/world/clock")


async def _show(loaded: Loaded, state: State, *, open_browser: bool, as_json: bool) -> None:
    from touchline.apps import demonstration, watch, wiring
    from touchline.apps.demonstration import hand_over

    world = demonstration.world_url(state)
    truth = await demonstration.world_document(world, "truth")
    begins = (await demonstration.world_document(world, "day"))["matches"][0]["kick_off"]
    folder, state = loaded.settings.data / "demo", replace(state, starts_at=begins)
    demonstration.write_state(folder, state)
    if state.playing > 1:
        await watch.ingest(loaded, None, None)  # the first time, matches are fetched by themselves
    url, link = f"{wiring.gateway_url(loaded)}/matches", await demonstration.sign_in_link(loaded)
    if not as_json:
        show(f"\nThe matches are at {url}\nSign in with this link; it works once: {link}\n")
    if open_browser and _has_screen() and not await hand_over(link, typer.launch):
        progress("The browser did not open the link. Open it yourself.")
    compared = await demonstration.Follower(loaded, truth, progress).follow()
    demonstration.write_state(folder, state.after_the_day())
    search = await demonstration.found_by_search(truth, READ_WITHIN)
    if as_json:
        show_json({"url": url, "sign_in_link": link, "goals": [asdict(each) for each in compared], "search": search})
        return
    show("")
    show_table(["MATCH", "MINUTE", "SCORER", "TRUTH", "TOUCHLINE", ""], list(demonstration.rows(compared)))
    show(f"\n{search or 'No scorer was found in search yet.'}\n")
    progress("Touchline keeps running. Press Ctrl-C to stop it.")


def _has_screen() -> bool:
    return sys.stdout.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

"""`touchline demo`: everything started, and one video through all of it."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from .output import AsJson, progress, show, show_json

if TYPE_CHECKING:
    from touchline.platform.endpoints import Endpoints

commands = typer.Typer()

Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the browser when there is one.")]


@commands.command()
def demo(open_browser: Open = True, as_json: AsJson = False) -> None:
    """Start everything, upload a clip, wait until it plays, show where, and keep running. Ctrl-C stops it."""
    from touchline.apps import demo as showing
    from touchline.apps import up
    from touchline.apps.handover import hand_over
    from touchline.apps.settings import load
    from touchline.platform.stack.stack import run_stack

    loaded = load()

    async def on_ready(where: Endpoints) -> None:
        shown = await showing.show_video(loaded, progress)
        if as_json:
            show_json({"url": shown.video.url, "sign_in_link": shown.sign_in_link})
        else:
            show(f"\nThe video plays at {shown.video.url}\nSign in and watch it, once, with {shown.sign_in_link}\n")
            progress("Everything keeps running; Ctrl-C stops it.")
        if open_browser and _has_screen() and not await hand_over(shown.sign_in_link, typer.launch):
            progress("The browser did not come for the link: open it yourself.")

    asyncio.run(run_stack(replace(up.stack(loaded, progress, show), on_ready=on_ready)))


def _has_screen() -> bool:
    return sys.stdout.isatty() and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

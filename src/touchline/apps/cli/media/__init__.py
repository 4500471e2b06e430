"""`touchline media`: the media kit by hand, on files of this machine."""

from __future__ import annotations

import typer

from . import fingerprints
from .clip import clip
from .making import hls, poster, storyboard
from .ocr import ocr
from .probe import probe
from .sample import sample

commands = typer.Typer(help="Look at video files, and make things of them.", no_args_is_help=True)


@commands.callback()
def media() -> None:
    """Look at video files, and make things of them."""


for command in (probe, hls, poster, storyboard, clip, sample, ocr):
    commands.command()(command)
commands.add_typer(fingerprints.commands)

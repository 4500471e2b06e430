"""What several commands on video files take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="The video file.", show_default=False)]
Folder = Annotated[Path, typer.Argument(help="A new or empty folder for the result.", show_default=False)]

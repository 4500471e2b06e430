"""`touchline media clip`: a part of a video, exact to the picture."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, show, show_json

from .outputs import new_file, percentages
from .times import milliseconds

if TYPE_CHECKING:
    from touchline.media.clip_model import ClipFile, ClipRange

Source = Annotated[
    Path, typer.Argument(help="The video file, or an HLS playlist (.m3u8) beside its segments.", show_default=False)
]
Target = Annotated[Path, typer.Argument(help="The MP4 file to make; it must not be there yet.", show_default=False)]
Start = Annotated[
    int, typer.Option("--from", help="The start: seconds or [h:]mm:ss.", parser=milliseconds, metavar="TIME")
]
End = Annotated[int, typer.Option("--to", help="The end, exclusive.", parser=milliseconds, metavar="TIME")]
Padding = Annotated[
    int, typer.Option("--pad", help="This much more on both sides.", parser=milliseconds, metavar="TIME")
]


def clip(source: Source, target: Target, start: Start, end: End, padding: Padding = 0, as_json: AsJson = False) -> None:
    """Cut a clip. H.264 is copied between keyframes, and only the edges are encoded.

    A playlist may still grow: what the clip needs is waited for.
    """
    from touchline.media.clip_model import ClipRange

    made = asyncio.run(_made(source, target, ClipRange(start, end, padding)))
    cut = made.cut
    if as_json:
        show_json({"path": str(target), "size_bytes": made.size_bytes, **asdict(cut)})
        return
    show(f"{target}: {cut.start_ms / 1000:.3f} s to {cut.end_ms / 1000:.3f} s, {cut.frames} pictures, {cut.method}")


async def _made(source: Path, target: Path, wanted: ClipRange) -> ClipFile:
    from touchline.apps.settings import load
    from touchline.media.clip import make_clip
    from touchline.media.recordings import segments_of
    from touchline.media.sandbox import Sandbox

    footage = segments_of(source) if source.suffix == ".m3u8" else source
    async with Sandbox(load().settings.media) as sandbox:
        with new_file(target) as folder:
            return await make_clip(sandbox, footage, folder, wanted, percentages())

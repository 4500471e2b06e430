"""`touchline media fingerprint|compare|find|index`: which videos show the same.

Wherever a video is asked for, a stored fingerprint will do, as text or in the binary form.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import AsJson, percentages, progress, show, show_json, show_table

if TYPE_CHECKING:
    from touchline.media.fingerprint.model import Comparison, Fingerprint, Style, Way
    from touchline.media.sandbox import Sandbox

commands = typer.Typer()
index = typer.Typer(
    help="Keep an index of fingerprints in a folder, and find copies of a video in it.", no_args_is_help=True
)
commands.add_typer(index, name="index")

Video = Annotated[Path, typer.Argument(help="The video file, or a file with its fingerprint.", show_default=False)]
Folder = Annotated[Path, typer.Argument(help="The folder of the index.", show_default=False)]
OfStyle = Annotated[
    str | None,
    typer.Option("--style", help="`dense` or `careful`. Default: the style of the other fingerprint, or the setting."),
]
Fast = Annotated[
    bool,
    typer.Option("--fast", help="Skip frames that no other frame depends on. It is faster, and a few bits may differ."),
]


@commands.command()
def fingerprint(
    file: Annotated[Path, typer.Argument(help="The video file.", show_default=False)],
    binary: Annotated[
        Path | None, typer.Option(help="Also write the fingerprint in compact form to this file.")
    ] = None,
    style: OfStyle = None,
    fast: Fast = False,
    as_json: AsJson = False,
) -> None:
    """Print the fingerprint of a video: one hash for each quarter of a second; zeros where frames have no
    information."""
    from touchline.media.fingerprint.formats import to_bytes, to_text

    taken = asyncio.run(_taken([file], style, fast=fast))[0]
    if binary:
        binary.write_bytes(to_bytes(taken))
    text = to_text(taken)
    if as_json:
        show_json({"fingerprint": text, "samples": len(taken), "informative": taken.informative})
    else:
        show(text)


@commands.command()
def compare(first: Video, second: Video, style: OfStyle = None, fast: Fast = False, as_json: AsJson = False) -> None:
    """Compare two videos: whether they show the same, and where the second starts in the first."""
    from touchline.media.fingerprint.comparison import compare

    one, other = asyncio.run(_taken([first, second], style, fast=fast))
    found = compare(one, other)
    if as_json:
        show_json(found._asdict())
    elif found.match:
        show(f"the same: {_described(found)}")
    else:
        show("not the same")


@commands.command()
def find(folder: Folder, query: Video, fast: Fast = False, as_json: AsJson = False) -> None:
    """List every video of an index that shows the same as this one, best match first."""
    from touchline.media.fingerprint.index import IndexReader

    reader = IndexReader(folder)
    found = reader.find(asyncio.run(_taken([query], reader.manifest.style, fast=fast))[0])
    if as_json:
        show_json([{"video_id": each.video_id, **each.comparison._asdict()} for each in found])
    elif found:
        show_table(("video", "what is the same"), [(each.video_id, _described(each.comparison)) for each in found])
    else:
        progress("the index has no copy of this video")


@index.command()
def add(
    folder: Folder,
    videos: Annotated[
        list[Path], typer.Argument(help="Video files, or files with their fingerprints.", show_default=False)
    ],
    video_id: Annotated[
        str | None, typer.Option("--id", help="The id of the video. Default: the name of the file.")
    ] = None,
    style: OfStyle = None,
    fast: Fast = False,
    as_json: AsJson = False,
) -> None:
    """Add videos to an index. The index is created if needed; a video with the same id is replaced."""
    from touchline.kernel import InvalidInput
    from touchline.media.fingerprint.index import IndexWriter

    if video_id and len(videos) > 1:
        raise InvalidInput("one id cannot be used for several videos", field="--id")
    names = [video_id or video.name for video in videos]
    if len(set(names)) < len(names):
        raise InvalidInput(
            "two of the files have the same name", field="videos", hint="Add them one by one, with --id."
        )
    with IndexWriter.open(folder) as writer:
        taken = asyncio.run(_taken(videos, style or writer.style, fast=fast))
        writer.add(zip(names, taken, strict=True))
    _show_info(folder, as_json=as_json)


@index.command()
def remove(
    folder: Folder,
    video_ids: Annotated[list[str], typer.Argument(help="The ids of the videos.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Remove videos from an index."""
    from touchline.media.fingerprint.index import IndexWriter

    with IndexWriter.open(_existing(folder)) as writer:
        writer.remove(video_ids)
    _show_info(folder, as_json=as_json)


@index.command()
def rebuild(folder: Folder, as_json: AsJson = False) -> None:
    """Check an index and rewrite it without the space of removed videos."""
    from touchline.media.fingerprint.index import IndexWriter

    with IndexWriter.open(_existing(folder)) as writer:
        writer.rebuild()
    _show_info(folder, as_json=as_json)


@index.command()
def info(
    folder: Folder,
    check: Annotated[bool, typer.Option("--check", help="Read the whole index and verify its checksums.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the size of an index."""
    from touchline.media.fingerprint.index import IndexReader

    if check:
        IndexReader(folder).check()
    _show_info(folder, as_json=as_json)


@index.command("list")
def list_videos(folder: Folder, as_json: AsJson = False) -> None:
    """Print the ids of all videos of an index."""
    from touchline.media.fingerprint.index import IndexReader

    video_ids = sorted(IndexReader(folder).video_ids())
    if as_json:
        show_json(video_ids)
        return
    for video_id in video_ids:
        show(video_id)


def _existing(folder: Path) -> Path:
    """A writer would create it."""
    from touchline.media.fingerprint.index import IndexReader

    return IndexReader(folder).folder


def _show_info(folder: Path, *, as_json: bool) -> None:
    from touchline.media.fingerprint.index import IndexReader

    found = IndexReader(folder).info()
    if as_json:
        show_json(asdict(found))
        return
    size = f"{found.size_bytes / 1024**2:.1f} MiB in {found.segments} segments"
    show(f"{found.videos} videos, {found.samples} samples, {size}, commit {found.generation}")


def _described(found: Comparison) -> str:
    shares = f"{found.coverage_first:.0%} of the first, {found.coverage_second:.0%} of the second"
    begin = f"the second begins at {found.offset_ms / 1000:+.2f} s of the first"
    return f"{'mirrored, ' if found.mirrored else ''}{begin}, {found.run} frames in a row, {shares}"


async def _taken(files: list[Path], style: str | None, *, fast: bool) -> list[Fingerprint]:
    """Stored ones are read. The others are taken in their style, if none is asked for."""
    from touchline.apps.settings import load
    from touchline.media.fingerprint.model import Way
    from touchline.media.fingerprint.service import read_fingerprint
    from touchline.media.sandbox import Sandbox

    settings = load().settings.media
    stored = [read_fingerprint(file) for file in files]
    found = next((each.style for each in stored if each), settings.fingerprint_style)
    way = Way(_style(style) if style else found, fast)
    async with Sandbox(settings) as sandbox:
        return [each or await _taken_from(sandbox, file, way) for each, file in zip(stored, files, strict=True)]


async def _taken_from(sandbox: Sandbox, file: Path, way: Way) -> Fingerprint:
    from touchline.media.fingerprint.service import take_fingerprint

    progress(file.name)
    return await take_fingerprint(sandbox, file, percentages(), way)


def _style(name: str) -> Style:
    from touchline.kernel import InvalidInput
    from touchline.media.fingerprint.model import Style

    try:
        return Style(name)
    except ValueError as error:
        raise InvalidInput(
            f"unknown fingerprint style {name}", field="--style", why=f"there are {', '.join(Style)}"
        ) from error

"""`touchline media`: the media kit by hand, on files of this machine.

Invariant: what a command makes appears under its name when it is complete, and never in place of something else.
Whatever goes wrong, nothing half-written is left.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.kernel import AlreadyExists, InvalidInput, NotFound
from touchline.media.engines.model import ReaderName

from . import fingerprints
from .command import AsJson, End, Start, milliseconds, percentages, progress, show, show_json, show_table

if TYPE_CHECKING:
    from touchline.media.engines.model import SeenText, TextReading
    from touchline.media.model import AudioTrack, HlsPackage, Poster, Probe, Storyboard, VideoTrack
    from touchline.media.rules import ClipFile, ClipRange, SampleOptions, SampleSet

commands = typer.Typer(
    help="Inspect video files, and create HLS, posters, clips, fingerprints and text from them.", no_args_is_help=True
)

File = Annotated[Path, typer.Argument(help="The video file.", show_default=False)]
Folder = Annotated[Path, typer.Argument(help="A new or empty folder for the result.", show_default=False)]
Picture = Annotated[Path, typer.Argument(help="The JPEG file to write. It must not exist yet.", show_default=False)]
ClipSource = Annotated[
    Path,
    typer.Argument(
        help="The video file, or an HLS playlist (.m3u8) in the folder of its segments.", show_default=False
    ),
]
Target = Annotated[Path, typer.Argument(help="The MP4 file to write. It must not exist yet.", show_default=False)]
Padding = Annotated[
    int, typer.Option("--pad", help="Extra time before and after the range.", parser=milliseconds, metavar="TIME")
]
Every = Annotated[
    int,
    typer.Option(
        "--every", help="The time between two samples: seconds or mm:ss.", parser=milliseconds, metavar="TIME"
    ),
]
Similarity = Annotated[
    float,
    typer.Option("--similarity", help="Frames that are more similar than this are skipped; 1 keeps all.", min=0, max=1),
]
TextSource = Annotated[Path, typer.Argument(help="A video, or a picture: JPEG, PNG, WebP or BMP.", show_default=False)]
Reader = Annotated[ReaderName, typer.Option("--engine", help="The OCR engine.")]
Languages = Annotated[
    list[str],
    typer.Option("--language", help="A language as Tesseract names it, like eng; repeat the option for several."),
]
_LANGUAGE = re.compile(r"\w{2,40}(/\w{1,40})?", re.ASCII)


@commands.callback()
def media() -> None:
    """Inspect video files, and create HLS, posters, clips, fingerprints and text from them."""


@commands.command()
def probe(file: File, as_json: AsJson = False) -> None:
    """Show the streams of a video, and whether browsers can play it: directly, repackaged or encoded again."""
    found = asyncio.run(_probed(file))
    if as_json:
        show_json(asdict(found))
        return
    show(f"verdict    {found.verdict}: {found.reason}")
    show(f"container  {_container(found)}")
    show(f"video      {_video(found.video)}")
    show(f"audio      {_audio(found.audio) if found.audio else 'none'}")


async def _probed(file: Path) -> Probe:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.tasks import probe

    async with Sandbox(load().settings.media) as sandbox:
        return await probe(sandbox, file)


def _container(found: Probe) -> str:
    start = f", starts at {found.start_ms / 1000:.3f} s" if found.start_ms else ""
    index = "" if found.index == "whole" else f", index {found.index}"
    return f"{found.format}, {found.size_bytes} bytes, {found.duration_ms / 1000:.3f} s{start}{index}"


def _video(track: VideoTrack) -> str:
    from touchline.media.rules import display_size

    width, height = display_size(track)
    remarks = [
        f"turned by {track.rotation}°" if track.rotation else "",
        f"{float(track.frame_rate):.3f} pictures/s" if track.frame_rate else "",
        "variable rate" if track.has_variable_rate else "",
        "interlaced" if track.is_interlaced else "",
        f"HDR ({track.light}, {track.bit_depth} bits)" if track.light != "standard" else "",
    ]
    facts = [_codec(track.codec, track.profile), track.pixel_format, f"{width} x {height}", *filter(None, remarks)]
    return ", ".join(facts)


def _audio(track: AudioTrack) -> str:
    channels = "1 channel" if track.channels == 1 else f"{track.channels} channels"
    return f"{_codec(track.codec, track.profile)}, {channels}, {track.sample_rate_hz} Hz"


def _codec(name: str, profile: str | None) -> str:
    return f"{name} ({profile})" if profile else name


@commands.command()
def hls(file: File, folder: Folder, as_json: AsJson = False) -> None:
    """Make HLS of a video. Streams that browsers can play are copied; others are encoded in several qualities."""
    with new_folder(folder) as draft:
        made = asyncio.run(_package(file, draft))
    if as_json:
        show_json(asdict(made))
        return
    show(f"playlist   {folder / made.master}")
    for each in sorted(made.renditions, key=lambda rendition: rendition.height, reverse=True):
        how = "copied" if each.copied else "encoded"
        rate = each.average_bits_per_second // 1000
        show(f"rendition  {each.name}, {each.width} x {each.height}, {rate} kbit/s, {each.segments} segments, {how}")
    for captions in made.captions:
        show(f"captions   {captions.language or 'unknown language'}, {captions.cues} cues")


async def _package(file: Path, folder: Path) -> HlsPackage:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.tasks import make_hls

    async with Sandbox(load().settings.media) as sandbox:
        return await make_hls(sandbox, file, folder, percentages())


@commands.command()
def poster(file: File, picture: Picture, as_json: AsJson = False) -> None:
    """Make a poster of a video, avoiding black, plain and blurred frames."""
    with new_file(picture) as draft:
        made = asyncio.run(_picture(file, draft))
    if as_json:
        show_json(asdict(made) | {"path": str(picture)})
        return
    show(f"poster     {picture}, {made.width} x {made.height}, from {made.position_ms / 1000:.3f} s")


async def _picture(file: Path, folder: Path) -> Poster:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.tasks import make_poster

    async with Sandbox(load().settings.media) as sandbox:
        return await make_poster(sandbox, file, folder)


@commands.command()
def storyboard(file: File, folder: Folder, as_json: AsJson = False) -> None:
    """Make a storyboard of a video for a seek bar: sheets of thumbnails, and WebVTT with their positions."""
    with new_folder(folder) as draft:
        made = asyncio.run(_tiles(file, draft))
    if as_json:
        show_json(asdict(made))
        return
    tiled = made.tiled
    show(f"storyboard {folder / made.directions}")
    show(f"pictures   {tiled.tiles}, one for {tiled.interval_ms / 1000:g} s, {tiled.width} x {tiled.height}")
    show(f"sheets     {len(made.files) - 1}")


async def _tiles(file: Path, folder: Path) -> Storyboard:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.tasks import make_storyboard

    async with Sandbox(load().settings.media) as sandbox:
        return await make_storyboard(sandbox, file, folder, percentages())


@commands.command()
def clip(
    source: ClipSource, target: Target, start: Start, end: End, padding: Padding = 0, as_json: AsJson = False
) -> None:
    """Cut a clip. H.264 is copied between keyframes, and only the edges are encoded.

    If a playlist is still growing, the command waits for the segments that the clip needs.
    """
    from touchline.media.rules import ClipRange

    made = asyncio.run(_cut(source, target, ClipRange(start, end, padding)))
    cut = made.cut
    if as_json:
        show_json({"path": str(target), "size_bytes": made.size_bytes, **asdict(cut)})
        return
    show(f"{target}: {cut.start_ms / 1000:.3f} s to {cut.end_ms / 1000:.3f} s, {cut.frames} pictures, {cut.method}")


async def _cut(source: Path, target: Path, wanted: ClipRange) -> ClipFile:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.segments import segments_of
    from touchline.media.tasks import make_clip

    footage = segments_of(source) if source.suffix == ".m3u8" else source
    async with Sandbox(load().settings.media) as sandbox:
        with new_file(target) as folder:
            return await make_clip(sandbox, footage, folder, wanted, percentages())


@commands.command()
def sample(
    file: File, folder: Folder, every: Every = 100, similarity: Similarity = 0.95, as_json: AsJson = False
) -> None:
    """Write the frames that show something new, named by their time in milliseconds, and a manifest."""
    from touchline.media.rules import SampleOptions

    made = asyncio.run(_sampled(file, folder, SampleOptions(every, similarity)))
    if as_json:
        facts = {"width": made.width, "height": made.height, "examined": made.examined, "kept": made.kept}
        show_json({"folder": str(folder), "manifest": str(folder / made.manifest), **facts})
        return
    show(f"{folder}: {made.kept} of {made.examined} frames kept, {made.width} x {made.height}")


async def _sampled(file: Path, folder: Path, wanted: SampleOptions) -> SampleSet:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.tasks import sample

    async with Sandbox(load().settings.media) as sandbox:
        with new_folder(folder) as empty:
            return await sample(sandbox, file, empty, wanted, percentages())


@commands.command()
def ocr(
    file: TextSource,
    engine: Reader = ReaderName.RAPIDOCR,
    every: Every = 1000,
    language: Languages = ["eng"],  # noqa: B006 - typer copies it
    as_json: AsJson = False,
) -> None:
    """Read the text in a video or an image (OCR), with its place, its times and the confidence."""
    for one in language:
        if not _LANGUAGE.fullmatch(one):
            hint = "Use the name that Tesseract uses, like eng or chi_sim."
            raise InvalidInput("not the name of a language", field="language", why=repr(one), hint=hint)
    found = asyncio.run(_read(file, engine, every, language))
    if as_json:
        show_json({"engine": engine, "pictures": found.pictures, "texts": [asdict(text) for text in found.texts]})
    elif found.texts:
        show_table(("from s", "to s", "sure", "x,y,width,height", "text"), [_row(text) for text in found.texts])
    else:
        progress("no text found")


def _row(text: SeenText) -> tuple[str, ...]:
    box = text.box
    times = f"{text.start_ms / 1000:.3f}", f"{text.end_ms / 1000:.3f}"
    return *times, f"{text.confidence:.2f}", f"{box.x},{box.y},{box.width},{box.height}", text.text


async def _read(file: Path, engine: ReaderName, every_ms: int, languages: list[str]) -> TextReading:
    from touchline.apps.settings import load
    from touchline.media.engines.file_reader import read_file
    from touchline.media.engines.service import Engine
    from touchline.media.sandbox import Sandbox
    from touchline.media.sandbox.model import check_source

    check_source(file)
    async with Sandbox(load().settings.media) as sandbox, Engine(sandbox, engine, languages) as reader:
        await reader.start()
        return await read_file(sandbox, reader, file, every_ms, percentages())


commands.add_typer(fingerprints.commands)


@contextmanager
def new_folder(target: Path) -> Generator[Path]:
    """An empty folder that becomes `target`, which must not exist or be empty."""
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise _taken(target, "the folder is not empty")
    with _draft(target) as draft:
        yield draft
        _open_to_others(draft)
        try:
            draft.rename(target)
        except OSError as error:  # somebody else was quicker
            raise _taken(target, error.strerror or "") from error


@contextmanager
def new_file(target: Path) -> Generator[Path]:
    """An empty folder in which one file is made that becomes `target`, which must not exist."""
    if os.path.lexists(target):
        raise _taken(target)
    with _draft(target) as draft:
        yield draft
        _open_to_others(draft)
        [made] = draft.iterdir()
        try:
            target.hardlink_to(made)
        except FileExistsError as error:  # somebody else was quicker, and a rename would replace theirs
            raise _taken(target) from error
        except OSError:  # not every file system has links
            made.rename(target)


def _taken(target: Path, why: str = "") -> AlreadyExists:
    return AlreadyExists(f"{target} exists already", why=why, hint="Choose another name, or delete the file.")


@contextmanager
def _draft(target: Path) -> Generator[Path]:
    """Beside the target, so that the last step is a rename."""
    if not target.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {target.absolute().parent}", hint="Create it, then try again.")
    draft = Path(mkdtemp(prefix=".touchline-", dir=target.absolute().parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _open_to_others(folder: Path) -> None:
    """The sandbox makes files for its caller alone; these are the user's, who may want to serve them."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)

"""`touchline media ocr`: the text in a video or a picture, with its place and its time."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show_json, show_table
from touchline.kernel.errors import InvalidInput
from touchline.media.engines.model import ReaderName

from .outputs import percentages
from .times import milliseconds

if TYPE_CHECKING:
    from touchline.media.engines.model import SeenText, TextReading

Source = Annotated[Path, typer.Argument(help="A video, or a picture: JPEG, PNG, WebP or BMP.", show_default=False)]
Reader = Annotated[ReaderName, typer.Option("--engine", help="Who reads.")]
Every = Annotated[int, typer.Option("--every", help="The step: seconds or mm:ss.", parser=milliseconds, metavar="TIME")]
_LANGUAGE = re.compile(r"\w{2,40}(/\w{1,40})?", re.ASCII)
Languages = Annotated[list[str], typer.Option("--language", help="As Tesseract names it; more than once for several.")]


def ocr(
    file: Source,
    engine: Reader = ReaderName.RAPIDOCR,
    every: Every = 1000,
    language: Languages = ["eng"],  # noqa: B006 - typer copies it
    as_json: AsJson = False,
) -> None:
    """Read the text in a video or a picture: where it stands, from when to when, and how sure that is."""
    for one in language:
        if not _LANGUAGE.fullmatch(one):
            hint = "Write it as Tesseract names it, like eng or chi_sim."
            raise InvalidInput("this is no language", field="language", why=repr(one), hint=hint)
    found = asyncio.run(_read(file, engine, every, language))
    if as_json:
        show_json({"engine": engine, "pictures": found.pictures, "texts": [asdict(text) for text in found.texts]})
    elif found.texts:
        show_table(("from s", "to s", "sure", "x,y,width,height", "text"), [_row(text) for text in found.texts])
    else:
        progress("there is no text in it")


def _row(text: SeenText) -> tuple[str, ...]:
    box = text.box
    times = f"{text.start_ms / 1000:.3f}", f"{text.end_ms / 1000:.3f}"
    return *times, f"{text.confidence:.2f}", f"{box.x},{box.y},{box.width},{box.height}", text.text


async def _read(file: Path, engine: ReaderName, every_ms: int, languages: list[str]) -> TextReading:
    from touchline.apps.settings import load
    from touchline.media.engines.reading import read_file
    from touchline.media.engines.service import Engine
    from touchline.media.sandbox import Sandbox

    async with Sandbox(load().settings.media) as sandbox, Engine(sandbox, engine, languages) as reader:
        await reader.start()
        return await read_file(sandbox, reader, file, every_ms, percentages())

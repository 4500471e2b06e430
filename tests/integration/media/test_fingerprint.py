"""Fingerprints of real files, beside what Pillow makes of the pictures that PyAV decodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.apps.cli import media
from touchline.media.errors import InvalidFingerprint, NotAVideo
from touchline.media.fingerprint.comparison import compare
from touchline.media.fingerprint.formats import from_bytes, from_text, to_bytes, to_text
from touchline.media.fingerprint.model import Fingerprint, Style, Way
from touchline.media.fingerprint.pictures import hash_image
from touchline.media.fingerprint.service import take_fingerprint, take_fingerprints
from touchline.media.sandbox import Sandbox

RUNNER = CliRunner()
SHORT = replace(videos.MP4, name="short-silent.mp4", audio=None, seconds=3)
DELAYED = replace(SHORT, name="delayed.ts", filters=(("setpts", "PTS+7/TB"),))
LARGE = replace(SHORT, name="large-luma.mp4", size=(1280, 720), seconds=1.5)
BT709 = replace(
    LARGE, name="bt709.mp4", filters=(("scale", "out_color_matrix=bt709"), ("setparams", "colorspace=bt709"))
)
SLANTING = (("rotate", "a=0.6:c=gray"),)  # upright stripes have equal cells, whose bits are chance
BLACK = ("drawbox", "color=black:t=fill:enable='between(t,{},{})'")


def shown(path: Path) -> Iterator[tuple[Fraction, Image.Image]]:
    """Every picture with its time, in colours."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        start = None
        for frame in container.decode(stream):
            assert frame.pts is not None
            start = frame.pts if start is None else start
            yield (frame.pts - start) * stream.time_base, frame.to_image()


def by_pictures(path: Path, duration: float) -> list[int]:
    """Sample by sample: the first picture at that time or later."""
    pictures = list(shown(path))
    hashes: list[int] = []
    time = Fraction(1, 4)
    while time < Fraction(duration) - Fraction(3, 10):
        picture = next((picture for at, picture in pictures if at >= time), None)
        if picture is None:
            break
        hashes.append(hash_image(picture).hash)
        time += Fraction(1, 4)
    return hashes


def differences(fingerprint: Fingerprint, hashes: list[int]) -> list[int]:
    assert len(fingerprint) == len(hashes)
    return [(one ^ other).bit_count() for one, other in zip(fingerprint.hashes.tolist(), hashes, strict=True)]


@pytest.mark.parametrize(
    "recipe",
    [
        SHORT,
        replace(SHORT, name="five.mp4", rate=5),
        replace(SHORT, name="two.mp4", rate=2),
        replace(videos.UNEVEN, audio=None, seconds=4),
        DELAYED,
        replace(videos.WEBM, audio=None, seconds=2),
        replace(videos.AVI, audio=None, seconds=2),
        LARGE,
        BT709,
    ],
    ids=lambda recipe: recipe.name,
)
async def test_samples_are_the_first_pictures_at_their_time(recipe: Recipe, studio: Studio, sandbox: Sandbox) -> None:
    """Constant and variable rates, fewer pictures than samples, a late start; luma as it lies in memory: the bits
    differ from those of the pictures in colours by less than half a bit on average."""
    path = studio.make(recipe)
    found = differences(await take_fingerprint(sandbox, path), by_pictures(path, recipe.seconds))
    assert sum(found) / len(found) < 0.5


async def test_turned_pictures_are_seen_upright(studio: Studio, sandbox: Sandbox) -> None:
    for angle, turn in ((-90, Image.Transpose.ROTATE_270), (180, Image.Transpose.ROTATE_180)):
        path = studio.make(replace(SHORT, name=f"turned{angle}.mp4", seconds=1.2, rotation=angle, filters=SLANTING))
        hashes = [hash_image(picture.transpose(turn)).hash for at, picture in shown(path) if at * 25 in (7, 13, 19)]
        assert max(differences(await take_fingerprint(sandbox, path), hashes)) <= 2


async def test_the_shape_of_pixels_does_not_matter(studio: Studio, sandbox: Sandbox) -> None:
    wide = studio.make(replace(SHORT, name="wide.mp4", seconds=2))
    narrow = replace(SHORT, name="narrow.mp4", seconds=2, filters=(("scale", "240:180"),), size=(320, 180))
    squeezed = studio.make(replace(narrow, encoder=narrow.encoder, sample_aspect=Fraction(4, 3)))
    one, other = await take_fingerprint(sandbox, wide), await take_fingerprint(sandbox, squeezed)
    assert max(differences(one, other.hashes.tolist())) <= 3


async def test_black_pictures_have_no_information(studio: Studio, sandbox: Sandbox) -> None:
    leader = replace(SHORT, name="leader.mp4", filters=((BLACK[0], BLACK[1].format(0, 1.1)),))
    told: list[int] = []
    fingerprint = await take_fingerprint(sandbox, studio.make(leader), told.append)
    assert [bool(value) for value in fingerprint.hashes[:6]] == [False] * 4 + [True] * 2
    assert told[-1] == 100
    assert len(told) >= len(fingerprint) // 5
    plain = await take_fingerprint(sandbox, studio.make(SHORT))
    assert compare(fingerprint, plain).coverage_first == 1.0


async def test_borders_are_left_out_of_careful_ones(studio: Studio, sandbox: Sandbox) -> None:
    plain = replace(SHORT, name="slanting.mp4", filters=SLANTING)
    boxed = replace(plain, name="boxed.mp4", filters=(*SLANTING, ("scale", "320:120"), ("pad", "320:180:0:30")))
    way = Way(Style.CAREFUL)
    one = await take_fingerprint(sandbox, studio.make(boxed), way=way)
    other = await take_fingerprint(sandbox, studio.make(plain), way=way)
    assert one.style is Style.CAREFUL
    assert compare(one, other).coverage_first > 0.8


async def test_fast_ones_are_nearly_the_same(studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(SHORT)
    fast, usual = await take_fingerprint(sandbox, path, way=Way(fast=True)), await take_fingerprint(sandbox, path)
    found = compare(fast, usual)
    assert (found.offset_ms, found.run) == (0, len(usual))


async def test_all_styles_in_one_pass_are_those_of_a_pass_each(studio: Studio, sandbox: Sandbox) -> None:
    for recipe in (SHORT, replace(videos.UNEVEN, audio=None, seconds=4)):
        path, told = studio.make(recipe), list[int]()
        alone = [await take_fingerprint(sandbox, path, way=Way(style)) for style in Style]
        assert await take_fingerprints(sandbox, path, [*Style], told.append) == alone
        assert len(told) >= len(alone[0]) // 5


async def test_what_is_no_video(studio: Studio, sandbox: Sandbox) -> None:
    with pytest.raises(NotAVideo):
        await take_fingerprint(sandbox, studio.write("no-video.mp4", "no video"))


async def test_too_short_for_a_sample(studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(replace(SHORT, name="short.mp4", seconds=0.4))
    for style in Style:
        assert len(await take_fingerprint(sandbox, path, way=Way(style))) == 0


async def test_pictures_that_are_shown_for_long(studio: Studio, sandbox: Sandbox) -> None:
    """Each is the sample of several times, and is explained by other pictures, not by itself."""
    slow = replace(SHORT, name="slow.mp4", seconds=8, filters=(("fps", "1"),))
    fingerprint = await take_fingerprint(sandbox, studio.make(slow), way=Way(Style.CAREFUL))
    assert fingerprint.informative > len(fingerprint) // 2
    assert len(set(fingerprint.hashes.tolist())) < len(fingerprint) // 2


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path / "data"))
    hashes = np.random.default_rng(1).integers(1, 2**63, 20, dtype=np.uint64)
    (tmp_path / "one.txt").write_text(to_text(Fingerprint(hashes)) + "\n")
    (tmp_path / "part.tlfp").write_bytes(to_bytes(Fingerprint(hashes[8:])))
    return tmp_path


def run(*words: str | Path) -> str:
    answer = RUNNER.invoke(media.commands, [str(word) for word in words])
    if answer.exception:
        raise answer.exception
    return answer.stdout


def test_the_command_prints_the_text_alone(studio: Studio, stored: Path) -> None:
    video = studio.make(SHORT)
    text = run("fingerprint", video, "--binary", stored / "binary")
    assert from_text(text.rstrip("\n")) == from_bytes((stored / "binary").read_bytes())
    assert len(text.splitlines()) == 1
    answer = json.loads(run("compare", "--json", video, stored / "binary"))
    assert (answer["match"], answer["offset_ms"], answer["coverage_second"]) == (True, 0, 1.0)


def test_comparing_stored_ones(stored: Path) -> None:
    answer = json.loads(run("compare", stored / "one.txt", stored / "part.tlfp", "--json"))
    assert answer == {
        "match": True,
        "offset_ms": 2000,
        "run": 12,
        "matched": 12,
        "coverage_first": 0.6,
        "coverage_second": 1.0,
        "mirrored": False,
    }
    assert run("compare", stored / "one.txt", stored / "part.tlfp").startswith("the same: the second begins at +2.00 s")


def test_a_broken_one(stored: Path) -> None:
    (stored / "part.tlfp").write_bytes(b"TLFP")
    with pytest.raises(InvalidFingerprint):
        run("compare", stored / "one.txt", stored / "part.tlfp")


def test_an_index_from_the_command_line(stored: Path) -> None:
    folder = stored / "index"
    run("index", "add", folder, stored / "one.txt", stored / "part.tlfp")
    run("index", "add", folder, stored / "part.tlfp", "--id", "again")
    found = json.loads(run("find", folder, stored / "part.tlfp", "--json"))
    assert [(each["video_id"], each["offset_ms"]) for each in found] == [
        ("again", 0),
        ("one.txt", -2000),
        ("part.tlfp", 0),
    ]
    run("index", "remove", folder, "part.tlfp", "one.txt")
    run("index", "rebuild", folder)
    assert json.loads(run("index", "info", folder, "--check", "--json"))["videos"] == 1
    assert run("index", "list", folder) == "again\n"
    assert "again" in run("find", folder, stored / "one.txt")

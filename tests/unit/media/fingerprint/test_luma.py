"""Decoded pictures beside the coloured ones that they were made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace
from PIL import Image

from touchline.media.child.survey import grey_of
from touchline.media.fingerprint.pictures import hash_image

PICTURES = Path(__file__).parent / "pictures"
BT601, BT709, BT2020 = 5, 1, 9
MATRICES = {BT601: Colorspace.ITU601, BT709: Colorspace.ITU709, BT2020: 9}


def coloured(number: int) -> Image.Image:
    """Grass, shirts and boards of random colours: what weighs differently in another grey."""
    random = np.random.default_rng(number)
    blocks = Image.fromarray(random.integers(20, 235, (8, 13, 3), dtype=np.uint8))
    return blocks.resize((1280, 720), Image.Resampling.BICUBIC)


def decoded(picture: Image.Image, colour_space: int, pixel_format: str) -> VideoFrame:
    frame = VideoFrame.from_image(picture)
    made = frame.reformat(format=pixel_format, dst_colorspace=MATRICES[colour_space])
    made.colorspace = colour_space
    return made


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p", "yuv420p10le", "nv12"])
@pytest.mark.parametrize("colour_space", [BT601, BT709, BT2020])
def test_within_half_a_bit_of_the_coloured_picture(colour_space: int, pixel_format: str) -> None:
    differences = [
        (hash_image(picture).hash ^ hash_image(Image.fromarray(grey_of(frame, 0))).hash).bit_count()
        for picture in map(coloured, range(8))
        for frame in [decoded(picture, colour_space, pixel_format)]
    ]
    assert sum(differences) / len(differences) < 0.5


def test_luma_by_other_weights_would_not_do() -> None:
    frames = [decoded(coloured(number), BT709, "yuv420p") for number in range(8)]
    for frame in frames:
        frame.colorspace = BT601
    differences = [
        (hash_image(coloured(number)).hash ^ hash_image(Image.fromarray(grey_of(frame, 0))).hash).bit_count()
        for number, frame in enumerate(frames)
    ]
    assert sum(differences) / len(differences) > 0.5


@pytest.mark.parametrize("pixel_format", ["rgb24", "gbrp", "gray", "yuyv422", "yuv422p10le", "gray16le"])
def test_other_formats(pixel_format: str) -> None:
    picture = coloured(1)
    frame = VideoFrame.from_image(picture).reformat(format=pixel_format)
    assert (hash_image(picture).hash ^ hash_image(Image.fromarray(grey_of(frame, 0))).hash).bit_count() <= 2


@pytest.mark.parametrize(
    ("rotation", "shape"), [(0, (240, 1280)), (90, (1280, 240)), (180, (240, 1280)), (270, (1280, 240))]
)
def test_large_pictures_are_thinned_out_and_upright(rotation: int, shape: tuple[int, int]) -> None:
    grey = grey_of(VideoFrame.from_image(coloured(2)).reformat(format="yuv420p"), rotation)
    assert grey.shape == shape
    assert grey.flags.owndata

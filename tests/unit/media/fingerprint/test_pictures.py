from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image, ImageOps

from touchline.media.fingerprint.pictures import cells_of, hash_image

PICTURES = Path(__file__).parent / "pictures"
EXPECTED: dict[str, Any] = json.loads((PICTURES / "expected.json").read_text())["pictures"]


@pytest.mark.parametrize("name", EXPECTED)
def test_reference_pictures(name: str) -> None:
    with Image.open(PICTURES / name) as picture:
        look = hash_image(picture)
        assert f"{look.hash:016x}" == EXPECTED[name]["hash"]
        assert look.informative is EXPECTED[name]["informative"]
        assert cells_of(picture.convert("L")).tolist() == EXPECTED[name]["rows_9x8"]


@given(st.integers(1, 700), st.integers(1, 400), st.integers(0, 2**32), st.sampled_from([2, 30, 256]))
@settings(max_examples=40, deadline=None)
def test_cells_are_those_of_pillow(width: int, height: int, seed: int, values: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, values, (height, width), dtype=np.uint8)
    grey = Image.fromarray(pixels // 2 + (np.add.outer(np.arange(height), np.arange(width)) % 120).astype(np.uint8))
    small = ImageOps.equalize(grey).resize((9, 8), Image.Resampling.LANCZOS)
    assert cells_of(grey).tolist() == np.asarray(small).tolist()


def pitch(scale: float = 1.0, lift: float = 0.0) -> Image.Image:
    with Image.open(PICTURES / "pitch.png") as picture:
        values = np.asarray(picture.convert("L"), float) * scale + lift
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


@pytest.mark.parametrize(
    "picture",
    [
        Image.new("RGB", (320, 180), "white"),
        Image.new("RGB", (320, 180), (90, 120, 60)),
        pitch(scale=0.05),
        pitch(scale=0.05, lift=200),
        Image.fromarray(np.random.default_rng(1).integers(0, 3, (180, 320), dtype=np.uint8)),
        Image.fromarray(np.random.default_rng(1).integers(0, 255, (720, 1280), dtype=np.uint8)),
    ],
    ids=["white", "one colour", "faded to black", "faded to white", "noise in the dark", "noise"],
)
def test_nothing_to_see(picture: Image.Image) -> None:
    look = hash_image(picture)
    assert not look.informative
    assert look.sample == 0


def test_brightness_does_not_matter() -> None:
    plain, darker = hash_image(pitch()), hash_image(pitch(scale=0.6, lift=10))
    assert darker.informative
    assert (plain.hash ^ darker.hash).bit_count() <= 3

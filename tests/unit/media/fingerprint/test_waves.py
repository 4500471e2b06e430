from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from touchline.media.fingerprint.model import Fingerprint, Style
from touchline.media.fingerprint.waves import HEIGHT, LONG, SHORTER, WIDTH, Small, hash_and_detail, mirrored

SEEDS = st.integers(0, 2**32 - 1)


def foreground(seed: int) -> Small:
    return np.random.default_rng(seed).normal(0, 4, (HEIGHT, WIDTH)).astype(np.float32)


def fingerprint(*foregrounds: Small) -> Fingerprint:
    pairs = [hash_and_detail(each) for each in foregrounds]
    return Fingerprint.of([value for value, _ in pairs], Style.CAREFUL, [detail for _, detail in pairs])


@given(SEEDS)
def test_the_hashes_of_a_mirrored_picture(seed: int) -> None:
    picture = foreground(seed)
    assert fingerprint(picture[:, ::-1]) == mirrored(fingerprint(picture))


@given(SEEDS, st.floats(0.2, 5))
def test_contrast_changes_nothing(seed: int, contrast: float) -> None:
    picture = foreground(seed)
    assert hash_and_detail(picture * np.float32(contrast)) == hash_and_detail(picture)


def test_one_wave() -> None:
    down, right = 2, 3
    rows, columns = (np.arange(length) + 0.5 for length in (HEIGHT, WIDTH))
    wave = np.outer(np.cos(np.pi * rows * down / HEIGHT), np.cos(np.pi * columns * right / WIDTH))
    noise = foreground(1) / 100
    upright, turned = (hash_and_detail((sign * 9 * wave + noise).astype(np.float32)) for sign in (1, -1))
    long, detail = 1 << (31 - LONG.index((down, right))), 1 << (63 - SHORTER.index((down, right)))
    assert upright[0] & (long << 32)
    assert upright[0] & long
    assert not turned[0] & (long << 32)
    assert not turned[0] & long
    assert (upright[1] & detail, turned[1] & detail) == (detail, 0)


def test_three_fifths_of_the_long_waves_are_weak() -> None:
    above, below = divmod(hash_and_detail(foreground(2))[0], 1 << 32)
    assert above & ~below == 0
    assert (below & ~above).bit_count() == 19


def test_no_motion_is_no_information() -> None:
    assert hash_and_detail(np.zeros((HEIGHT, WIDTH), np.float32)) == (0, 0)
    assert hash_and_detail(foreground(3) * np.float32(0.01)) == (0, 0)

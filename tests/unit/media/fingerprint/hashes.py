"""Hashes as they occur: some near each other, some without information, some the same everywhere."""

from __future__ import annotations

from hypothesis import strategies as st

from touchline.media.fingerprint.model import Fingerprint, Style
from touchline.media.fingerprint.waves import mirrored

# Far from each other (the parts of 32 bits that differ), so that only what is derived from one is near it.
POOL = (0xFFFFFFFF00000000, 0x00000000FFFFFFFF, 0xFFFF0000FFFF0000, 0xF0F0F0F0F0F0F0F0, 0x123456789ABCDEF0)


def _sample(base: int, flipped: int, shift: int) -> int:
    return base ^ (((1 << flipped) - 1) << shift)


samples = st.one_of(
    st.just(0),
    st.builds(_sample, st.sampled_from(POOL), st.integers(0, 7), st.integers(0, 56)),
    st.builds(_sample, st.sampled_from(POOL[:2]), st.integers(0, 7), st.integers(0, 56)),
)


def fingerprints(most: int = 24) -> st.SearchStrategy[Fingerprint]:
    return st.lists(samples, max_size=most).map(Fingerprint.of)


def _careful(samples: list[tuple[int, int]], turn: bool) -> Fingerprint:
    made = Fingerprint.of([value for value, _ in samples], Style.CAREFUL, [detail for _, detail in samples])
    return mirrored(made) if turn else made


def _with_detail(value: int, base: int, flipped: int, shift: int) -> tuple[int, int]:
    return value, _sample(base, flipped, shift)


def careful_fingerprints(most: int = 24) -> st.SearchStrategy[Fingerprint]:
    """Most with one of two details, so that there is evidence in some; half of them mirrored."""
    pairs = st.builds(_with_detail, samples, st.sampled_from(POOL[:2]), st.integers(0, 20), st.integers(0, 40))
    return st.builds(_careful, st.lists(pairs, max_size=most), st.booleans())

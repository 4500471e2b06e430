"""How hashes are looked up: by four bands of 16 bits, in buckets.

If all bits together differ in at most ten places, then for any radii that with one more for each band make eleven,
some band differs within its radius. So it is enough to look into the buckets near the query's own, band by band; the
radii are those that make the fewest candidates. Invariant: no near hash is missed, whatever the hashes are like.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import NEAR, Hashes

BANDS, BAND_BITS = 4, 16
BUCKETS = 1 << BAND_BITS
USUAL_RADIUS, LARGEST_RADIUS = 2, 3
PROBE_COST = 8  # looking into a bucket costs as much as so many candidates
SHIFTS = np.array([48, 32, 16, 0], np.uint64)


def _masks() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All patterns of differing bits, the fewest first, and how many there are within each radius."""
    values = np.arange(BUCKETS, dtype=np.int64)
    bits = np.bitwise_count(values)
    order = np.argsort(bits, kind="stable")
    ends = np.array([np.count_nonzero(bits <= radius) for radius in range(LARGEST_RADIUS + 1)])
    return order[: ends[-1]], ends


def _choices() -> NDArray[np.int64]:
    """All sets of radii that miss nothing; -1 leaves a band out."""
    radii = product(range(-1, LARGEST_RADIUS + 1), repeat=BANDS)
    return np.array([each for each in radii if sum(each) + BANDS == NEAR + 1])


MASKS, MASK_ENDS = _masks()
CHOICES = _choices()
TABLES = np.arange(BANDS, dtype=np.int64)[:, None] * (BUCKETS + 1)


def band_values(hashes: Hashes, band: int) -> NDArray[np.int64]:
    return ((hashes >> SHIFTS[band]) & np.uint64(BUCKETS - 1)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class BandPlan:
    """Where to look for one hash, and how many candidates are there. Arrays: a row for each band."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    radii: list[int]
    cost: int

    def candidates(self, bands: Hashes) -> Hashes:
        """Joining some hundred pieces of memory is quicker than gathering their hashes one by one."""
        ends = [int(MASK_ENDS[radius]) if radius >= 0 else 0 for radius in self.radii]
        starts = np.concatenate([self.starts[band, :end] for band, end in enumerate(ends)]) * bands.itemsize
        lengths = np.concatenate([self.lengths[band, :end] for band, end in enumerate(ends)]) * bands.itemsize
        memory = bands.data.cast("B")
        pieces = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        joined = b"".join([memory[start:end] for start, end in pieces])
        if len(joined) != lengths.sum():
            raise IndexError("a bucket ends behind the last hash")
        return np.frombuffer(joined, np.uint64)


def plans(hashes: Hashes, buckets: NDArray[np.uint32], too_much: int) -> list[BandPlan]:
    """For each hash. Larger radii are tried only for those that cost too much: they help where a band is worn out."""
    found = _plans(hashes, buckets, USUAL_RADIUS)
    costly = [number for number, plan in enumerate(found) if plan.cost > too_much]
    for number in costly:
        found[number] = _plans(hashes[number : number + 1], buckets, LARGEST_RADIUS)[0]
    return found


def _plans(hashes: Hashes, buckets: NDArray[np.uint32], largest: int) -> list[BandPlan]:
    own = np.stack([band_values(hashes, band) for band in range(BANDS)], axis=1)
    places = (own[:, :, None] ^ MASKS[: MASK_ENDS[largest]]) + TABLES
    starts = buckets[places].astype(np.int64)
    lengths = buckets[places + 1] - starts
    ends = MASK_ENDS[: largest + 1]
    within = np.cumsum(lengths, axis=2)[:, :, ends - 1] + PROBE_COST * ends
    costs = np.concatenate([np.zeros((len(hashes), BANDS, 1), np.int64), within], axis=2)
    choices = CHOICES[CHOICES.max(axis=1) <= largest]
    totals = costs[:, np.arange(BANDS), choices + 1].sum(axis=2)
    best = totals.argmin(axis=1)
    return [
        BandPlan(starts[number], lengths[number], choices[choice].tolist(), int(totals[number, choice]))
        for number, choice in enumerate(best.tolist())
    ]


def ranges(starts: NDArray[np.uint32], lengths: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """All numbers of all ranges, one range behind the other. What is below zero on the way comes back at its end."""
    ends = np.cumsum(lengths, dtype=lengths.dtype)
    count = int(ends[-1]) if len(ends) else 0
    numbers: NDArray[Any] = np.repeat(starts - (ends - lengths), lengths)
    return numbers + np.arange(count, dtype=starts.dtype)

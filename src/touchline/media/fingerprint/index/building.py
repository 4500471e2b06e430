"""From fingerprints to the arrays of a segment. See `segment.py` for what each of them is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import Fingerprint, Hashes

from .bands import BANDS, BUCKETS, band_values

DIGESTS = 1 << 16  # of 16 bits
LEAST_FOR_BANDS = 1 << 15  # fewer hashes are looked through quicker than looked up
Arrays = dict[str, NDArray[Any]]
Videos = Sequence[tuple[str, Fingerprint]]


def build(videos: Videos) -> Arrays:
    hashes = np.concatenate([fingerprint.hashes for _, fingerprint in videos], dtype=np.uint64)
    names = [video_id.encode() for video_id, _ in videos]
    ends = np.cumsum([len(fingerprint) for _, fingerprint in videos], dtype=np.uint32)
    return {
        "names": np.frombuffer(b"".join(names), np.uint8),
        "name_ends": np.cumsum([len(name) for name in names], dtype=np.uint32),
        "ends": ends,
        **_of_hashes(hashes),
        "edges": np.unique(hashes[_before_a_gap(hashes)]),
        "details": np.concatenate([fingerprint.details for _, fingerprint in videos], dtype=np.uint64),
    }


def _of_hashes(hashes: Hashes) -> Arrays:
    places = np.flatnonzero(hashes)
    unique, numbers = np.unique(hashes[places], return_inverse=True)
    frames = np.zeros(len(hashes), np.uint32)
    frames[places] = numbers + 1
    counts = np.bincount(numbers, minlength=len(unique))
    postings = places[np.argsort(numbers, kind="stable")]
    return {
        "frames": frames,
        "postings": postings.astype(np.uint32),
        "nexts": digests(np.append(frames, np.uint32(0))[postings + 1], len(unique)),
        "posting_starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
        **_of_unique(unique),
    }


def digests(frames: NDArray[Any], size: int) -> NDArray[np.uint16]:
    """Of numbers of hashes, of which there are so many. Near hashes often begin alike, so that they have few together;
    what has no information has 0."""
    return (frames * np.uint64(DIGESTS - 1) // np.uint64(size or 1)).astype(np.uint16)


def _of_unique(unique: Hashes) -> Arrays:
    if len(unique) < LEAST_FOR_BANDS:
        return {"bands": unique, "buckets": np.zeros(0, np.uint32)}
    bands, buckets = [unique], [_buckets(band_values(unique, 0))]
    for band in range(1, BANDS):
        values = band_values(unique, band)
        bands.append(unique[np.argsort(values, kind="stable")])
        buckets.append(_buckets(values) + band * len(unique))
    return {"bands": np.concatenate(bands), "buckets": np.concatenate(buckets).astype(np.uint32)}


def _buckets(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of the buckets begins, and where the last one ends."""
    counts = np.bincount(values, minlength=BUCKETS)
    return np.concatenate([[0], np.cumsum(counts)])


def _before_a_gap(hashes: Hashes) -> NDArray[np.bool_]:
    """Pictures before ones without information: there a row of near pictures may be stretched."""
    empty = hashes == 0
    edge = np.zeros(len(hashes), np.bool_)
    edge[:-1] = ~empty[:-1] & empty[1:]
    return edge

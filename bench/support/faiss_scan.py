"""What `bench/fingerprint.py` compares finding with: faiss's flat scan, then the same rule. Runs in its environment.

For each query: all pictures within 10 bits, then every offset of every video at which three in a row are near.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def scan(index: Any, query: np.ndarray, samples: int) -> list[int]:
    limits, _, places = index.range_search(query.view(np.uint8).reshape(-1, 8), 11)  # below 11
    asked = np.repeat(np.arange(len(query)), np.diff(limits.astype(np.int64)))
    videos, sample = np.divmod(places, samples)
    key = (videos * 4 * samples + asked - sample + samples) * samples + asked  # by video, offset and place
    ordered = np.sort(key)
    in_a_row = (ordered[2:] - ordered[:-2] == 2) & (ordered[1:-1] - ordered[:-2] == 1)
    rows = ordered[:-2][in_a_row]
    same_offset = rows // samples == (rows + 2) // samples
    return np.unique(rows[same_offset] // samples // (4 * samples)).tolist()


def main(folder: Path) -> None:
    """Says that it is ready; then a line with the number of a query is answered by one with its time and its videos."""
    import faiss  # pyright: ignore[reportMissingImports]

    hashes, queries = np.load(folder / "hashes.npy"), np.load(folder / "queries.npy")
    index = faiss.IndexBinaryFlat(64)
    index.add(hashes.reshape(-1).view(np.uint8).reshape(-1, 8))
    print("ready", flush=True)
    for line in sys.stdin:
        begun = time.perf_counter()
        found = scan(index, queries[int(line)], hashes.shape[1])
        print(json.dumps([time.perf_counter() - begun, found]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
